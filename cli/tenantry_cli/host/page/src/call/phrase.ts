import { isDict, type Dict } from "../json";
import { ordered, title } from "../mcp/tools";

const VALUES = 3; // arguments that a bubble names
const LENGTH = 48; // characters of one of them

/** A call as a person would say it: the tool's title, and its arguments in short. */
export function phrase(tool: Dict, args: Dict): string {
  const given = Object.entries(ordered(tool, args)).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const named = given.slice(0, VALUES).map(([name, value]) => `${readable(name)}: ${short(value)}`);
  if (given.length > VALUES) named.push(`${given.length - VALUES} more`);
  return [sentence(title(tool)), named.join(", ")].filter(Boolean).join(" — ");
}

/** A title stays as its author wrote it; a bare name becomes words. */
export function sentence(text: string): string {
  if (!/^[a-z0-9_-]+$/.test(text)) return text;
  const words = readable(text);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function readable(name: string): string {
  return name.replace(/[_-]+/g, " ").trim() || name;
}

function short(value: unknown): string {
  if (Array.isArray(value)) return value.length <= VALUES && value.every((item) => typeof item !== "object") ? cut(value.join(", ")) : `${value.length} items`;
  if (isDict(value)) return cut(String(value.file_name ?? value.name ?? value.title ?? "…"));
  if (typeof value === "boolean") return value ? "yes" : "no";
  return cut(String(value));
}

function cut(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > LENGTH ? `${line.slice(0, LENGTH - 1)}…` : line;
}
