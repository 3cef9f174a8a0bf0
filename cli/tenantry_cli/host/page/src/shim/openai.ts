// Runs first in every widget: defines window.openai (23 members and the event openai:set_globals), mirrors history,
// and reports console lines, refused requests and the content's height. Built as one classic script without imports
// at run time. Everything it needs from the page's globals it takes now, before the widget's own code can change it.
import type { Globals, Start, ToWidget } from "../channel";
import { watchConsole } from "./console";
import { watchHeight } from "./height";
import { watchHistory } from "./history";
import { watchPaint } from "./paint";
import { Port } from "./port";

const start = read(window.name);
document.currentScript?.remove();

/** What the frame's name says; a widget that has given itself another name begins with nothing. */
function read(name: string): Partial<Start> {
  try {
    return JSON.parse(name) as Start;
  } catch {
    return {};
  }
}

const port = new Port(window.parent);
const history = watchHistory((place) => port.post({ tenantry: "place", place }));
const height = watchHeight((value, measured) => port.post({ tenantry: "height", height: value, measured }));
watchPaint((at) => port.post({ tenantry: "painted", at }));
watchConsole((lines, dropped) => port.post({ tenantry: "console", lines, dropped }));
document.addEventListener("securitypolicyviolation", (event) => {
  const { effectiveDirective, blockedURI, sourceFile, lineNumber, sample } = event;
  port.post({
    tenantry: "violation",
    violation: { directive: effectiveDirective, blocked: blockedURI, source: sourceFile, line: lineNumber, sample },
  });
});

const ask =
  (member: string) =>
  (...args: unknown[]) =>
    port.call(member, args);

const selectFiles = () => port.call("selectFiles", []);

const openai: Record<string, unknown> = {
  ...start.globals,
  setWidgetState(state: unknown) {
    port.post({ tenantry: "state", state }); // first: what can't be cloned throws here and changes nothing
    apply({ widgetState: state });
    return Promise.resolve();
  },
  callTool: ask("callTool"),
  sendFollowUpMessage: ask("sendFollowUpMessage"),
  uploadFile: ask("uploadFile"),
  getFileDownloadUrl: ask("getFileDownloadUrl"),
  requestDisplayMode: ask("requestDisplayMode"),
  requestModal: ask("requestModal"),
  requestClose: ask("requestClose"),
  openExternal: ask("openExternal"),
  setOpenInAppUrl: ask("setOpenInAppUrl"),
  notifyIntrinsicHeight(value: unknown) {
    const pixels = typeof value === "number" ? value : (value as { height?: number } | null)?.height;
    if (typeof pixels !== "number" || !Number.isFinite(pixels)) throw new TypeError("notifyIntrinsicHeight takes pixels");
    height.notify(pixels);
    return Promise.resolve();
  },
};
if (start.library) openai.selectFiles = selectFiles;

function apply(globals: Partial<Globals>): void {
  Object.assign(openai, globals);
  window.dispatchEvent(new CustomEvent("openai:set_globals", { detail: { globals } }));
}

port.listen((message: ToWidget) => {
  if (message.tenantry === "globals") apply(message.globals);
  else if (message.tenantry === "go") history.go(message.to);
  else if (message.tenantry === "library") {
    if (message.available) openai.selectFiles = selectFiles;
    else delete openai.selectFiles;
  }
});

Object.defineProperty(window, "openai", { value: openai, enumerable: true, configurable: true, writable: false });
port.post({ tenantry: "ready", place: history.place() });
