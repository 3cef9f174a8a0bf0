import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { entries, printed, violations } from "../state/log";
import { Icon, type IconName } from "./icons";
import { Sash } from "./Sash";
import { Knobs } from "./Knobs";
import { Checks, counted } from "./panes/Checks";
import { ConsolePane } from "./panes/Console";
import { Logs } from "./panes/Logs";
import { Messages } from "./panes/Messages";
import { Model } from "./panes/Model";
import { Policy } from "./panes/Policy";
import { RequestPane } from "./panes/Request";
import { WidgetPane } from "./panes/Widget";

interface Pane {
  id: string;
  name: string;
  icon: IconName;
  show: ComponentType;
  badge?: () => number;
}

const PANES: Pane[] = [
  { id: "model", name: "Model sees", icon: "model", show: Model },
  { id: "widget", name: "Widget gets", icon: "widget", show: WidgetPane },
  { id: "messages", name: "Messages", icon: "messages", show: Messages, badge: () => entries.value.filter((e) => e.direction === "refused").length },
  { id: "console", name: "Console", icon: "console", show: ConsolePane, badge: () => printed.value.filter((p) => p.level === "error").length },
  { id: "policy", name: "Policy", icon: "shield", show: Policy, badge: () => violations.value.filter((v) => v.blocked !== "eval").length },
  { id: "logs", name: "Tool logs", icon: "logs", show: Logs },
  { id: "checks", name: "Checks", icon: "checks", show: Checks, badge: () => counted.value },
  { id: "request", name: "Request", icon: "request", show: RequestPane },
  { id: "knobs", name: "Knobs", icon: "knobs", show: Knobs },
];

export const pane = signal("model");
export const inspectorOpen = signal(innerWidth >= 1100);

export function showPane(id: string): void {
  pane.value = id;
  inspectorOpen.value = true;
}

export function Inspector() {
  const shown = PANES.find((p) => p.id === pane.value) ?? PANES[0]!;

  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = PANES[(PANES.indexOf(shown) + step + PANES.length) % PANES.length]!;
    pane.value = next.id;
    document.getElementById(`tab-${next.id}`)?.focus();
  }

  return (
    <aside class="inspector" aria-label="Inspector" data-open={inspectorOpen.value}>
      <Sash />
      <div class="rail" role="tablist" aria-label="Panes" aria-orientation="vertical" onKeyDown={onKeyDown}>
        {PANES.map(({ id, name, icon, badge }) => {
          const count = badge?.() ?? 0;
          const current = id === shown.id;
          return (
            <button
              key={id}
              id={`tab-${id}`}
              type="button"
              role="tab"
              class="rail-tab"
              aria-selected={current}
              aria-controls="pane"
              tabIndex={current ? 0 : -1}
              title={name}
              onClick={() => {
                inspectorOpen.value = !(current && inspectorOpen.value);
                pane.value = id;
              }}
            >
              <Icon name={icon} />
              <span class="rail-name">{name}</span>
              {count > 0 && <span class="badge">{count > 99 ? "99+" : count}</span>}
            </button>
          );
        })}
      </div>
      <div class="pane" id="pane" role="tabpanel" aria-labelledby={`tab-${shown.id}`} tabIndex={0}>
        <h2 class="pane-name">{shown.name}</h2>
        <shown.show />
      </div>
    </aside>
  );
}
