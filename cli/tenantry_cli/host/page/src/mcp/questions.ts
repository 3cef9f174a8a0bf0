import type { Client } from "@modelcontextprotocol/client";
import type { Dict } from "../json";
import { ask, noteAnswer } from "../state/conversation";

/** What a server may ask while a call runs, answered by the person: a form, a link to visit, the model's words. */
export function answerServer(client: Client): void {
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    const asked = params as Dict;
    const answer = await ask<Dict | boolean | null>({
      kind: asked.mode === "url" ? "link" : "elicitation",
      title: "The plugin asks you",
      text: asked.message ?? "",
      detail: asked.mode === "url" ? { href: asked.url } : { schema: asked.requestedSchema },
    });
    const declined = answer === null || answer === false;
    noteAnswer(declined ? null : answer);
    if (declined) return { action: "decline" as const };
    return asked.mode === "url" ? { action: "accept" as const } : { action: "accept" as const, content: answer as Dict };
  });
  client.setRequestHandler("sampling/createMessage", async ({ params }) => {
    const answer = await sample(params as Dict, "The plugin asks the model");
    noteAnswer(answer.content.text);
    return answer;
  });
}

/** There is no model here: the person writes its answer. Raises: an Error when they decline. */
export async function sample(params: Dict, title: string) {
  const text = await ask<string | null>({ kind: "sampling", title, text: conversationText(params), detail: params });
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
