import type { Dict } from "../json";
import type { Plugin } from "../mcp/connection";

export interface Link {
  plugin?: string;
  tool?: string;
  args?: Dict;
  shot?: string;
  /** Show the widget only: for pictures. */
  bare: boolean;
}

/** A link that makes the same call again: approval is asked for again too. */
export function linkTo(plugin: Plugin, tool: string, args: Dict): string {
  const query = new URLSearchParams({ tool, arguments: JSON.stringify(args) });
  if (plugin.tenant) query.set("plugin", `${plugin.tenant}/${plugin.plugin}`);
  return `${location.origin}/?${query}`;
}

export function readLink(): Link {
  const query = new URLSearchParams(location.search);
  let args: Dict | undefined;
  try {
    args = JSON.parse(query.get("arguments") ?? "{}");
  } catch {
    args = undefined;
  }
  return {
    plugin: query.get("plugin") ?? undefined,
    tool: query.get("tool") ?? undefined,
    args,
    shot: query.get("shot") ?? undefined,
    bare: query.has("shot") || query.has("bare"),
  };
}
