import { useEffect, useRef } from "preact/hooks";
import { asks, scrollRequests, turns } from "../state/conversation";
import { connection, loaded, plugins } from "../state/plugins";
import { visibility } from "../mcp/tools";
import { Ask } from "./Ask";
import { CallCard } from "./CallCard";
import { chosenTool, start } from "./Composer";
import { SignIn } from "./SignIn";

export function Conversation() {
  const box = useRef<HTMLDivElement>(null);
  const wanted = scrollRequests.value;
  useEffect(() => {
    const last = box.current?.querySelector(".turn:last-child");
    if (wanted) last?.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }, [wanted]);

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

function Welcome() {
  const current = connection.value;
  if (!loaded.value) return null;
  if (!plugins.value.length)
    return (
      <div class="welcome">
        <h2>No plugin is being served</h2>
        <p>
          Start one with <code>platform dev FOLDER</code>. This page shows it as soon as it is there.
        </p>
      </div>
    );
  if (!current) return null;
  const status = current.status.value;
  if (status === "sign-in") return <SignIn challenge={current.challenge} text="This plugin asks you to sign in before anything else." />;
  if (status === "failed")
    return (
      <div class="welcome" role="alert">
        <h2>The plugin does not answer</h2>
        <p class="mono">{current.error.value}</p>
        <button type="button" class="primary" onClick={() => void current.connect()}>
          Try again
        </button>
      </div>
    );
  const first = current.tools.value.find((tool) => visibility(tool).model);
  return (
    <div class="welcome">
      <h2>{current.plugin.title ?? current.server.value.title ?? current.plugin.plugin}</h2>
      <p>{current.instructions.value || "Choose a tool to begin. Everything that goes over the wire is shown beside the conversation."}</p>
      <div class="examples">
        {current.plugin.examples.map((example) => {
          const tool = current.tool(example.tool);
          return (
            tool && (
              <button key={JSON.stringify(example)} type="button" class="example" onClick={() => start(tool, example.arguments ?? {}, example.prompt)}>
                {example.prompt ?? example.tool}
              </button>
            )
          );
        })}
        {current.plugin.examples.length === 0 && first && (
          <button type="button" class="example" onClick={() => (chosenTool.value = first.name)}>
            Try {first.title ?? first.name}
          </button>
        )}
      </div>
    </div>
  );
}
