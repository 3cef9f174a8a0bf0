import { Client, StreamableHTTPClientTransport, type JSONRPCMessage } from "@modelcontextprotocol/client";
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/client/validators/cf-worker";
import { signal } from "@preact/signals";
import { isDict, message, type Dict } from "../json";
import { knobs } from "../state/knobs";
import { answered, note, toolLine } from "../state/log";
import { Accounts } from "./accounts";
import { CLIENT_INFO, clientMeta } from "./meta";
import { ANSWERS, answerServer } from "./questions";
import { uiMeta, type UiMeta } from "./tools";
import { watchedFetch } from "./trace";

export const HTML = "text/html;profile=mcp-app";
const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
const PAGES = 50; // of one list
const ROUND = /^Fulfilling input required by /; // the client's own progress while a question is open: the card says that
const ELSEWHERE = 10_000; // milliseconds a template of a server elsewhere is taken to be the same: from choosing to calling
const PATIENCE = 60_000; // milliseconds for one call; the platform's own budget is 25 s

export interface Plugin {
  tenant: string;
  plugin: string;
  label: string;
  title?: string;
  release: string;
  mcpUrl: string;
  hostUrl?: string;
  /** "kit" for a plugin written with the kit; what else there is has other tests. */
  kind: string;
  /** Names of the secrets it declares. */
  secrets: string[];
  examples: { prompt?: string; tool: string; arguments?: Dict }[];
  /** False while no release of it has ever been published here. */
  published: boolean;
  /** Why what was saved last did not publish. */
  problems: Dict[];
}

export interface Template {
  uri: string;
  html: string;
  meta: Dict;
  ui: UiMeta;
  /** Where the metadata was found. */
  from: "read" | "list" | "nowhere";
}

export type Status = "connecting" | "ready" | "sign-in" | "failed";

/** Results are taken as they come: a schema of ours would drop what it doesn't know. */
const anything = { "~standard": { version: 1 as const, vendor: "tenantry", validate: (value: unknown) => ({ value: value as Dict }) } };

/** The client's end of one MCP server: the lists, the calls, and what a host adds to each request. */
export class Connection {
  readonly status = signal<Status>("connecting");
  readonly error = signal("");
  readonly tools = signal<Dict[]>([]);
  readonly resources = signal<Dict[]>([]);
  readonly server = signal<Dict>({});
  readonly instructions = signal("");
  readonly revision = signal("");
  /** How often the lists were read: widgets are told of each time after the first. */
  readonly lists = signal(0);
  readonly accounts: Accounts;
  challenge = "";
  /** Templates that were read since the lists were: a release, or another kind of client, reads them anew. */
  readonly #templates = new Map<string, { at: number; template: Promise<Template> }>();
  #client: Client | undefined;

  constructor(readonly plugin: Plugin) {
    this.accounts = new Accounts(plugin.mcpUrl);
  }

