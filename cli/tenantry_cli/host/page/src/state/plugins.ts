import { computed, effect, signal } from "@preact/signals";
import { Connection, type Plugin } from "../mcp/connection";
import { prepareAll } from "../widget/prepare";
import { hotReload } from "../widget/registry";
import type { Dict } from "../json";
import { readLink } from "../call/link";
import { open } from "./conversation";
import { knobs } from "./knobs";
import { toolLine } from "./log";

export const plugins = signal<Plugin[]>([]);
export const connection = signal<Connection | null>(null);
export const screenshots = signal(false);
export const findings = signal<Dict[]>([]);
export const loaded = signal(false);
/** How often the connection has been brought up to date with a new release. */
export const releases = signal(0);
export const tools = computed(() => connection.value?.tools.value ?? []);
/** What the address asks for and nobody serves. */
export const unknown = signal("");
/** Why the current plugin's last save did not publish. */
export const problems = computed(() => {
  const label = connection.value?.plugin.label;
  return plugins.value.find((p) => p.label === label)?.problems ?? [];
});

export async function load(wanted?: string): Promise<void> {
  const state: Dict = await (await fetch("/_host/state")).json();
  screenshots.value = state.screenshots;
  plugins.value = state.url ? [await elsewhere(state.url)] : state.plugins.map(named);
  loaded.value = true;
  const asked = plugins.value.find((p) => `${p.tenant}/${p.plugin}` === wanted);
  unknown.value = wanted && !asked && !state.url ? wanted : "";
  const first = asked ?? plugins.value.find((p) => p.published) ?? plugins.value[0];
  if (first && !unknown.value) await use(first);
}

export async function use(plugin: Plugin): Promise<void> {
  void connection.value?.close();
  unknown.value = "";
  if (!readLink().bare) history.replaceState(null, "", plugin.tenant ? `/?plugin=${plugin.tenant}/${plugin.plugin}` : "/");
  const next = new Connection(plugin);
  open(plugin.label);
  connection.value = next;
  if (!plugin.published) return next.wait();
  await Promise.all([next.connect(), check(plugin)]);
  if (!readLink().bare) requestIdleCallback(() => void prepareAll(next), { timeout: 1000 });
}

async function check({ tenant, plugin }: Plugin): Promise<void> {
  findings.value = tenant ? await (await fetch(`/_host/checks?${new URLSearchParams({ tenant, plugin })}`)).json() : [];
}

function named(raw: Dict): Plugin {
  return {
    tenant: raw.tenant,
    plugin: raw.plugin,
    label: `${raw.plugin}-${raw.tenant}`,
    title: raw.title,
    release: raw.release ?? "",
    mcpUrl: raw.mcp_url,
    hostUrl: raw.host_url,
    kind: raw.kind ?? "",
    secrets: raw.secrets ?? [],
    examples: raw.examples ?? [],
    published: raw.published !== false,
    problems: raw.problems ?? [],
  };
}

/** A server that isn't ours gets a label from its address, so that its widgets keep one origin. */
async function elsewhere(url: string): Promise<Plugin> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(url)));
  const label = `url-${Array.from(digest.slice(0, 6), (b) => b.toString(16).padStart(2, "0")).join("")}`;
  return { ...named({ tenant: "", plugin: url, title: new URL(url).host, mcp_url: url }), label };
}

/**
 * Follow what is saved. A release: read the plugin again, and show its widgets anew where they are. A save that did not
 * publish: say why. What a call printed, and its traceback, go to the tool logs.
 */
export function follow(): void {
  const source = new EventSource("/_host/events");
  const on = (name: string, act: (news: Dict) => unknown) => source.addEventListener(name, (event) => void act(JSON.parse((event as MessageEvent).data)));
  const isCurrent = ({ tenant, plugin }: Dict) => {
    const current = connection.value?.plugin;
    return current?.tenant === tenant && current?.plugin === plugin;
  };
  on("release", async (news) => {
    await list();
    const current = connection.value;
    if (!current) return load(unknown.value || undefined);
    if (!isCurrent(news)) return;
    const published = plugins.value.find((p) => p.label === current.plugin.label);
    if (!current.plugin.published && published) return use(published);
    await hotReload(current);
    await check(current.plugin);
    void prepareAll(current);
    releases.value += 1;
  });
  on("refused", async (news) => {
    await list();
    if (!connection.value) return load(unknown.value || undefined);
    if (isCurrent(news)) await check(connection.value.plugin);
  });
  on("output", (news) => {
    if (!isCurrent(news)) return;
    const about = { kind: "output", tool: news.tool, errorId: news.error_id } as const;
    if (news.printed.length) toolLine({ ...about, level: "printed", text: news.printed.join("\n") });
    if (news.traceback.length) toolLine({ ...about, level: "error", text: news.traceback.join("\n") });
  });
}

async function list(): Promise<void> {
  const state: Dict = await (await fetch("/_host/state")).json();
  if (!state.url) plugins.value = state.plugins.map(named);
}

/** The knobs that change how the client introduces itself connect anew. */
export function reconnectOnKnobs(): void {
  let last = "";
  effect(() => {
    const { era, client } = knobs.value;
    const now = `${era} ${client}`;
    if (last && last !== now) void connection.peek()?.connect();
    last = now;
  });
}
