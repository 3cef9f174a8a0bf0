import { show } from "./show.js";

const got = {};
async function draw() {
  const hidden = window.openai.toolResponseMetadata?.mcp_tool_result?._meta;
  show("colour", window.openai.toolOutput?.colour ?? JSON.stringify(window.openai.toolOutput));
  if (!hidden?.notes || got.text) return;
  const picture = document.getElementById("picture");
  picture.onload = () => { got.image = picture.naturalWidth; show("got", JSON.stringify(got)); };
  picture.onerror = () => { got.image = "refused"; show("got", JSON.stringify(got)); };
  picture.src = hidden.picture.download_url;
  const response = await fetch(hidden.notes.download_url).catch((error) => ({ text: () => String(error) }));
  got.text = await response.text();
  show("got", JSON.stringify(got));
}
addEventListener("openai:set_globals", draw);
draw();
