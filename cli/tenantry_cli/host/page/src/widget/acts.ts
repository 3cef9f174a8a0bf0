import { approved } from "../call/run";
import { remember, withDownloads } from "../call/files";
import { isDict, type Dict } from "../json";
import { fileParams, needsApproval, visibility } from "../mcp/tools";
import { ask, conversationId } from "../state/conversation";
import type { Instance } from "./instance";

/**
 * A widget calls a tool of its own server: visibility first, then approval, then the call with the client's `_meta`
 * and the instance's session id, which the result carries too (S04). Raises: an Error when it may not or was denied.
 */
export async function callFromWidget(instance: Instance, name: string, given: Dict): Promise<Dict> {
  const { connection, session, label } = instance;
  const tool = connection.tool(name);
  if (!tool) throw new Error(`This plugin has no tool ${JSON.stringify(name)}.`);
  if (!visibility(tool).app) throw new Error(`${name} can't be called by widgets: its visibility does not include "app".`);
  if (!isDict(given)) throw new Error("Arguments are an object.");
  const args = await withDownloads(given, fileParams(tool), label);
  if (needsApproval(tool) && !(await approved(tool, args, instance.turnId))) throw new Error("The user denied the call.");
  const result = await connection.callTool(name, args, { "openai/widgetSessionId": session });
  remember(result, label);
  return { ...result, _meta: { ...result._meta, "openai/widgetSessionId": session } };
}

/**
 * Open a link outside. Only http(s). Approved redirect targets open at once and learn the way back (O16, R09);
 * everything else is shown to the person first. Whether it was opened.
 */
export async function openLink(instance: Instance, href: unknown, wayBack: boolean): Promise<boolean> {
  const url = typeof href === "string" && URL.canParse(href) ? new URL(href) : null;
  if (!url || !["http:", "https:"].includes(url.protocol)) throw new Error("Only http and https links can be opened.");
  const approvedTarget = instance.template.ui.redirectDomains.some((domain) => matches(domain, url));
  if (approvedTarget) {
    if (wayBack) url.searchParams.set("redirectUrl", conversationUrl());
    window.open(url, "_blank", "noopener");
    return true;
  }
  const yes = await ask<boolean>({ turn: instance.turnId, kind: "link", title: "Open this link?", text: "The widget wants to open", detail: { href: url.href } });
  if (yes) window.open(url, "_blank", "noopener");
  return yes;
}

function matches(domain: unknown, url: URL): boolean {
  if (typeof domain !== "string") return false;
  const pattern = domain.includes("://") ? domain : `https://${domain}`;
  const [scheme, host] = pattern.split("://", 2) as [string, string];
  if (`${scheme}:` !== url.protocol) return false;
  const wanted = host.replace(/\/.*$/, "").toLowerCase();
  return wanted.startsWith("*.") ? url.host.endsWith(wanted.slice(1)) : url.host === wanted;
}

export function conversationUrl(): string {
  return `${location.origin}/#conversation=${conversationId.value}`;
}

/** ui/download-file: after the person agrees, save what is embedded, or what the link leads to. */
export async function download(instance: Instance, contents: Dict[]): Promise<boolean> {
  const names = contents.map((item) => item.name ?? item.resource?.uri?.split("/").pop() ?? item.uri ?? "file");
  const yes = await ask<boolean>({ turn: instance.turnId, kind: "download", title: "Save these files?", text: names.join(", ") });
  if (!yes) return false;
  for (const [index, item] of contents.entries()) save(await blobOf(instance, item), names[index]);
  return true;
}

async function blobOf(instance: Instance, item: Dict): Promise<Blob> {
  let resource = item.resource;
  if (item.type === "resource_link") {
    if (/^https?:/.test(item.uri)) return (await fetch(item.uri)).blob();
    resource = (await instance.connection.request("resources/read", { uri: item.uri })).contents?.[0];
  }
  const type = resource?.mimeType ?? "application/octet-stream";
  if (typeof resource?.text === "string") return new Blob([resource.text], { type });
  return new Blob([Uint8Array.from(atob(resource?.blob ?? ""), (c) => c.charCodeAt(0))], { type });
}

export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
