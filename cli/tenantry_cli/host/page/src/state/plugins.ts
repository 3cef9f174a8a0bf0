import { computed, effect, signal } from "@preact/signals";
import { Connection, type Plugin } from "../mcp/connection";
import { prepareAll } from "../widget/prepare";
import { hotReload } from "../widget/registry";
import type { Dict } from "../json";
import { readLink } from "../call/link";
import { open } from "./conversation";
import { knobs } from "./knobs";

export const plugins = signal<Plugin[]>([]);
export const connection = signal<Connection | null>(null);
export const screenshots = signal(false);
export const findings = signal<Dict[]>([]);
export const loaded = signal(false);
/** How often the connection has been brought up to date with a new release. */
export const releases = signal(0);
export const tools = computed(() => connection.value?.tools.value ?? []);

export async function load(wanted?: string): Promise<void> {
  const state: Dict = await (await fetch("/_host/state")).json();
  screenshots.value = state.screenshots;
  plugins.value = state.url ? [await elsewhere(state.url)] : state.plugins.map(named);
  loaded.value = true;
  const first = plugins.value.find((p) => `${p.tenant}/${p.plugin}` === wanted) ?? plugins.value[0];
  if (first) await use(first);
}

export async function use(plugin: Plugin): Promise<void> {
  void connection.value?.close();
  if (!readLink().bare) history.replaceState(null, "", plugin.tenant ? `/?plugin=${plugin.tenant}/${plugin.plugin}` : "/");
  const next = new Connection(plugin);
  open(plugin.label);
  connection.value = next;
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
  };
}

/** A server that isn't ours gets a label from its address, so that its widgets keep one origin. */
async function elsewhere(url: string): Promise<Plugin> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(url)));
  const label = `url-${Array.from(digest.slice(0, 6), (b) => b.toString(16).padStart(2, "0")).join("")}`;
  return { tenant: "", plugin: url, label, title: new URL(url).host, release: "", mcpUrl: url, kind: "", secrets: [], examples: [] };
}

/** Follow releases: read the plugin again, and show its widgets anew where they are. */
export function follow(): void {
  new EventSource("/_host/events").addEventListener("release", async (event) => {
    const news: Dict = JSON.parse((event as MessageEvent).data);
    const state: Dict = await (await fetch("/_host/state")).json();
    if (!state.url) plugins.value = state.plugins.map(named);
    const current = connection.value;
    if (!current) return void (await load());
    if (current.plugin.tenant !== news.tenant || current.plugin.plugin !== news.plugin) return;
    await hotReload(current);
    await check(current.plugin);
    void prepareAll(current);
    releases.value += 1;
  });
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
