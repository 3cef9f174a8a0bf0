import { signal } from "@preact/signals";
import type { ConsoleLine, Violation } from "../channel";

const KEPT = 800; // entries of each kind; a page stays open all day

export type Direction = "to widget" | "from widget" | "to server" | "refused";

export interface Entry {
  id: number;
  at: number;
  direction: Direction;
  name: string;
  detail: unknown;
  /** Milliseconds until the answer, for requests. */
  ms?: number;
  failed?: boolean;
  turn?: string;
}

export interface Printed extends ConsoleLine {
  id: number;
  at: number;
}

export interface Refused extends Violation {
  id: number;
  count: number;
}

export interface ToolLine {
  id: number;
  at: number;
  kind: "log" | "progress" | "output";
  level: string;
  text: string;
  /** Who says it, of a message that was logged. */
  logger?: string;
  /** What was called, and the id that its masked failure names. */
  tool?: string;
  errorId?: string;
}

/** One exchange with the MCP server, as it went over the wire. */
export interface Exchange {
  id: number;
  at: number;
  rpc: string;
  url: string;
  request: { headers: Record<string, string>; body: unknown };
  response?: { status: number; headers: Record<string, string>; body: string };
  error?: string;
  ms?: number;
}

export const entries = signal<Entry[]>([]);
export const printed = signal<Printed[]>([]);
export const violations = signal<Refused[]>([]);
export const toolLines = signal<ToolLine[]>([]);
export const exchanges = signal<Exchange[]>([]);

let last = 0;

// Written from inside effects: what is there is peeked at, so that no effect comes to depend on the log.

export function note(entry: Omit<Entry, "id" | "at">): number {
  const id = ++last;
  entries.value = [...entries.peek().slice(1 - KEPT), { ...entry, id, at: Date.now() }];
  return id;
}

export function answered(id: number, ms: number, failed: boolean): void {
  entries.value = entries.peek().map((entry) => (entry.id === id ? { ...entry, ms, failed } : entry));
}

export function print(line: ConsoleLine): void {
  printed.value = [...printed.peek().slice(1 - KEPT), { ...line, id: ++last, at: Date.now() }];
}

export function refuse(violation: Violation): void {
  const known = violations.peek().find((v) => v.directive === violation.directive && v.blocked === violation.blocked);
  violations.value = known
    ? violations.peek().map((v) => (v === known ? { ...v, count: v.count + 1 } : v))
    : [...violations.peek().slice(-99), { ...violation, id: ++last, count: 1 }];
}

export function toolLine(line: Omit<ToolLine, "id" | "at">): void {
  toolLines.value = [...toolLines.peek().slice(1 - KEPT), { ...line, id: ++last, at: Date.now() }];
}

export function record(exchange: Exchange): void {
  exchanges.value = [...exchanges.peek().filter((e) => e.id !== exchange.id).slice(-99), exchange];
}

export function clearLog(): void {
  entries.value = [];
  printed.value = [];
  violations.value = [];
  toolLines.value = [];
}
