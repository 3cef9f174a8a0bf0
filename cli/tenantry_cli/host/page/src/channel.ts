// The private channel between the script inside a widget and the page: what window.openai needs beyond MCP Apps.
// Its messages are not JSON-RPC, so an MCP Apps client in the same widget ignores them, and AppBridge does too.

export const CHANNEL = "tenantry";

export interface Globals {
  theme: "light" | "dark";
  locale: string;
  displayMode: DisplayMode;
  maxHeight: number;
  safeArea: { insets: Insets };
  view: { mode: "inline" | "modal"; params: unknown };
  userAgent: { device: { type: "desktop" | "tablet" | "mobile" }; capabilities: { hover: boolean; touch: boolean } };
  toolInput: Record<string, unknown> | null;
  toolOutput: unknown;
  toolResponseMetadata: Record<string, unknown> | null;
  widgetState: unknown;
}

export type DisplayMode = "inline" | "pip" | "fullscreen";
export interface Insets {
  top: number;
  right: number;
  bottom: number;
  left: number;
}

/** What the frame's name tells the script: its document, the first globals, and whether there is a file library. */
export interface Start {
  document: string;
  globals: Globals;
  library: boolean;
}

export interface Place {
  path: string;
  back: boolean;
  forward: boolean;
}

export interface ConsoleLine {
  level: "log" | "info" | "warn" | "error" | "debug";
  text: string;
  /** The address of something that did not load. */
  missing?: string;
}

export interface Violation {
  directive: string;
  blocked: string;
  source: string;
  line: number;
  sample: string;
}

export type FromWidget =
  | { tenantry: "ready"; place: Place }
  | { tenantry: "call"; id: number; member: string; args: unknown[] }
  | { tenantry: "state"; state: unknown }
  | { tenantry: "place"; place: Place }
  | { tenantry: "height"; height: number; measured: boolean }
  | { tenantry: "painted"; at: number }
  | { tenantry: "console"; lines: ConsoleLine[]; dropped: number }
  | { tenantry: "violation"; violation: Violation };

export type FromProxy =
  | { tenantry: "refused"; reason: string; count: number; sample: string }
  | { tenantry: "loaded"; alive: boolean };

export type ToWidget =
  | { tenantry: "reply"; id: number; value?: unknown; error?: string }
  | { tenantry: "globals"; globals: Partial<Globals> }
  | { tenantry: "library"; available: boolean }
  | { tenantry: "go"; to: "back" | "forward" };

export function isOurs(data: unknown): data is { tenantry: string } {
  return typeof data === "object" && data !== null && typeof (data as { tenantry?: unknown }).tenantry === "string";
}
