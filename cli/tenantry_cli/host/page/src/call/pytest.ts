import { isDict, same, type Dict } from "../json";
import { claimsOf } from "../mcp/accounts";
import type { Connection } from "../mcp/connection";
import { clientMeta } from "../mcp/meta";
import { fileParams, ordered, title } from "../mcp/tools";
import type { CallTurn, Turn } from "../state/conversation";
import { DEFAULTS, knobs } from "../state/knobs";
import { exchanges } from "../state/log";
import { downloadUrl } from "./files";
import { sentence } from "./phrase";
import { python, pythonBytes, pythonCall, Source } from "./python";
import { expected } from "./volatile";

const INLINE = 2000; // bytes of a file that stand in the test itself
/** Said by the gateway, which looks at arguments before the plugin does; in process the kit has words of its own. */
const BY_THE_GATEWAY = /^The arguments of \S+ are not valid\./;
const MASKED = /^The tool failed\..*\(error [0-9a-f]+\)$/s;
/** Claims that belong to one token, not to the user. */
const OF_THE_TOKEN = new Set(["iss", "aud", "exp", "iat", "nbf", "jti", "client_id", "azp", "sid", "auth_time"]);

/** What a test is written from: the call, and the conversation it stands in. */
interface Told {
  connection: Connection;
  turn: CallTurn;
  turns: Turn[];
}

/**
 * The call and its result as a test of the plugin: in process with the kit's own client, no server needed. A plugin
 * that is not written with the kit is tested against the running server. Raises: an Error where there is nothing to
 * expect.
 */
export async function asPytest(told: Told): Promise<string> {
  const { connection, turn } = told;
  if (turn.result?.content?.[0]?.text?.includes("(injected by the local host)")) throw new Error("An injected failure is no test of the plugin.");
  return connection.plugin.kind === "kit" ? inProcess(told) : overTheWire(told);
}

async function inProcess(told: Told): Promise<string> {
  const { connection, turn } = told;
  const result = turn.result ?? {};
  const imports = new Set(["Client", "load"]);
  const client: Dict = {
    user: await user(connection),
    secrets: secrets(connection),
    meta: meta(told),
    answers: answers(turn, imports),
    state: filled(turn.before?.state),
    shared: filled(turn.before?.shared),
  };
  const body = [`client = ${pythonCall("Client", trimmed(client), 4, ["plugin"])}`];
  if (!turn.before) {
    for (const earlier of writesBefore(told)) body.push(`${await call(earlier, connection)}  # said before`);
    body.push("# What ctx.state and ctx.shared held is not known here: give it to Client where the tool reads it.");
  }
  const made = await call(turn, connection);
  const text = said(result);
  if (result.isError && MASKED.test(text)) {
    imports.add("Crashed");
    body.push("with pytest.raises(Crashed):", `    ${made.replaceAll("\n", "\n    ")}`);
  } else {
    body.push(`called = ${made}`, `assert ${result.isError ? "" : "not "}called.is_error`);
    const { structuredContent: structured } = result;
    if (structured !== undefined && !result.isError)
      body.push(`assert called.structured == ${python(expected(structured, turn.args, sisters(told), turn.before), 4, 28)}`);
    else if (text && !BY_THE_GATEWAY.test(text)) body.push(expectText(text));
  }
  const code = body.map((line) => `    ${line}`).join("\n");
  const standard = [code.includes("Path(") && "from pathlib import Path", /\bANY\b/.test(code) && "from unittest.mock import ANY"].filter(Boolean);
  return [
    `"""${sentence(title(turn.tool)).replaceAll('"', "'")}, as it answered in the local host."""`,
    "",
    ...(standard.length ? [...standard, ""] : []),
    ...(code.includes("pytest.") ? ["import pytest"] : []),
    `from tenantry.testing import ${[...imports].sort().join(", ")}`,
    "",
    "plugin = load(__file__)",
    "",
    "",
    `def ${name(turn)}() -> None:`,
    code,
    "",
  ].join("\n");
}

/** One call of the kit's client, files with their bytes. */
async function call(turn: CallTurn, connection: Connection): Promise<string> {
  const args = ordered(turn.tool, turn.args);
  for (const param of fileParams(turn.tool)) {
    const value = args[param];
    if (Array.isArray(value)) args[param] = await Promise.all(value.map((file) => fileOf(file, connection)));
    else if (isDict(value)) args[param] = await fileOf(value, connection);
  }
  return pythonCall("client.call", args, 4, [python(turn.tool.name)]);
}

async function fileOf(file: Dict, connection: Connection): Promise<Source> {
  const name = file.file_name ?? "file";
  let data = `Path(__file__).with_name(${python(name)}).read_bytes()`; // the author puts it there: too large for a test
  try {
    const bytes = new Uint8Array(await (await fetch(await downloadUrl(file.file_id, connection.plugin.label))).arrayBuffer());
    if (bytes.length <= INLINE) data = pythonBytes(bytes);
  } catch {
    // gone, or of another host: the author has it
  }
  const more = [file.file_name, file.mime_type].map((text) => (text === undefined ? "" : `, ${python(text)}`)).join("");
  return new Source(`client.file(${data}${more})`);
}

