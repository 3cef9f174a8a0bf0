// Proxy frames. One is always made ahead: its page and the process behind it are there when a widget is to be shown.

export const PROXY = location.origin.replace("//", "//proxy.");
const READY = "ui/notifications/sandbox-proxy-ready";

export interface ProxyFrame {
  element: HTMLIFrameElement;
  /** Settles when the proxy listens. */
  ready: Promise<void>;
}

let spare: ProxyFrame | undefined;

function make(allow: string): ProxyFrame {
  const element = document.createElement("iframe");
  element.allow = allow;
  element.src = `${PROXY}/`;
  const ready = new Promise<void>((resolve) => {
    const listen = (event: MessageEvent) => {
      if (event.source !== element.contentWindow || event.origin !== PROXY || event.data?.method !== READY) return;
      removeEventListener("message", listen);
      resolve();
    };
    addEventListener("message", listen);
  });
  return { element, ready };
}

/** Make the next frame ahead, where the browser can move frames without loading them anew. */
export function warm(): void {
  if (spare || !("moveBefore" in Element.prototype)) return;
  spare = make("");
  spare.element.className = "spare";
  spare.element.title = "Spare";
  spare.element.inert = true;
  spare.element.ariaHidden = "true";
  document.body.append(spare.element);
}

/** A proxy frame at the end of `container`; `allow` is its permissions policy, fixed when the frame is loaded. */
export function take(container: HTMLElement, allow: string, title: string): ProxyFrame {
  const frame = spare && allow === "" && container.isConnected ? spare : make(allow);
  frame.element.title = title;
  if (frame === spare) {
    spare = undefined;
    frame.element.className = "";
    frame.element.inert = false;
    frame.element.ariaHidden = null;
    container.moveBefore(frame.element, null);
  } else container.append(frame.element);
  requestIdleCallback(warm, { timeout: 2000 });
  return frame;
}
