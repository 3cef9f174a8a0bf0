import { newId } from "../json";
import type { CallTurn } from "../state/conversation";
import { knobs } from "../state/knobs";
import { connection } from "../state/plugins";
import { instances } from "../widget/registry";

const MARGIN = 16; // pixels around the widget in its picture, on each side

/** What a picture is made from: nothing is called again. */
export interface Shot {
  plugin: string;
  turn: CallTurn;
  knobs: typeof knobs.value;
}

const SETTLE = 500; // milliseconds a widget gets to draw what it was given

/** Hold back the page's load event, at which a headless browser takes its picture. Returns what lets go of it. */
export function holdPicture(): () => void {
  const path = `/_host/screenshots/hold/${newId("hold")}`;
  const image = new Image();
  image.src = path;
  image.hidden = true;
  document.body.append(image);
  return () => void setTimeout(() => void fetch(path, { method: "POST" }), SETTLE);
}

/** A PNG of the message's widget, taken by a browser on this machine. Raises: an Error that says why there is none. */
export async function picture(turn: CallTurn): Promise<Blob> {
  const instance = instances.value.get(turn.id);
  const plugin = connection.value?.plugin;
  if (!instance || !plugin) throw new Error("There is no widget to take a picture of.");
  const shot: Shot = { plugin: `${plugin.tenant}/${plugin.plugin}`, turn, knobs: knobs.value };
  const stored = await fetch("/_host/screenshots/", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(shot),
  });
  const { id } = await stored.json();
  const size = { width: `${instance.width.value + 2 * MARGIN}`, height: `${Math.max(200, instance.height.value) + 2 * MARGIN}` };
  const made = await fetch(`/_host/screenshots/${id}.png?${new URLSearchParams(size)}`);
  if (!made.ok) throw new Error((await made.json()).message);
  return made.blob();
}
