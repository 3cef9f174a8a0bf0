import { signal } from "@preact/signals";
import { message } from "../json";
import type { Connection } from "../mcp/connection";
import { template } from "../mcp/tools";
import { change } from "../state/conversation";
import type { Instance } from "./instance";

/** The mounted widgets, by the message that shows them. */
export const instances = signal<ReadonlyMap<string, Instance>>(new Map());

export function put(instance: Instance): void {
  instances.value = new Map(instances.value).set(instance.turnId, instance);
}

export function drop(instance: Instance): void {
  if (instances.value.get(instance.turnId) !== instance) return;
  const rest = new Map(instances.value);
  rest.delete(instance.turnId);
  instances.value = rest;
}

/** A new release is current: read the lists again and show the new templates in place. */
export async function hotReload(connection: Connection): Promise<void> {
  await connection.refresh();
  for (const instance of instances.value.values()) {
    if (instance.connection !== connection) continue;
    const turn = instance.turn.peek();
    const tool = turn && connection.tool(turn.tool.name);
    const uri = tool && template(tool);
    if (!tool || !uri) continue;
    try {
      const fresh = await connection.template(uri);
      change(instance.turnId, { tool });
      if (fresh.html !== instance.template.html || JSON.stringify(fresh.meta) !== JSON.stringify(instance.template.meta))
        await instance.reload(fresh);
    } catch (error) {
      instance.problem.value = message(error);
    }
  }
}
