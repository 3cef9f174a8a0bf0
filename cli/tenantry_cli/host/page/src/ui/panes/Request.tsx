import { useState } from "preact/hooks";
import { exchanges, type Exchange } from "../../state/log";
import { selectedCall } from "../../state/conversation";
import { Json } from "../Json";
import { copy } from "../toast";
import { Nothing, Section } from "./Section";

/** The HTTP exchanges, as ChatGPT would make them; the selected call's first. */
export function RequestPane() {
  const call = selectedCall.value;
  const own = call?.exchange;
  const [picked, setPicked] = useState<number | null>(null);
  const list = exchanges.value.toReversed();
  const shown = list.find((e) => e.id === (picked ?? own)) ?? list[0];
  if (!shown) return <Nothing>Nothing has been sent yet.</Nothing>;
  const held = call && own === undefined && picked === null && ["approval", "denied"].includes(call.phase);
  return (
    <>
      {held && <p class="note">{call.tool.name} was not sent{call.phase === "approval" ? " yet: it waits for your approval" : ""}. This is the request before it.</p>}
      <div class="pane-bar">
        <select aria-label="Request" value={shown.id} onChange={(e) => setPicked(Number(e.currentTarget.value))}>
          {list.map((e) => (
            <option key={e.id} value={e.id}>
              {e.rpc} {e.response?.status ?? e.error ?? "…"}
            </option>
          ))}
        </select>
        <button type="button" class="quiet-button" onClick={() => void copy("curl", curl(shown))}>
          Copy as curl
        </button>
      </div>
      <Section name="Request">
        <p class="mono href">POST {shown.url}</p>
        <Json name="headers" value={shown.request.headers} open={1} />
        <Json name="body" value={shown.request.body} open={5} />
      </Section>
      <Section name="Response" note={shown.error}>
        {shown.response && (
          <>
            <p class="mono">
              {shown.response.status} {shown.ms !== undefined && `· ${shown.ms.toFixed(0)} ms`}
            </p>
            <Json name="headers" value={shown.response.headers} open={0} />
            <Body text={shown.response.body} />
          </>
        )}
      </Section>
    </>
  );
}

function Body({ text }: { text: string }) {
  try {
    return <Json name="body" value={JSON.parse(text)} open={4} />;
  } catch {
    return <p class="pre mono">{text}</p>;
  }
}

function curl({ url, request }: Exchange): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const headers = Object.entries(request.headers).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)} \\\n`);
  return `curl ${quoted(url)} \\\n${headers.join("")}  -d ${quoted(JSON.stringify(request.body))}`;
}
