import { clearLog, printed } from "../../state/log";
import { Nothing } from "./Section";

/** What widgets print, and the errors they don't catch. */
export function ConsolePane() {
  if (printed.value.length === 0) return <Nothing>Nothing was printed.</Nothing>;
  return (
    <>
      <div class="pane-bar">
        <span class="grow" />
        <button type="button" class="quiet-button" onClick={clearLog}>
          Clear
        </button>
      </div>
      <ol class="console" aria-label="Console output">
        {printed.value.map((line) => (
          <li key={line.id} data-level={line.level}>
            <span class="console-level">{line.level}</span>
            <span class="pre">{line.text}</span>
          </li>
        ))}
      </ol>
    </>
  );
}
