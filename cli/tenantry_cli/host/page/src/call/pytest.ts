import type { Plugin } from "../mcp/connection";
import type { CallTurn } from "../state/conversation";
import { forModel } from "../mcp/tools";

/** The call and its result as a test of the plugin, against the running development server. */
export function asPytest(plugin: Plugin, turn: CallTurn): string {
  const name = turn.tool.name.replace(/\W+/g, "_").toLowerCase();
  const result = turn.result ?? {};
  const lines = [
    "from mcp import Client",
    "",
    `URL = ${python(plugin.mcpUrl)}`,
    "",
    "",
    `async def test_${name}() -> None:`,
    "    async with Client(URL) as client:",
    `        result = await client.call_tool(${python(forModel(turn.tool).name)}, ${python(turn.args, 8)})`,
    `    assert ${result.isError ? "" : "not "}result.is_error`,
  ];
  if (result.structuredContent !== undefined) lines.push(`    assert result.structured_content == ${python(result.structuredContent, 4)}`);
  else if (result.content?.[0]?.type === "text") lines.push(`    assert result.content[0].text == ${python(result.content[0].text)}`);
  return `${lines.join("\n")}\n`;
}

/** A JSON value as Python source. */
export function python(value: unknown, indent = 0): string {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (c) => c);
  const pad = " ".repeat(indent + 4);
  const items = Array.isArray(value)
    ? value.map((item) => python(item, indent + 4))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${python(item, indent + 4)}`);
  const [begin, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const flat = `${begin}${items.join(", ")}${end}`;
  if (flat.length + indent < 90 && !flat.includes("\n")) return flat;
  return `${begin}\n${items.map((item) => `${pad}${item},\n`).join("")}${" ".repeat(indent)}${end}`;
}
