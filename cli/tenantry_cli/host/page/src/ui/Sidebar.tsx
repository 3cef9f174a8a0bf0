import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { visibility, needsApproval, template, title } from "../mcp/tools";
import { connection, plugins, tools, use } from "../state/plugins";
import { Account } from "./Account";
import { chosenTool } from "./Composer";
import { Icon } from "./icons";

export const sidebarOpen = signal(false);

export function Sidebar() {
  const [search, setSearch] = useState("");
  const current = connection.value;
  const found = tools.value.filter((tool) => `${tool.name} ${title(tool)}`.toLowerCase().includes(search.toLowerCase()));
  const forModel = found.filter((tool) => visibility(tool).model);
  const appOnly = found.filter((tool) => !visibility(tool).model);

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
      {plugins.value.length > 1 ? (
        <select
          class="plugin-picker"
          aria-label="Plugin"
          value={current?.plugin.label}
          onChange={(e) => {
            const next = plugins.value.find((p) => p.label === e.currentTarget.value);
            sidebarOpen.value = false;
            if (next) void use(next);
          }}
        >
          {plugins.value.map((p) => (
            <option key={p.label} value={p.label}>
              {p.title ?? p.plugin} · {p.tenant}
            </option>
          ))}
        </select>
      ) : (
        <p class="plugin-name">{current?.plugin.title ?? current?.plugin.plugin}</p>
      )}
      <input type="search" aria-label="Search tools" placeholder="Search tools" value={search} onInput={(e) => setSearch(e.currentTarget.value)} />
      <ul class="tool-list" aria-label="Tools">
        {forModel.map((tool) => (
          <li key={tool.name}>
            <button
              type="button"
              class="tool"
              aria-current={chosenTool.value === tool.name ? "true" : undefined}
              onClick={() => {
                chosenTool.value = tool.name;
                sidebarOpen.value = false;
              }}
            >
              <span class="tool-title">{title(tool)}</span>
              <span class="tool-marks">
                {template(tool) && <Icon name="widget" />}
                {needsApproval(tool) && <span class="mark">asks</span>}
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
