import { asks, turns } from "../state/conversation";
import { Ask } from "./Ask";
import { CallCard } from "./CallCard";
import { useFollow } from "./follow";
import { Welcome } from "./Welcome";

export function Conversation() {
  const box = useFollow();

  return (
    <div class="transcript" ref={box} tabIndex={0} role="region" aria-label="Conversation">
      <ol>
        {turns.value.map((turn) =>
          turn.kind === "user" ? (
            <li key={turn.id} class="turn said" data-by={turn.by}>
              {turn.by === "widget" && <span class="by">From the widget</span>}
              <p>{turn.text}</p>
            </li>
          ) : (
            <li key={turn.id} class="turn" data-turn={turn.id}>
              <CallCard turn={turn} />
            </li>
          ),
        )}
        {asks.value
          .filter((a) => !a.turn)
          .map((a) => (
            <li key={a.id} class="turn">
              <Ask ask={a} />
            </li>
          ))}
      </ol>
      {turns.value.length === 0 && <Welcome />}
    </div>
  );
}
