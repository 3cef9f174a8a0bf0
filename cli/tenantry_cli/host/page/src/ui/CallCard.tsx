import { challengeOf, again } from "../call/run";
import { linkTo } from "../call/link";
import { asPytest } from "../call/pytest";
import { status, template, title } from "../mcp/tools";
import { asks, change, selected, turns, type CallTurn } from "../state/conversation";
import { toolLines } from "../state/log";
import { connection, screenshots } from "../state/plugins";
import { save } from "../widget/acts";
import { picture } from "../call/picture";
import { Ask } from "./Ask";
import { Icon, IconButton } from "./icons";
import { Content } from "./Content";
import { Files } from "./Files";
import { showPane } from "./Inspector";
import { SignIn } from "./SignIn";
import { copy, toast } from "./toast";
import { WidgetView } from "./WidgetView";
import { message } from "../json";

/** One call in the conversation: status, questions, the widget, the result. */
export function CallCard({ turn }: { turn: CallTurn }) {
  const current = connection.value;
  if (!current) return null;
  const { phase, result, error } = turn;
  const questions = asks.value.filter((a) => a.turn === turn.id);
  const waits = phase === "running" && asks.value.some((a) => a.midCall);
  const refused = phase === "failed" && turns.value.at(-1)?.id === turn.id && current.challenge; // by the HTTP status
  const challenge = refused || challengeOf(result);
  const widget = template(turn.tool) && !turn.closed;
  const failure = result?.isError ? JSON.stringify(result.content) : "";
  const traced = failure !== "" && toolLines.value.some((line) => line.errorId && failure.includes(line.errorId));

  async function shoot(): Promise<void> {
    try {
      save(await picture(turn), `${turn.tool.name}.png`);
      toast("Screenshot saved");
    } catch (problem) {
      toast(message(problem));
    }
  }

  async function write(): Promise<void> {
    try {
      await copy("Test", await asPytest({ connection: current!, turn, turns: turns.peek() }));
    } catch (problem) {
      toast(message(problem));
    }
  }

  return (
    <article class="call" data-phase={phase} data-error={result?.isError === true} aria-label={`Call of ${turn.tool.name}`} onFocusCapture={() => (selected.value = turn.id)} onPointerDown={() => (selected.value = turn.id)}>
      <header class="call-head">
        <span class="call-mark" aria-hidden="true">
          {phase === "running" ? <span class="spinner" /> : <Icon name={phase === "done" && !result?.isError ? "check" : phase === "approval" || challenge ? "shield" : "cross"} />}
        </span>
        <span class="call-status" role="status">
          {challenge ? "Waiting for you to sign in" : waits ? "Waiting for your answer" : phrase(turn)}
        </span>
        {turn.ms !== undefined && <span class="quiet">{turn.ms < 1000 ? `${Math.round(turn.ms)} ms` : `${(turn.ms / 1000).toFixed(1)} s`}</span>}
        <span class="grow" />
        <span class="call-tools">
          <IconButton name="again" label="Call again" onClick={() => void again(current, turn.id)} disabled={phase === "approval" || phase === "running"} />
          <IconButton name="code" label="Copy as pytest" onClick={() => void write()} disabled={!result} />
          <IconButton name="link" label="Copy link to this call" onClick={() => void copy("Link", linkTo(current.plugin, turn.tool.name, turn.args))} />
          {widget && screenshots.value && <IconButton name="camera" label="Screenshot of the widget" onClick={() => void shoot()} disabled={!result} />}
        </span>
      </header>
      {turn.progress && phase === "running" && (
        <p class="progress">
          <progress value={turn.progress.total ? turn.progress.progress : undefined} max={turn.progress.total} aria-label="Progress" />
          {turn.progress.message}
        </p>
      )}
      {questions.map((a) => (
        <Ask key={a.id} ask={a} />
      ))}
      {widget && <WidgetView key={turn.id} turn={turn} connection={current} uri={template(turn.tool)!} />}
      {turn.closed && (
        <p class="quiet">
          The widget was closed.{" "}
          <button type="button" class="link" onClick={() => change(turn.id, { closed: false })}>
            Show it again
          </button>
        </p>
      )}
      {challenge && <SignIn challenge={challenge} then={() => void again(current, turn.id)} />}
      {turn.mismatch && (
        <p class="problem" role="alert">
          structuredContent breaks outputSchema: {turn.mismatch}
        </p>
      )}
      {error && phase === "failed" && !refused && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
      {result && !challenge && <Files result={result} />}
      {result && !challenge && (
        <details class="result" open={!widget}>
          <summary>{result.isError ? "The tool reported an error" : "What the tool said"}</summary>
          <Content blocks={result.content ?? []} />
          {!result.content?.length && <p class="quiet">No content.</p>}
          {traced && (
            <button type="button" class="quiet-button unfold" onClick={() => showPane("logs")}>
              Show its traceback
            </button>
          )}
        </details>
      )}
    </article>
  );
}

function phrase({ phase, tool, result }: CallTurn): string {
  if (phase === "approval") return "Waiting for your approval";
  if (phase === "denied") return "Denied";
  if (phase === "failed") return "The call failed";
  if (phase === "running") return status(tool, "invoking");
  return result?.isError ? `${title(tool)} reported an error` : status(tool, "invoked");
}
