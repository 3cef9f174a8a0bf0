import { isDict } from "../../json";
import { forModel, title, visibility } from "../../mcp/tools";
import { selectedCall, turns } from "../../state/conversation";
import { connection, tools } from "../../state/plugins";
import { instances } from "../../widget/registry";
import { Json } from "../Json";
import { Nothing, Section } from "./Section";

/** What the model reads. `_meta` never comes here. */
export function Model() {
  const turn = selectedCall.value;
  const followUps = turns.value.filter((t) => t.kind === "user" && t.by === "widget");
  return (
    <>
      {turn ? (
        <>
          <Section name="Arguments">
            <Json value={turn.args} />
          </Section>
          {turn.result && (
            <>
              <Section name="structuredContent" note={turn.tool.outputSchema ? undefined : "The tool declares no outputSchema."}>
                {turn.mismatch && <p class="problem">{turn.mismatch}</p>}
                <Json value={turn.result.structuredContent} open={4} />
              </Section>
              <Section name="content">
                <Json value={turn.result.content} />
              </Section>
            </>
          )}
          <Described id={turn.id} />
          <State state={turn.widgetState} />
          {turn.modelContext && (
            <Section name="Model context" note="Set by the widget with ui/update-model-context.">
              <Json value={turn.modelContext} />
            </Section>
          )}
          <Section name="Tool">
            <Json value={forModel(turn.tool)} open={1} />
          </Section>
        </>
      ) : (
        <Nothing>Call a tool, and what the model reads of it is shown here.</Nothing>
      )}
      {followUps.length > 0 && (
        <Section name="Messages from widgets">
          <ul>{followUps.map((t) => t.kind === "user" && <li key={t.id}>{t.text}</li>)}</ul>
        </Section>
      )}
      <Section name="Tools the model may call">
        <ul>
          {tools.value
            .filter((tool) => visibility(tool).model)
            .map((tool) => (
              <li key={tool.name}>
                <code>{tool.name}</code> {title(tool) !== tool.name && title(tool)}
              </li>
            ))}
        </ul>
      </Section>
      {connection.value?.instructions.value && (
        <Section name="Instructions">
          <p class="pre">{connection.value.instructions.value}</p>
        </Section>
      )}
    </>
  );
}

function Described({ id }: { id: string }) {
  const description = instances.value.get(id)?.template.ui.description;
  if (!description) return null;
  return (
    <Section name="widgetDescription" note="So that the model does not say again what the widget shows.">
      <p class="pre">{description}</p>
    </Section>
  );
}

/** Of structured state the model sees modelContent and imageIds; of any other state, all of it (O06). */
function State({ state }: { state: unknown }) {
  if (state === undefined || state === null) return null;
  const structured = isDict(state) && ("modelContent" in state || "privateContent" in state || "imageIds" in state);
  const visible = structured ? { modelContent: state.modelContent, imageIds: state.imageIds } : state;
  return (
    <Section name="widgetState">
      <Json value={visible} />
    </Section>
  );
}
