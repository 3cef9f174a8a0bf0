import { computed } from "@preact/signals";
import { lintLink, lintTemplate, lintTool, type Finding } from "../../lint/lint";
import type { Dict } from "../../json";
import { connection, findings, tools } from "../../state/plugins";
import { instances } from "../../widget/registry";
import { selectedCall } from "../../state/conversation";
import { Nothing, Section } from "./Section";

const seen = computed(() => {
  const turn = selectedCall.value;
  const tool = turn && (connection.value?.tool(turn.tool.name) ?? turn.tool);
  const instance = turn && instances.value.get(turn.id);
  return {
    tool,
    ofTool: tool ? [...lintTool(tool, tools.value), ...lintLink(tool, connection.value?.resources.value ?? [])] : [],
    ofTemplate: instance ? lintTemplate(instance.template.meta, instance.template.from) : [],
    ofCheck: findings.value.filter((f) => !tool || !f.tool || f.tool === tool.name) as (Finding & Dict)[],
  };
});

export const counted = computed(() => {
  const { ofTool, ofTemplate, ofCheck } = seen.value;
  return [...ofTool, ...ofTemplate, ...ofCheck].filter((f) => f.severity === "error").length;
});

/** Findings about the selected call's tool: those of `platform check`, and what is visible on the wire. */
export function Checks() {
  const { tool, ofTool, ofTemplate, ofCheck } = seen.value;
  if (!tool && ofCheck.length === 0) return <Nothing>Call a tool to see what is to be said about it.</Nothing>;
  const clean = ofTool.length + ofTemplate.length + ofCheck.length === 0;
  return (
    <>
      {clean && <Nothing>Nothing to report about {tool?.name}.</Nothing>}
      {ofCheck.length > 0 && <List name="platform check" findings={ofCheck} />}
      {ofTool.length > 0 && <List name={`On the wire: ${tool?.name}`} findings={ofTool} />}
      {ofTemplate.length > 0 && <List name="On the wire: the template" findings={ofTemplate} />}
    </>
  );
}

function List({ name, findings: found }: { name: string; findings: (Finding & Dict)[] }) {
  return (
    <Section name={name}>
      <ul class="findings">
        {found.map((f, i) => (
          <li key={i} class="finding" data-severity={f.severity}>
            <p>
              <span class="severity">{f.severity}</span> <code>{f.rule}</code>
            </p>
            <p>{f.message}</p>
            {f.frames?.length > 0 && <pre class="frames">{f.frames.join("\n")}</pre>}
            {f.hint && <p class="quiet">{f.hint}</p>}
            {f.where && <p class="quiet mono">{f.where}</p>}
          </li>
        ))}
      </ul>
    </Section>
  );
}
