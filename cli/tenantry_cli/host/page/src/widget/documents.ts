import type { Template } from "../mcp/connection";

/** Documents that the host's own server holds, with their ids there: under the published policy, and without any. */
const held = { published: new WeakMap<Template, Promise<string>>(), open: new WeakMap<Template, Promise<string>>() };

/**
 * Hand a template over to the host's server, which serves it as a document with HTTP headers; once for each. Its id.
 * Raises: an Error with what the server says.
 */
export function handOver(template: Template, label: string, open: boolean): Promise<string> {
  const known = held[open ? "open" : "published"];
  const id = known.get(template) ?? send(template, label, open);
  known.set(template, id);
  id.catch(() => known.delete(template));
  return id;
}

/** The server has let a document go, or was started anew. */
export function forget(template: Template): void {
  held.published.delete(template);
  held.open.delete(template);
}

async function send({ html, ui }: Template, label: string, open: boolean): Promise<string> {
  const body = JSON.stringify({ label, html, csp: ui.csp, permissions: ui.permissions, open });
  const response = await fetch("/_host/documents", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  if (!response.ok) throw new Error((await response.text()).trim());
  return (await response.json()).id;
}