  async connect(): Promise<void> {
    this.status.value = "connecting";
    this.error.value = "";
    await this.#client?.close().catch(() => undefined);
    const { era, client: kind } = knobs.value;
    const client = new Client(CLIENT_INFO[kind], {
      capabilities: {
        ...ANSWERS,
        extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [HTML] } },
      },
      versionNegotiation: { mode: era === "2025" ? "legacy" : era === "2026" ? { pin: "2026-07-28" } : "auto" },
    });
    answerServer(client);
    client.setNotificationHandler("notifications/message", ({ params }) =>
      toolLine({ kind: "log", level: params.level, logger: params.logger, text: typeof params.data === "string" ? params.data : JSON.stringify(params.data) }),
    );
    client.setNotificationHandler("notifications/tools/list_changed", () => void this.refresh());
    const fetch = watchedFetch({
      token: () => this.accounts.token(),
      challenged: (status, challenge) => {
        this.challenge = challenge;
        if (status === 401) this.status.value = "sign-in";
      },
    });
    try {
      await client.connect(new HostTransport(new URL(this.plugin.mcpUrl), { fetch }));
      this.#client = client;
      this.server.value = client.getServerVersion() ?? {};
      this.instructions.value = client.getInstructions() ?? "";
      this.revision.value = client.getNegotiatedProtocolVersion() ?? "";
      if (client.getServerCapabilities()?.logging && client.getProtocolEra() !== "modern")
        await client.setLoggingLevel("debug").catch(() => undefined); // a server may say it logs and not take levels
      await this.refresh();
      this.status.value = "ready";
    } catch (error) {
      if ((this.status.value as Status) !== "sign-in") this.status.value = "failed";
      this.error.value = message(error);
    }
  }

  /** Nothing answers at the address yet. */
  wait(): void {
    this.status.value = "failed";
  }

  /** Read the lists anew. */
  async refresh(): Promise<void> {
    this.#templates.clear();
    const can = this.#client?.getServerCapabilities() ?? {};
    this.tools.value = can.tools ? await this.#all("tools/list", "tools") : [];
    this.resources.value = can.resources ? await this.#all("resources/list", "resources") : [];
    this.lists.value += 1;
  }

  request(method: string, params: Dict = {}, options: { onprogress?: (progress: Dict) => void } = {}): Promise<Dict> {
    if (!this.#client) return Promise.reject(new Error("Not connected to the plugin."));
    const began = performance.now();
    const id = note({ direction: "to server", name: method, detail: params });
    const done = (failed: boolean) => answered(id, performance.now() - began, failed);
    return this.#client
      .request({ method, params } as { method: "tools/list"; params: Dict }, anything, {
        timeout: PATIENCE,
        onprogress: options.onprogress && ((progress: Dict) => !ROUND.test(progress.message ?? "") && options.onprogress?.(progress)),
      })
      .then(
        (result) => {
          done(false);
          return result as Dict;
        },
        (error) => {
          done(true);
          throw error;
        },
      );
  }

  async callTool(name: string, args: Dict, extra: Dict, onprogress?: (progress: Dict) => void): Promise<Dict> {
    if (knobs.value.failure === "tool")
      return { isError: true, content: [{ type: "text", text: "The tool failed (injected by the local host)." }] };
    if (this.status.value === "ready") this.challenge = ""; // what is there afterwards came with this call
    const result = await this.request("tools/call", { name, arguments: args, _meta: extra }, { onprogress });
    return { content: [], ...result };
  }

  tool(name: string): Dict | undefined {
    return this.tools.value.find((tool) => tool.name === name);
  }

  /**
   * A template with its metadata, read once for each release; of a server elsewhere, which tells of no releases, once
   * in a while. Raises: an Error that says what is wrong with it.
   */
  template(uri: string): Promise<Template> {
    const known = this.#templates.get(uri);
    if (known && (this.plugin.tenant || performance.now() - known.at < ELSEWHERE)) return known.template;
    const template = this.#readTemplate(uri);
    this.#templates.set(uri, { at: performance.now(), template });
    template.catch(() => this.#templates.delete(uri));
    return template;
  }

  async #readTemplate(uri: string): Promise<Template> {
    if (!uri.startsWith("ui://")) throw new Error(`${uri} is not a ui:// resource.`);
    const result = await this.request("resources/read", { uri });
    const content: Dict | undefined = result.contents?.[0];
    if (!content) throw new Error(`${uri} has no contents.`);
    if (content.mimeType !== HTML) throw new Error(`${uri} has mimeType ${content.mimeType ?? "(none)"}; a widget needs ${HTML}.`);
    const html = typeof content.text === "string" ? content.text : typeof content.blob === "string" ? decoded(content.blob) : "";
    if (!html.trim()) throw new Error(`${uri} is empty.`);
    const listed = this.resources.value.find((resource) => resource.uri === uri)?._meta;
    const meta: Dict = isDict(content._meta) ? content._meta : isDict(listed) ? listed : {};
    const from = isDict(content._meta) ? "read" : isDict(listed) ? "list" : "nowhere";
    return { uri, html, meta, ui: uiMeta(meta), from };
  }

  /** Where structuredContent breaks the tool's outputSchema, in words. */
  mismatch(tool: Dict, result: Dict): string | undefined {
    if (result.isError || !tool.outputSchema) return undefined;
    if (result.structuredContent === undefined) return "The tool declares an outputSchema and returned no structuredContent.";
    try {
      const checked = new CfWorkerJsonSchemaValidator({ shortcircuit: false }).getValidator(tool.outputSchema)(result.structuredContent);
      return checked.valid ? undefined : checked.errorMessage;
    } catch (error) {
      return `outputSchema can't be used: ${message(error)}`;
    }
  }

  async close(): Promise<void> {
    await this.#client?.close().catch(() => undefined);
  }

  async #all(method: string, key: string): Promise<Dict[]> {
    const found: Dict[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < PAGES; page += 1) {
      const result = await this.request(method, cursor === undefined ? {} : { cursor });
      found.push(...(result[key] ?? []));
      cursor = result.nextCursor;
      if (cursor === undefined) break;
    }
    return found;
  }
}

/** Streamable HTTP with ChatGPT's `_meta` on every request, the handshake included. */
class HostTransport extends StreamableHTTPClientTransport {
  override send(outgoing: JSONRPCMessage | JSONRPCMessage[], options?: Parameters<StreamableHTTPClientTransport["send"]>[1]) {
    return super.send(Array.isArray(outgoing) ? outgoing.map(decorated) : decorated(outgoing), options);
  }
}

function decorated(outgoing: JSONRPCMessage): JSONRPCMessage {
  if (!("method" in outgoing) || !("id" in outgoing)) return outgoing;
  const params = (outgoing.params ?? {}) as Dict;
  const modern = isDict(params._meta) && "io.modelcontextprotocol/protocolVersion" in params._meta;
  const level = modern && outgoing.method === "tools/call" ? { [LOG_LEVEL]: "debug" } : {};
  return { ...outgoing, params: { ...params, _meta: { ...clientMeta(outgoing.method), ...level, ...params._meta } } } as JSONRPCMessage;
}

function decoded(base64: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)));
}
