import { template } from "../mcp/tools";
import { turns, type CallTurn } from "../state/conversation";
import { connection } from "../state/plugins";
import { WidgetView } from "./WidgetView";

/** One widget and nothing else: what pictures are taken of. */
export function Bare() {
  const current = connection.value;
  const turn = turns.value.findLast((t): t is CallTurn => t.kind === "call");
  const uri = turn && template(turn.tool);
  if (!current || !turn || !uri) return null;
  return (
    <main class="bare">
      <WidgetView turn={turn} connection={current} uri={uri} bare />
    </main>
  );
}
