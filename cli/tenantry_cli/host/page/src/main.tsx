import { effect } from "@preact/signals";
import { render } from "preact";
import { readLink } from "./call/link";
import { holdPicture, type Shot } from "./call/picture";
import { visibility } from "./mcp/tools";
import { selected, turns } from "./state/conversation";
import { knobs } from "./state/knobs";
import { connection, follow, load, reconnectOnKnobs } from "./state/plugins";
import { note } from "./state/log";
import { PROXY } from "./widget/frames";
import { instances } from "./widget/registry";
import { App } from "./ui/App";
import { Bare } from "./ui/Bare";
import { start } from "./ui/Composer";
import { toast } from "./ui/toast";
import "./style/base.css";
import "./style/layout.css";
import "./style/conversation.css";
import "./style/form.css";
import "./style/inspector.css";

effect(() => {
  document.documentElement.dataset.theme = knobs.value.theme;
});

// Only proxies talk to this page. A frame nested in a widget can reach it with postMessage: refused, and shown.
addEventListener("message", (event) => {
  if (event.source !== window && event.origin !== PROXY && event.origin !== location.origin)
    note({ direction: "refused", name: "a message from a window that is not a proxy", detail: { origin: event.origin, data: String(event.data).slice(0, 200) } });
});

const link = readLink();
if (link.bare) {
  const letGo = holdPicture();
  let gone = false;
  effect(() => {
    const instance = [...instances.value.values()][0];
    const turn = instance?.turn.value;
    if (gone || !instance?.loaded.value || !turn?.result) return;
    gone = true;
    letGo();
  });
}
render(link.bare ? <Bare /> : <App />, document.getElementById("app")!);

async function begin(): Promise<void> {
  if (link.shot) {
    const shot: Shot = await (await fetch(`/_host/screenshots/${link.shot}`)).json();
    knobs.value = { ...shot.knobs, developer: shot.knobs.developer };
    await load(shot.plugin);
    turns.value = [shot.turn];
    selected.value = shot.turn.id;
    return;
  }
  reconnectOnKnobs();
  follow();
  await load(link.plugin); // which takes the tool off the address: a reload doesn't call again
  if (!link.tool || !connection.value) return;
  const tool = connection.value?.tool(link.tool);
  if (!tool || !visibility(tool).model) return toast(`This plugin has no tool ${link.tool} for the model`);
  if (!link.args) return toast("The link's arguments are not JSON");
  start(tool, link.args);
}

void begin();
