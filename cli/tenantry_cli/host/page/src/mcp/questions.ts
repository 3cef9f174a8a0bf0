import type { Client } from "@modelcontextprotocol/client";
import { isDict, type Dict } from "../json";
import { ask, noteAnswer } from "../state/conversation";

/** What a plugin may ask of this page, as every request says. */
export const ANSWERS = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** How a capability is called in a sentence. */
const WORDS: Record<string, string> = {
  elicitation: "to ask the user something",
  sampling: "the client's model",
  "sampling.tools": "the client's model, with tools",
  "sampling.context": "the client's model, with the conversation",
  roots: "the client's folders",
};
const MISSING_CAPABILITY = -32021; // 2026-07-28

const FOLDERS: Dict = {
  type: "object",
  properties: { folders: { type: "array", title: "Folders", default: [], items: { type: "string", minLength: 1, examples: ["/home/ada/project"] } } },
};

/** What a server may ask while a call runs, answered by the person: a form, a link to visit, the model's words, folders. */
export function answerServer(client: Client): void {
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    const asked = params as Dict;
    const answer = await ask<Dict | true | null | false>({
      kind: asked.mode === "url" ? "link" : "elicitation",
      title: "The plugin asks you",
      text: asked.message ?? "",
      detail: asked.mode === "url" ? { href: asked.url } : { schema: asked.requestedSchema },
      midCall: true,
    });
    noteAnswer(answer);
    if (answer === null) return { action: "decline" as const };
    if (answer === false) return { action: "cancel" as const };
    if (asked.mode !== "url") return { action: "accept" as const, content: answer as Dict };
    if (/^https?:/i.test(asked.url)) window.open(asked.url, "_blank", "noopener");
    return { action: "accept" as const };
  });
  client.setRequestHandler("sampling/createMessage", async ({ params }) => {
    const answer = await sample(params as Dict, "The plugin asks the model", true);
    noteAnswer(answer.content.text);
    return answer;
  });
  client.setRequestHandler("roots/list", async () => {
    const text = "Which folders may it know of? None is an answer, too.";
    const { folders = [] } = await ask<{ folders?: string[] }>({ kind: "folders", title: "The plugin asks you", text, detail: { schema: FOLDERS }, midCall: true });
    const uris = folders.map(folderUri);
    noteAnswer(uris);
    return { roots: uris.map((uri) => ({ uri })) };
  });
}

/** A path as a file:// URI; what is a URI stays. */
function folderUri(typed: string): string {
  if (/^[a-z][a-z+.-]+:/i.test(typed)) return typed;
  const path = encodeURI(typed.replaceAll("\\", "/")).replace(/[?#]/g, encodeURIComponent);
  return `file://${path.startsWith("/") ? "" : "/"}${path}`;
}

/** What a failed call wanted to ask and this page does not answer, in words; undefined for another failure. */
export function unanswerable(error: unknown): string | undefined {
  const { code, data } = error as { code?: unknown; data?: unknown };
  if (code !== MISSING_CAPABILITY || !isDict(data) || !isDict(data.requiredCapabilities)) return undefined;
  const wanted = lacking(data.requiredCapabilities, ANSWERS).map((name) => (WORDS[name] ? `${WORDS[name]} (${name})` : name));
  return wanted.length ? `The tool wants ${wanted.join(" and ")}; this page does not answer that.` : undefined;
}

function lacking(wanted: Dict, there: Dict, path = ""): string[] {
  return Object.entries(wanted).flatMap(([name, inner]) => {
    if (!(name in there)) return [`${path}${name}`];
    return isDict(inner) ? lacking(inner, there[name], `${path}${name}.`) : [];
  });
}

/** There is no model here: the person writes its answer. Raises: an Error when they decline. */
export async function sample(params: Dict, title: string, midCall = false) {
  const text = await ask<string | null>({ kind: "sampling", title, text: conversationText(params), detail: params, midCall });
  if (text === null) throw new Error("The person declined to answer for the model.");
  return { role: "assistant" as const, content: { type: "text" as const, text }, model: "a-person", stopReason: "endTurn" };
}

function conversationText(params: Dict): string {
  const messages: Dict[] = Array.isArray(params.messages) ? params.messages : [];
  return messages
    .flatMap((m) => (Array.isArray(m.content) ? m.content : [m.content]))
    .map((block: Dict) => (block?.type === "text" ? block.text : `[${block?.type}]`))
    .join("\n");
}
