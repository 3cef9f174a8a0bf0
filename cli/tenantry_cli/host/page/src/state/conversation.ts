import { computed, signal } from "@preact/signals";
import type { Documents } from "../call/before";
import { newId, type Dict } from "../json";
import { read, write } from "./stored";

export type Phase = "approval" | "running" | "done" | "denied" | "failed";

/** A tool call in the conversation, with the widget that shows it. */
export interface CallTurn {
  kind: "call";
  id: string;
  tool: Dict;
  args: Dict;
  phase: Phase;
  result?: Dict;
  error?: string;
  ms?: number;
  /** Where structuredContent breaks outputSchema. */
  mismatch?: string;
  widgetState?: unknown;
  modelContext?: Dict;
  /** What the person answered while the call ran: a form, true for a visit, the model's words, folders; null declined, false closed. */
  answers?: unknown[];
  /** What its documents held before the call, where that is known. */
  before?: Documents;
  progress?: { progress: number; total?: number; message?: string };
  closed?: boolean;
  exchange?: number;
}

export interface TextTurn {
  kind: "user";
  id: string;
  text: string;
  by: "person" | "widget";
}

/** Something that waits for the person's answer. */
export interface Ask {
  id: string;
  turn?: string;
  kind: "approval" | "elicitation" | "folders" | "sampling" | "link" | "download";
  title: string;
  text: string;
  detail?: Dict;
  /** Asked by the plugin in the middle of a call, which waits for it. */
  midCall?: boolean;
  answer: (value: unknown) => void;
}

export type Turn = CallTurn | TextTurn;

export const turns = signal<Turn[]>([]);
export const asks = signal<Ask[]>([]);
export const selected = signal<string | null>(null);
export const conversationId = signal(newId("conv"));
export const scrollRequests = signal(0);
/** Tools that the person has allowed for the rest of this conversation. */
export const trusted = signal<ReadonlySet<string>>(new Set());

const SOON = 300; // milliseconds

let key = "";

/** Show the stored conversation with this plugin; a call that was under way when the page went is marked so. */
export function open(label: string): void {
  if (saving !== undefined) saveNow();
  key = `tenantry.chat.${label}`;
  const kept = read<{ id: string; turns: Turn[] }>(key);
  conversationId.value = kept?.id ?? newId("conv");
  asks.value = [];
  trusted.value = new Set();
  turns.value = (kept?.turns ?? []).map((turn) =>
    turn.kind === "call" && (turn.phase === "running" || turn.phase === "approval")
      ? { ...turn, phase: "failed", error: "The page was reloaded before the answer came." }
      : turn,
  );
  selected.value = turns.value.findLast((turn) => turn.kind === "call")?.id ?? null;
}

export function restart(): void {
  turns.value = [];
  asks.value = [];
  trusted.value = new Set();
  selected.value = null;
  conversationId.value = newId("conv");
  save();
}

let saving: ReturnType<typeof setTimeout> | undefined;

/** Keep the conversation for the next load, soon: a call changes it several times, and results can be large. */
export function save(): void {
  saving ??= setTimeout(saveNow, SOON);
}

addEventListener("pagehide", () => saving !== undefined && saveNow());

/** Where storage is full the oldest turns are let go first. */
function saveNow(): void {
  clearTimeout(saving);
  saving = undefined;
  let kept = turns.peek().slice(-40);
  while (!write(key, { id: conversationId.peek(), turns: kept }) && kept.length > 1) kept = kept.slice(Math.ceil(kept.length / 2));
}

export function say(text: string, by: TextTurn["by"]): void {
  turns.value = [...turns.peek(), { kind: "user", id: newId("msg"), text, by }];
  save();
}

export function add(turn: CallTurn): void {
  turns.value = [...turns.peek(), turn];
  selected.value = turn.id;
  scrollRequests.value = scrollRequests.peek() + 1;
  save();
}

export function change(id: string, patch: Partial<CallTurn>): void {
  turns.value = turns.peek().map((turn) => (turn.id === id && turn.kind === "call" ? { ...turn, ...patch } : turn));
  save();
}

export function call(id: string | null): CallTurn | undefined {
  return turns.value.find((turn): turn is CallTurn => turn.kind === "call" && turn.id === id);
}

/** The call that the panes of the inspector speak of. */
export const selectedCall = computed(() => call(selected.value));

/** Note what was answered for the call that runs; of several at once nobody can tell. */
export function noteAnswer(answer: unknown): void {
  const running = turns.peek().filter((turn): turn is CallTurn => turn.kind === "call" && turn.phase === "running");
  if (running.length === 1) change(running[0]!.id, { answers: [...(running[0]!.answers ?? []), answer] });
}

/** Put a question to the person and wait. */
export function ask<T>(question: Omit<Ask, "id" | "answer">): Promise<T> {
  return new Promise<T>((resolve) => {
    const id = newId("ask");
    const answer = (value: unknown) => {
      asks.value = asks.peek().filter((a) => a.id !== id);
      resolve(value as T);
    };
    asks.value = [...asks.peek(), { ...question, id, answer }];
    scrollRequests.value = scrollRequests.peek() + 1;
  });
}
