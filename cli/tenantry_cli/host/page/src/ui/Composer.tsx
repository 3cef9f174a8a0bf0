import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { upload } from "../call/files";
import { phrase, sentence } from "../call/phrase";
import { run } from "../call/run";
import { Form } from "../form/Form";
import { isDict, type Dict } from "../json";
import { fileParams, title, visibility } from "../mcp/tools";
import { say, scrollRequests } from "../state/conversation";
import { connection } from "../state/plugins";
import { prepare } from "../widget/prepare";
import { IconButton } from "./icons";
import { toast } from "./toast";

export const chosenTool = signal<string | null>(null);
/** Arguments to begin with, from a link or an example. */
export const prefill = signal<Dict>({});

export function start(tool: Dict, args: Dict, prompt = phrase(tool, args)): void {
  const current = connection.peek();
  if (!current) return;
  say(prompt, "person");
  void run(current, tool, args);
}

/** What is typed or pasted: a call (JSON-RPC, or {name, arguments}), or words. */
function parse(text: string): { name: string; args: Dict } | null {
  try {
    const data = JSON.parse(text);
    const params = isDict(data?.params) ? data.params : data;
    const name = params?.name ?? params?.tool;
    if (typeof name === "string") return { name, args: params.arguments ?? params.args ?? {} };
  } catch {
    return null; // words
  }
  return null;
}

export function Composer() {
  const current = connection.value;
  const [text, setText] = useState("");
  const box = useRef<HTMLElement>(null);
  const tool = chosenTool.value ? current?.tool(chosenTool.value) : undefined;

  useEffect(() => {
    if (tool && current) void prepare(current, tool).catch(() => undefined); // a call says what is wrong
    if (tool) box.current?.querySelector<HTMLElement>("input, select, textarea, .primary")?.focus();
  }, [tool?.name]);

  function putAway(): void {
    chosenTool.value = null;
    prefill.value = {};
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>("textarea")?.focus());
  }

  function send(event: Event): void {
    event.preventDefault();
    const call = parse(text);
    if (call) {
      const wanted = current?.tool(call.name);
      if (!wanted) return toast(`This plugin has no tool ${call.name}`);
      if (!visibility(wanted).model) return toast(`${call.name} is hidden from the model`);
      start(wanted, call.args);
    } else if (text.trim()) {
      say(text.trim(), "person");
      scrollRequests.value += 1;
    }
    setText("");
  }

  return (
    <section
      class="composer"
      aria-label="Composer"
      ref={box}
      onKeyDown={(e) => {
        if (e.key === "Escape" && tool) putAway();
      }}
    >
      {tool && current ? (
        <>
          <header class="composer-head">
            <div>
              <h2>{sentence(title(tool))}</h2>
              <p class="quiet">{tool.description}</p>
            </div>
            <IconButton name="cross" label="Put the tool away" onClick={putAway} />
          </header>
          <Form
            key={`${current.plugin.label} ${tool.name} ${JSON.stringify(prefill.value)}`}
            schema={tool.inputSchema ?? { type: "object" }}
            start={prefill.value}
            submit="Run"
            files={{
              names: fileParams(tool),
              upload: async (file) => {
                const kept = await upload(file, current.plugin.label, false);
                return { file_id: kept.fileId, mime_type: kept.mimeType, file_name: kept.fileName };
              },
            }}
            onSubmit={(args) => {
              start(tool, args);
              chosenTool.value = null;
              prefill.value = {};
            }}
          />
        </>
      ) : (
        <form class="say" onSubmit={send}>
          <textarea
            rows={1}
            aria-label="Message"
            placeholder="Choose a tool, or paste a call"
            value={text}
            onInput={(e) => setText(e.currentTarget.value)}
            onKeyDown={(e) => {
              if (e.key === "Enter" && !e.shiftKey) send(e);
            }}
          />
          <button type="submit" class="primary" disabled={!text.trim()}>
            Send
          </button>
        </form>
      )}
    </section>
  );
}
