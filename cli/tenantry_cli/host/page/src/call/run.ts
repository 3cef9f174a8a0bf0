import { message, newId, type Dict } from "../json";
import type { Connection } from "../mcp/connection";
import { unanswerable } from "../mcp/questions";
import { fileParams, needsApproval, title } from "../mcp/tools";
import { add, ask, call, change, trusted, type CallTurn } from "../state/conversation";
import { exchanges, toolLine } from "../state/log";
import { submit } from "../widget/timings";
import { documentsNow } from "./before";
import { remember, withDownloads } from "./files";

/** Call a tool as the model would: the card, the approval, the call, the result. */
export async function run(connection: Connection, tool: Dict, given: Dict): Promise<void> {
  const id = newId("call");
  submit(id);
  const args = await withDownloads(given, fileParams(tool), connection.plugin.label);
  const turn: CallTurn = { kind: "call", id, tool, args, phase: needsApproval(tool) ? "approval" : "running" };
  add(turn);
  if (turn.phase === "approval" && !(await approved(tool, args, turn.id))) return change(turn.id, { phase: "denied" });
  await perform(connection, turn.id);
}

/** Make the call of a turn again, with fresh download URLs. */
export async function again(connection: Connection, id: string): Promise<void> {
  const turn = call(id);
  if (!turn) return;
  change(id, { args: await withDownloads(turn.args, fileParams(turn.tool), connection.plugin.label) });
  await perform(connection, id);
}

async function perform(connection: Connection, id: string): Promise<void> {
  const turn = call(id);
  if (!turn) return;
  change(id, { phase: "running", answers: undefined, before: undefined, result: undefined, error: undefined, mismatch: undefined, progress: undefined });
  change(id, { before: await documentsNow(connection, turn.tool.name) });
  const began = performance.now();
  try {
    const result = await connection.callTool(turn.tool.name, turn.args, {}, (progress) => {
      change(id, { progress: progress as CallTurn["progress"] });
      toolLine({ kind: "progress", level: "progress", text: describe(progress) });
    });
    remember(result, connection.plugin.label);
    change(id, {
      phase: "done",
      result,
      ms: performance.now() - began,
      mismatch: connection.mismatch(turn.tool, result),
      exchange: exchanges.value.findLast((e) => e.rpc === "tools/call")?.id,
    });
  } catch (error) {
    change(id, { phase: "failed", error: unanswerable(error) ?? message(error), ms: performance.now() - began });
  }
}

/** Ask the person, unless they have said to stop asking; what destroys is always asked about (N02). */
export async function approved(tool: Dict, args: Dict, turn: string): Promise<boolean> {
  if (trusted.peek().has(tool.name)) return true;
  const notes = tool.annotations ?? {};
  const destroys = notes.destructiveHint === true;
  const answer = await ask<boolean | "always">({
    turn,
    kind: "approval",
    title: `Allow ${title(tool)}?`,
    text: destroys ? "It may delete or overwrite data." : "It may change something outside this conversation.",
    detail: { arguments: args, openWorld: notes.openWorldHint === true, always: !destroys, destroys },
  });
  if (answer === "always") trusted.value = new Set([...trusted.peek(), tool.name]);
  return answer !== false;
}

function describe({ progress, total, message: text }: Dict): string {
  return [total ? `${progress} of ${total}` : `${progress}`, text].filter(Boolean).join(" · ");
}

/** The challenges in an error result (S05), joined as one header value. */
export function challengeOf(result: Dict | undefined): string | undefined {
  if (!result?.isError) return undefined;
  const raw = result._meta?.["mcp/www_authenticate"];
  const list = (Array.isArray(raw) ? raw : [raw]).filter((c) => typeof c === "string");
  return list.length ? list.join(", ") : undefined;
}
