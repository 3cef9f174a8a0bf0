import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { sentence } from "../call/phrase";
import { visibility, needsApproval, template, title } from "../mcp/tools";
import { connection, loaded, plugins, tools, use } from "../state/plugins";
import { Account } from "./Account";
import { chosenTool } from "./Composer";
import { Icon } from "./icons";

export const sidebarOpen = signal(false);

export function Sidebar() {
  const [search, setSearch] = useState("");
  const current = connection.value;
  const words = search.toLowerCase().split(/\s+/);
  const found = tools.value.filter((tool) => words.every((word) => `${tool.name} ${title(tool)} ${tool.description ?? ""}`.toLowerCase().includes(word)));
  const forModel = found.filter((tool) => visibility(tool).model);
  const waiting = (!current && !loaded.value) || (current?.status.value === "connecting" && tools.value.length === 0);
  const box = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const appOnly = found.filter((tool) => !visibility(tool).model);

  useEffect(() => {
    const toSearch = (event: KeyboardEvent) => {
      const typing = event.target instanceof Element && event.target.closest("input, select, textarea, dialog[open]");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      sidebarOpen.value = true; // where it is a drawer
      requestAnimationFrame(() => box.current?.focus());
    };
    addEventListener("keydown", toSearch);
    return () => removeEventListener("keydown", toSearch);
  }, []);

  function walk(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...(list.current?.querySelectorAll<HTMLElement>(".tool") ?? [])];
    const next = buttons.indexOf(document.activeElement as HTMLElement) + step;
    if (next < 0) box.current?.focus();
    else buttons[Math.min(next, buttons.length - 1)]?.focus();
  }

  return (
    <nav
      class="sidebar"
      aria-label="Plugins and tools"
      data-open={sidebarOpen.value}
      onKeyDown={(e) => {
        if (e.key === "Escape") sidebarOpen.value = false;
      }}
    >
      <div class="brand">
        <span class="brand-mark" aria-hidden="true" />
        Tenantry
      </div>
      {plugins.value.length > 1 || (plugins.value.length === 1 && !current) ? (
        <select
          class="plugin-picker"
          aria-label="Plugin"
          value={current?.plugin.label ?? ""}
          onChange={(e) => {
            const next = plugins.value.find((p) => p.label === e.currentTarget.value);
            sidebarOpen.value = false;
            if (next) void use(next);
          }}
        >
          {!current && <option value="">Choose a plugin</option>}
          {plugins.value.map((p) => (
            <option key={p.label} value={p.label}>
              {p.title ?? p.plugin} · {p.tenant}
              {!p.published && " · not published"}
            </option>
          ))}
        </select>
      ) : (
        <p class="plugin-name">{current && [current.plugin.tenant, current.plugin.plugin].filter(Boolean).join("/")}</p>
      )}
      <input type="search" ref={box} aria-label="Search tools" placeholder={tools.value.length > 9 ? `Search ${tools.value.length} tools` : "Search tools"} value={search} onInput={(e) => setSearch(e.currentTarget.value)} onKeyDown={walk} />
      {waiting && (
        <div class="tool-bones" aria-hidden="true">
          {[1, 2, 3, 4].map((n) => (
            <span key={n} class="bone" />
          ))}
        </div>
      )}
      {!waiting && found.length === 0 && search && <p class="none">No tool has “{search}” in its name or description.</p>}
      <ul class="tool-list" aria-label="Tools" ref={list} onKeyDown={walk}>
        {forModel.map((tool) => (
          <li key={tool.name}>
            <button
              type="button"
              class="tool"
              title={tool.description}
              aria-current={chosenTool.value === tool.name ? "true" : undefined}
              onClick={() => {
                chosenTool.value = tool.name;
                sidebarOpen.value = false;
              }}
            >
              <span class="tool-title">{sentence(title(tool))}</span>
              <span class="tool-marks">
                {template(tool) && <Icon name="widget" />}
                {needsApproval(tool) && <span class="mark">needs approval</span>}
              </span>
              <span class="tool-name">{tool.name}</span>
            </button>
          </li>
        ))}
      </ul>
      {appOnly.length > 0 && (
        <details class="app-only">
          <summary>{appOnly.length} for widgets only</summary>
          <ul aria-label="Tools for widgets only">
            {appOnly.map((tool) => (
              <li key={tool.name} class="tool-name">
                {tool.name}
              </li>
            ))}
          </ul>
        </details>
      )}
      <span class="grow" />
      <Account />
    </nav>
  );
}
