// The sandbox proxy: the only window a widget can talk to. It frames the widget's document, relays messages both ways
// between exactly two windows, and refuses what a hostile widget would send: floods, giants, messages from frames
// nested in the widget, sandbox messages that are the host's to send.
import { isOurs, type FromProxy } from "../channel";
import { Gate } from "./gate";

interface ResourceReady {
  url: string;
  name: string;
  sandbox: string;
  allow: string;
}

const HOST = location.origin.replace("//proxy.", "//");

let frame: HTMLIFrameElement | undefined;
let origin = "";
let alive = false;
let loads = 0;

const tell = (message: FromProxy) => window.parent.postMessage(message, HOST);
const gate = new Gate((reason, count, sample) => tell({ tenantry: "refused", reason, count, sample }));

window.addEventListener("message", (event) => {
  if (event.source === window.parent && event.origin === HOST) fromHost(event.data);
  else if (frame && event.source === frame.contentWindow && event.origin === origin) fromWidget(event.data);
  else if (event.source !== window) gate.refuse("a message from a window that is neither the page nor the widget", event.data);
});

function fromHost(data: unknown): void {
  const message = data as { method?: string; params?: ResourceReady };
  if (message.method === "ui/notifications/sandbox-resource-ready" && message.params) return load(message.params);
  frame?.contentWindow?.postMessage(data, origin);
}

function fromWidget(data: unknown): void {
  const method = (data as { method?: unknown } | null)?.method;
  if (typeof method === "string" && method.startsWith("ui/notifications/sandbox-"))
    return void gate.refuse("a sandbox message, which only the host may send", data);
  if (isOurs(data) && ["refused", "loaded"].includes(data.tenantry))
    return void gate.refuse("a message that only the proxy may send", data);
  if (!gate.admits(data)) return;
  if (isOurs(data) && data.tenantry === "ready") alive = true;
  window.parent.postMessage(data, HOST);
}

function load({ url, name, sandbox, allow }: ResourceReady): void {
  frame?.remove();
  const next = document.createElement("iframe");
  next.setAttribute("sandbox", sandbox);
  next.allow = allow;
  next.name = name;
  next.title = "Widget";
  origin = new URL(url).origin;
  [alive, loads] = [false, 0];
  next.addEventListener("load", () => {
    loads += 1;
    // a document of ours says "ready" before its load event; one that doesn't is not ours: the widget went away
    tell({ tenantry: "loaded", alive });
    alive = false;
  });
  next.src = url;
  document.body.append(next);
  frame = next;
}

window.parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, HOST);
