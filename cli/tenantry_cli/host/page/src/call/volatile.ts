import { isDict } from "../json";
import { ANY } from "./python";

const DAY = 86_400_000; // milliseconds
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const MOMENT = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/;
const FILE_KEYS = new Set(["download_url", "downloadUrl", "file_id", "fileId"]);

/**
 * A result as a test can expect it again: links to files, random ids, the time of the call, and whatever differed in
 * another result of the same call become ANY. What was among the arguments stays, and a time or id that was in the
 * documents before.
 */
export function expected(result: unknown, args: unknown, others: unknown[], documents?: unknown): unknown {
  const [given, kept] = [new Set<unknown>(), new Set<unknown>()];
  collect(args, given);
  collect(documents, kept);
  return settle(result, others, given, kept);
}

function settle(value: unknown, others: unknown[], given: Set<unknown>, kept: Set<unknown>): unknown {
  if (Array.isArray(value)) {
    if (others.some((other) => !Array.isArray(other) || other.length !== value.length)) return ANY;
    return value.map((item, i) => settle(item, others.map((other) => (other as unknown[])[i]), given, kept));
  }
  if (isDict(value)) {
    if (others.some((other) => !isDict(other) || Object.keys(other).join() !== Object.keys(value).join())) return ANY;
    const entries = Object.entries(value).map(([key, item]) => [
      key,
      FILE_KEYS.has(key) ? ANY : settle(item, others.map((other) => (other as Record<string, unknown>)[key]), given, kept),
    ]);
    return Object.fromEntries(entries);
  }
  if (given.has(value)) return value;
  if (others.some((other) => other !== value) || (varies(value) && !kept.has(value))) return ANY;
  return value;
}

function varies(value: unknown): boolean {
  if (typeof value === "string")
    return UUID.test(value) || (MOMENT.test(value) && near(Date.parse(value))) || /^https?:\/\/[^/]+\/(_host\/download|files)\//.test(value);
  return typeof value === "number" && (near(value) || near(value * 1000));
}

function near(milliseconds: number): boolean {
  return Math.abs(milliseconds - Date.now()) < DAY;
}

function collect(value: unknown, found: Set<unknown>): void {
  if (typeof value === "object" && value !== null) for (const item of Object.values(value)) collect(item, found);
  else found.add(value);
}