/** Verified claims of whoever was signed in, without those that belong to the token; no claims for a token of another kind. */
async function user(connection: Connection): Promise<Dict | undefined> {
  const claims = Object.entries(claimsOf(await connection.accounts.token())).filter(([claim]) => !OF_THE_TOKEN.has(claim));
  return claims.length ? Object.fromEntries(claims) : undefined;
}

function secrets({ plugin }: Connection): Dict | undefined {
  return plugin.secrets.length ? Object.fromEntries(plugin.secrets.map((secret) => [secret, "for tests"])) : undefined;
}

/** The locale, and of the rest of the client's `_meta` what was set on purpose or is seen in the result. */
function meta({ turn }: Told): Dict | undefined {
  const body = exchanges.peek().find((e) => e.id === turn.exchange)?.request.body as Dict | undefined;
  const sent: Dict = body?.params?._meta ?? clientMeta("tools/call");
  const result = JSON.stringify(turn.result);
  const told = (value: unknown): boolean =>
    isDict(value) ? Object.values(value).some(told) : typeof value === "string" && value.length > 2 && result.includes(JSON.stringify(value).slice(1, -1));
  const k = knobs.peek();
  const wanted = (key: string, value: unknown) =>
    key === "openai/locale" || key === "webplus/i18n" || told(value) || (key === "openai/userLocation" && k.location !== DEFAULTS.location) || (key === "openai/organization" && k.organization);
  const kept = Object.entries(sent).filter(([key, value]) => /^(openai|webplus)\//.test(key) && wanted(key, value));
  return kept.length ? Object.fromEntries(kept) : undefined;
}

function answers(turn: CallTurn, imports: Set<string>): unknown[] | undefined {
  if (!turn.answers?.length) return undefined;
  return turn.answers.map((answer) => {
    if (answer !== null && answer !== false) return answer;
    const constant = answer === null ? "DECLINE" : "CANCEL";
    imports.add(constant);
    return new Source(constant);
  });
}

/** Calls before this one that changed something: the documents they wrote are what this one read. */
function writesBefore({ turn, turns }: Told): CallTurn[] {
  const before = turns.slice(0, turns.findIndex((t) => t.id === turn.id));
  return before.filter((t): t is CallTurn => t.kind === "call" && t.phase === "done" && !t.result?.isError && t.tool.annotations?.readOnlyHint !== true);
}

/** A document that has something in it. */
function filled(document: Dict | undefined): Dict | undefined {
  return document && Object.keys(document).length ? document : undefined;
}

/** What the same call answered at other times, with the same in its documents. */
function sisters({ turn, turns }: Told): unknown[] {
  return turns
    .filter((t): t is CallTurn => t.kind === "call" && t.id !== turn.id && t.tool.name === turn.tool.name && same(t.args, turn.args) && same(t.before, turn.before) && !!t.result && !t.result.isError)
    .map((t) => t.result?.structuredContent);
}

function said(result: Dict): string {
  const blocks: Dict[] = result.content ?? [];
  return blocks.filter((block) => block.type === "text").map((block) => block.text).join("\n");
}

/** A text without the links in it, which are new each time. */
function expectText(text: string): string {
  const link = text.search(/https?:\/\/[^\s/]+\/(_host\/download|files)\//);
  return link === -1 ? `assert called.text == ${python(text)}` : `assert called.text.startswith(${python(text.slice(0, link))})`;
}

function name({ tool, args, result }: CallTurn): string {
  const first = Object.values(ordered(tool, args)).find((value) => ["string", "number"].includes(typeof value) && String(value).length <= 24);
  const parts = ["test", tool.name, first ?? "", result?.isError ? "fails" : ""];
  return parts.join("_").toLowerCase().replace(/\W+/g, "_").replace(/_+/g, "_").replace(/_$/, "");
}

function trimmed(values: Dict): Dict {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** Against the server that runs now, by the official client. */
function overTheWire(told: Told): string {
  const { connection, turn } = told;
  const result = turn.result ?? {};
  const { structuredContent: structured } = result;
  const lines = [
    `    async with Client(URL) as client:`,
    `        result = await client.call_tool(${python(turn.tool.name)}, ${python(ordered(turn.tool, turn.args), 8, 40)})`,
    `    assert ${result.isError ? "" : "not "}result.is_error`,
  ];
  if (structured !== undefined) lines.push(`    assert result.structured_content == ${python(expected(structured, turn.args, sisters(told)), 4, 36)}`);
  else if (result.content?.[0]?.type === "text") lines.push(`    assert result.content[0].text == ${python(result.content[0].text)}`);
  const code = lines.join("\n");
  const any = /\bANY\b/.test(code) ? ["from unittest.mock import ANY", ""] : [];
  return [...any, "from mcp import Client", "", `URL = ${python(connection.plugin.mcpUrl)}`, "", "", `async def ${name(turn)}() -> None:`, code, ""].join("\n");
}
