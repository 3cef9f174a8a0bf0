import type { ComponentChildren } from "preact";
import { sentence } from "../call/phrase";
import { template, title, visibility } from "../mcp/tools";
import { connection, loaded, plugins, unknown, use } from "../state/plugins";
import { chosenTool, prefill, start } from "./Composer";
import { Icon, type IconName } from "./icons";
import { SignIn } from "./SignIn";

const FIRST_TOOL = `@plugin.tool(read_only=True, destructive=False, open_world=False)
def greet(name: str) -> str:
    """Use this when the user wants to be greeted."""
    return f"Hello, {name}!"`;

const SHOWN = 6; // tools offered where the plugin names no examples

/** The empty conversation: what this plugin is, what to do first, and where to look. */
export function Welcome() {
  const current = connection.value;
  if (loaded.value && !plugins.value.length)
    return (
      <div class="welcome">
        <h2>No plugin is being served yet</h2>
        <p>Make one and serve it. This page shows it as soon as it is there; nothing has to be reloaded.</p>
        <pre class="snippet">{"platform init zoo\nplatform dev zoo"}</pre>
      </div>
    );
  if (unknown.value)
    return (
      <div class="welcome" role="alert">
        <h2>There is no plugin {unknown.value} here</h2>
        <p>The address asks for it, and it is not among what is served. It is shown as soon as it is.</p>
        <div class="examples">
          {plugins.value.map((p) => (
            <button key={p.label} type="button" class="example" onClick={() => void use(p)}>
              Open {p.tenant}/{p.plugin}
            </button>
          ))}
        </div>
      </div>
    );
  if (current && !current.plugin.published)
    return (
      <div class="welcome">
        <h2>{current.plugin.plugin} has not been published yet</h2>
        <p>What stands in its way is above. Correct it and save: the plugin opens here by itself.</p>
      </div>
    );
  const status = current?.status.value ?? "connecting";
  if (!current || status === "connecting") return <Skeleton />;
  if (status === "sign-in") return <SignIn challenge={current.challenge} text="This plugin asks you to sign in before anything else." />;
  if (status === "failed")
    return (
      <div class="welcome" role="alert">
        <h2>The plugin does not answer</h2>
        <p class="mono">{current.error.value}</p>
        <p>
          It was asked at <span class="href">{current.plugin.mcpUrl}</span>. What it printed itself is in the terminal of <code>platform dev</code>.
        </p>
        <button type="button" class="primary" onClick={() => void current.connect()}>
          Try again
        </button>
      </div>
    );
  const offered = current.tools.value.filter((tool) => visibility(tool).model);
  const { examples } = current.plugin;
  return (
    <div class="welcome">
      <h2>{current.plugin.title ?? current.server.value.title ?? current.plugin.plugin}</h2>
      {current.instructions.value && <p>{current.instructions.value}</p>}
      {offered.length === 0 && (
        <>
          <p>It has no tools that the model may call. Add one and save: it appears here at once.</p>
          <pre class="snippet">{FIRST_TOOL}</pre>
        </>
      )}
      {offered.length > 0 && (
        <>
          <h3>{examples.length ? "Say what a user would say" : "Call a tool"}</h3>
          <div class="examples">
            {examples.map((example) => {
              const tool = current.tool(example.tool);
              return (
                tool && (
                  <button key={JSON.stringify(example)} type="button" class="example" onClick={() => start(tool, example.arguments ?? {}, example.prompt)}>
                    {example.prompt ?? title(tool)}
                  </button>
                )
              );
            })}
            {examples.length === 0 &&
              offered.slice(0, SHOWN).map((tool) => (
                <button
                  key={tool.name}
                  type="button"
                  class="example"
                  onClick={() => {
                    prefill.value = {};
                    chosenTool.value = tool.name;
                  }}
                >
                  {template(tool) && <Icon name="widget" />}
                  Try {sentence(title(tool))}
                </button>
              ))}
          </div>
        </>
      )}
      <ul class="lessons">
        <Lesson icon="form" title="You are the model">
          Choose a tool on the left and fill in its form, or paste a call: <code>{'{"name": …, "arguments": …}'}</code>
        </Lesson>
        <Lesson icon="model" title="See both sides">
          What the model reads and what the widget gets stand apart, beside the conversation, with every message and its time.
        </Lesson>
        <Lesson icon="knobs" title="Turn the knobs">
          Dark, phone, another language, a slow network, a failing call: each acts on the widgets that are shown.
        </Lesson>
        <Lesson icon="again" title="Save, and look">
          Widgets change in place and keep their state. Copy a call as pytest when it is right.
        </Lesson>
      </ul>
      <p class="shortcuts">
        <kbd>/</kbd> <span>search tools</span> <kbd>Ctrl</kbd> <kbd>Enter</kbd> <span>run</span> <kbd>Esc</kbd> <span>put away</span>
      </p>
    </div>
  );
}

function Lesson({ icon, title: name, children }: { icon: IconName; title: string; children: ComponentChildren }) {
  return (
    <li>
      <Icon name={icon} />
      <div>
        <strong>{name}</strong>
        <p>{children}</p>
      </div>
    </li>
  );
}

/** The welcome's shape while the plugin is being asked for its lists: what comes takes the same places. */
function Skeleton() {
  return (
    <div class="welcome skeleton" aria-hidden="true">
      <span class="bone" style={{ width: "220px", height: "26px" }} />
      <span class="bone" style={{ width: "100%" }} />
      <span class="bone" style={{ width: "70%" }} />
      <div class="examples">
        <span class="bone chip-bone" />
        <span class="bone chip-bone" />
        <span class="bone chip-bone" />
      </div>
    </div>
  );
}
