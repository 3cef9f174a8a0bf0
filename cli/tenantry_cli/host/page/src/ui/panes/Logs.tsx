import { clearLog } from "../../state/log";
import { linesOnce } from "../../state/once";
import { Nothing } from "./Section";

/** What tools report while they run - log messages and progress - and what they printed, with their tracebacks. */
export function Logs() {
  if (linesOnce.value.length === 0) return <Nothing>No tool has logged anything.</Nothing>;
  return (
    <>
      <div class="pane-bar">
        <span class="grow" />
        <button type="button" class="quiet-button" onClick={clearLog}>
          Clear
        </button>
      </div>
      <ol class="console" aria-label="Tool logs">
        {linesOnce.value.map((line) => (
          <li key={line.id} data-level={line.level}>
            <span class="console-level">{line.level}</span>
            <span class="pre">
              {line.tool && <span class="console-of">{[line.tool, line.errorId && `error ${line.errorId}`].filter(Boolean).join(" · ")}</span>}
              {line.text}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}
