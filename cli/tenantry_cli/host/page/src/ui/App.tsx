import { restart } from "../state/conversation";
import { knobs, turn } from "../state/knobs";
import { connection, loaded } from "../state/plugins";
import { Composer } from "./Composer";
import { Conversation } from "./Conversation";
import { IconButton } from "./icons";
import { Inspector, inspectorOpen } from "./Inspector";
import { Picker } from "./Picker";
import { Problems } from "./Problems";
import { inspectorWidth } from "./Sash";
import { Sidebar, sidebarOpen } from "./Sidebar";
import { Toast } from "./toast";

/** As wide as what takes its place. */
function Connecting() {
  return (
    <>
      <span class="bone" aria-hidden="true" />
      <span class="hidden">Connecting</span>
    </>
  );
}

export function App() {
  const current = connection.value;
  const idle = !current && loaded.value; // nothing is served, or not what the address asks for
  const status = idle ? "failed" : (current?.status.value ?? "connecting");
  return (
    <div class="app" data-inspector={inspectorOpen.value} style={{ "--inspector": `${inspectorWidth()}px` }}>
      <Sidebar />
      {sidebarOpen.value && <div class="backdrop" aria-hidden="true" onClick={() => (sidebarOpen.value = false)} />}
      <main class="main">
        <header class="topbar">
          <span class="only-narrow">
            <IconButton name="menu" label="Tools" pressed={sidebarOpen.value} onClick={() => (sidebarOpen.value = !sidebarOpen.value)} />
          </span>
          <h1>{current?.plugin.title ?? current?.plugin.plugin ?? "Tenantry"}</h1>
          <span class="status" data-status={status} role="status">
            {idle ? "No plugin" : current?.plugin.published === false ? "Not published" : status === "ready" ? `MCP ${current?.revision.value}` : status === "connecting" ? <Connecting /> : status === "sign-in" ? "Sign-in needed" : "Not connected"}
          </span>
          <span class="grow" />
          <IconButton name={knobs.value.theme === "dark" ? "sun" : "moon"} label={knobs.value.theme === "dark" ? "Light theme" : "Dark theme"} onClick={() => turn("theme", knobs.value.theme === "dark" ? "light" : "dark")} />
          <IconButton name="trash" label="New conversation" onClick={restart} />
        </header>
        <Problems />
        <Conversation />
        <Composer />
      </main>
      <Inspector />
      <Picker />
      <Toast />
    </div>
  );
}
