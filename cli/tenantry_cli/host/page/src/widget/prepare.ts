import type { Connection } from "../mcp/connection";
import { template, visibility } from "../mcp/tools";
import type { Dict } from "../json";
import { knobs } from "../state/knobs";
import { handOver } from "./documents";
import { warm } from "./frames";

const AHEAD = 6; // templates read without being asked for: a plugin rarely has more

/** Read a tool's template and hand it over before it is called: the widget is then there as soon as the result is. */
export async function prepare(connection: Connection, tool: Dict): Promise<void> {
  const uri = template(tool);
  if (!uri) return;
  warm();
  await handOver(await connection.template(uri), connection.plugin.label, knobs.peek().developer);
}

/**
 * Prepare for whatever the person may call next. ChatGPT reads templates when it scans a plugin, too. A server elsewhere
 * is asked for nothing before somebody chooses: it may want a sign-in for it.
 */
export async function prepareAll(connection: Connection): Promise<void> {
  if (!connection.plugin.tenant) return;
  const shown = new Map(connection.tools.peek().filter((tool) => visibility(tool).model && template(tool)).map((tool) => [template(tool), tool]));
  for (const tool of [...shown.values()].slice(0, AHEAD)) await prepare(connection, tool).catch(() => undefined);
}
