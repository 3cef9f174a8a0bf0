import type { Violation } from "../channel";

export interface Advice {
  /** Harmless, or what to change. */
  text: string;
  /** The line to add, for MCP's own metadata and for the kit. */
  meta?: string;
  kit?: string;
}

const LISTS: Record<string, [string, string]> = {
  "connect-src": ["connectDomains", "connect"],
  "img-src": ["resourceDomains", "resource"],
  "media-src": ["resourceDomains", "resource"],
  "font-src": ["resourceDomains", "resource"],
  "script-src": ["resourceDomains", "resource"],
  "script-src-elem": ["resourceDomains", "resource"],
  "style-src": ["resourceDomains", "resource"],
  "style-src-elem": ["resourceDomains", "resource"],
  "worker-src": ["resourceDomains", "resource"],
  "frame-src": ["frameDomains", "frame"],
  "child-src": ["frameDomains", "frame"],
};

/** What an author has to do about a request that the widget's policy refused. */
export function advise({ directive, blocked }: Violation): Advice {
  if (blocked === "eval")
    return { text: "Harmless where a library only probes for it (the ext-apps SDK does, once). Code that needs eval can't run in ChatGPT." };
  const list = LISTS[directive];
  if (directive === "base-uri") return { text: "A <base> element is refused. Use absolute URLs." };
  if (!list || !URL.canParse(blocked)) return { text: `Refused by ${directive}; no declaration allows it.` };
  const url = new URL(blocked);
  const origin = url.protocol === "blob:" || url.protocol === "data:" ? url.protocol : url.origin;
  if (url.protocol === "http:" && url.hostname !== "localhost") return { text: "Only https is allowed in ChatGPT: use an https address.", ...line(list, origin.replace("http:", "https:")) };
  return { text: `Declare ${origin} to allow it.`, ...line(list, origin) };
}

function line([meta, kit]: [string, string], origin: string): { meta: string; kit: string } {
  const value = kit === "frame" ? `frame={"${origin}": "why it is needed"}` : `${kit}=["${origin}"]`;
  return { meta: `_meta.ui.csp.${meta}: ["${origin}"]`, kit: `csp=CSP(${value})` };
}
