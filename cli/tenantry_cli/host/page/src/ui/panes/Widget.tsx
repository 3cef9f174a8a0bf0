import { useState } from "preact/hooks";
import { message, type Dict } from "../../json";
import { globals, hostContext } from "../../widget/context";
import type { Instance } from "../../widget/instance";
import { instances } from "../../widget/registry";
import { STEPS, type Step } from "../../widget/timings";
import { selectedCall } from "../../state/conversation";
import { Json } from "../Json";
import { Nothing, Section } from "./Section";

/** Everything the widget is given: window.openai's values, MCP Apps' context, the resource and its metadata. */
export function WidgetPane() {
  const turn = selectedCall.value;
  const instance = turn && instances.value.get(turn.id);
  const shown = instance?.shown();
  if (!instance || !shown) return <Nothing>No widget is shown for this call.</Nothing>;
  const { template, bridge } = instance;
  const { html, ...resource } = template;
  return (
    <>
      <Section name="window.openai">
        <Json value={globals(shown)} open={1} />
      </Section>
      {instance.turn.value?.result?._meta && (
        <Section name="_meta of the result" note="The widget's alone: the model never sees it.">
          <Json value={instance.turn.value.result._meta} open={5} />
        </Section>
      )}
      <Section name="Host context">
        <Json value={hostContext(shown)} open={1} />
      </Section>
      <Times instance={instance} />
      <Section name="Template" note={`${html.length.toLocaleString("en")} characters; metadata from ${resource.from === "nowhere" ? "nowhere" : `resources/${resource.from}`}.`}>
        <Json value={{ uri: resource.uri, session: instance.session, domain: resource.ui.domain ?? "none", _meta: resource.meta }} open={3} />
      </Section>
      <Section name="The widget says">
        <Json value={{ info: bridge?.getAppVersion(), capabilities: bridge?.getAppCapabilities() }} open={3} />
      </Section>
      {bridge?.getAppCapabilities()?.tools && <AppTools instance={instance} />}
    </>
  );
}

/** How long it took until the widget could be seen. */
function Times({ instance }: { instance: Instance }) {
  const { steps } = instance.timings;
  const done = (Object.keys(STEPS) as Step[]).filter((step) => step in steps.value).toSorted((a, b) => steps.value[a]! - steps.value[b]!);
  return (
    <Section name="Timings" note="Milliseconds since the call was submitted, or since the widget was loaded anew.">
      <dl class="times">
        {done.map((step) => (
          <div key={step} data-step={step}>
            <dt>{STEPS[step]}</dt>
            <dd>{steps.value[step]!.toFixed(0)}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

/** Tools that the widget itself offers to the host. */
function AppTools({ instance }: { instance: Instance }) {
  const [list, setList] = useState<Dict[]>([]);
  const [answer, setAnswer] = useState<unknown>();
  const attempt = (work: Promise<void>) => void work.catch((error) => setAnswer(message(error)));
  return (
    <Section name="Tools of the widget">
      <button type="button" class="quiet-button" onClick={() => attempt(instance.bridge!.listTools({}).then((found) => setList(found.tools as Dict[])))}>
        List them
      </button>
      {list.map((tool) => (
        <p key={tool.name}>
          <code>{tool.name}</code>{" "}
          <button type="button" class="quiet-button" onClick={() => attempt(instance.bridge!.callTool({ name: tool.name, arguments: {} }).then(setAnswer))}>
            Call {tool.name}
          </button>
        </p>
      ))}
      {answer !== undefined && <Json value={answer} open={4} />}
    </Section>
  );
}
