import type { Dict } from "../json";
import { claimsOf } from "../mcp/accounts";
import type { Connection } from "../mcp/connection";

const LENGTH = 20_000; // characters of both documents: what is longer makes no test that anybody reads

/** What a tool found in ctx.shared and ctx.state. */
export interface Documents {
  shared: Dict;
  state: Dict;
}

/**
 * The documents that a call is going to find, as the host's own server reads them from the store: a test of the call
 * begins with them. Undefined where they can't be known - a server elsewhere, a token that does not say whose it is -
 * or are too long.
 */
export async function documentsNow({ plugin, accounts }: Connection, tool: string): Promise<Documents | undefined> {
  if (plugin.kind !== "kit" || !plugin.tenant) return undefined;
  const token = await accounts.token();
  const { iss, sub } = claimsOf(token);
  if (token && !sub) return undefined;
  try {
    const body = JSON.stringify({ tenant: plugin.tenant, plugin: plugin.plugin, tool, user: token ? { iss, sub } : null });
    const response = await fetch("/_host/kept", { method: "POST", body, headers: { "Content-Type": "application/json" } });
    const text = response.ok ? await response.text() : "null";
    return text.length > LENGTH ? undefined : (JSON.parse(text) ?? undefined);
  } catch {
    return undefined; // the call says what is wrong
  }
}
