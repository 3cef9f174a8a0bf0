import { useState } from "preact/hooks";
import { clearLog, entries, type Direction, type Entry } from "../../state/log";
import { Json } from "../Json";
import { Nothing } from "./Section";

const ARROWS: Record<Direction, string> = { "to widget": "→ widget", "from widget": "← widget", "to server": "→ server", refused: "refused" };
const SHOWN = 200; // newest entries; the rest are kept for the filter

/** One message; what it holds is built when it is unfolded. */
function Message({ entry, began }: { entry: Entry; began: number }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        <span class="message-way">{ARROWS[entry.direction]}</span>
        <span class="message-name">{entry.name}</span>
        <span class="message-time">{entry.ms !== undefined ? `${entry.ms.toFixed(entry.ms < 10 ? 1 : 0)} ms` : `+${((entry.at - began) / 1000).toFixed(2)} s`}</span>
      </summary>
      {open && <Json value={entry.detail} open={3} />}
    </details>
  );
}

/** Every message with its time: to and from the widget, to the server, and what was refused. */
export function Messages() {
  const [filter, setFilter] = useState("");
  const found = entries.value.filter((e) => `${e.direction} ${e.name}`.toLowerCase().includes(filter.toLowerCase())).slice(-SHOWN);
  const began = entries.value[0]?.at ?? 0;
  return (
    <>
      <div class="pane-bar">
        <input type="search" aria-label="Filter messages" placeholder="Filter" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
        <button type="button" class="quiet-button" onClick={clearLog}>
          Clear
        </button>
      </div>
      {found.length === 0 && <Nothing>No messages yet.</Nothing>}
      <ol class="messages">
        {found.map((entry) => (
          <li key={entry.id} data-direction={entry.direction} data-failed={entry.failed}>
            <Message entry={entry} began={began} />
          </li>
        ))}
      </ol>
    </>
  );
}
