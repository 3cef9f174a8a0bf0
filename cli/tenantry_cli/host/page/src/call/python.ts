/** Stands for a value that differs from call to call: `unittest.mock.ANY`, which equals everything. */
export const ANY = Symbol("ANY");
/** Python source put in as it is. */
export class Source {
  constructor(readonly text: string) {}
}

const LINE = 96; // columns from which a value is spread over lines
const KEYWORDS = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(" "),
);

/** A JSON value as Python source; `indent` is the column its first line is indented by, `used` what stands before it. */
export function python(value: unknown, indent = 0, used = 0): string {
  if (value === ANY) return "ANY";
  if (value instanceof Source) return value.text;
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  const [begin, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const parts = (at: number) =>
    Array.isArray(value)
      ? value.map((item) => python(item, at))
      : Object.entries(value as object).map(([key, item]) => `${JSON.stringify(key)}: ${python(item, at, key.length + 4)}`);
  return spread(begin, parts(indent + 4), end, indent, used);
}

/** A call: arguments by their names, what is no name in Python as a dict. */
export function pythonCall(begin: string, given: Record<string, unknown>, indent: number, first: string[] = []): string {
  const named = Object.entries(given).filter(([name]) => isName(name));
  const others = Object.fromEntries(Object.entries(given).filter(([name]) => !isName(name)));
  const parts = [...first, ...named.map(([name, value]) => `${name}=${python(value, indent + 4, name.length + 1)}`)];
  if (Object.keys(others).length) parts.push(`**${python(others, indent + 4, 2)}`);
  return spread(`${begin}(`, parts, ")", indent, 0);
}

/** Bytes as a Python literal. */
export function pythonBytes(data: Uint8Array): string {
  const shown = Array.from(data, (byte) => {
    if (byte === 10) return "\\n";
    if (byte === 34 || byte === 92) return `\\${String.fromCharCode(byte)}`;
    return byte >= 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`;
  });
  return `b"${shown.join("")}"`;
}

function isName(text: string): boolean {
  return /^[A-Za-z_]\w*$/.test(text) && !KEYWORDS.has(text);
}

function spread(begin: string, parts: string[], end: string, indent: number, used: number): string {
  const flat = `${begin}${parts.join(", ")}${end}`;
  if (!parts.length || (indent + used + flat.length < LINE && !flat.includes("\n"))) return flat;
  const pad = " ".repeat(indent + 4);
  return `${begin}\n${parts.map((part) => `${pad}${part},\n`).join("")}${" ".repeat(indent)}${end}`;
}
