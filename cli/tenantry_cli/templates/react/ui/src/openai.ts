// window.openai, typed: what ChatGPT gives a widget, and a hook that follows one of its values.

import { useCallback, useSyncExternalStore } from "react";

export type DisplayMode = "inline" | "pip" | "fullscreen";
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The values that change; each change comes as `openai:set_globals` with the changed keys. */
export interface OpenAiGlobals<Input = unknown, Output = unknown, State = Json> {
  toolInput: Input | null;
  toolOutput: Output | null;
  toolResponseMetadata: { status?: string; mcp_tool_result?: { _meta?: Record<string, unknown> } } | null;
  widgetState: State | null;
  theme: "light" | "dark";
  locale: string;
  displayMode: DisplayMode;
  maxHeight: number | null;
  safeArea: { insets: { top: number; bottom: number; left: number; right: number } };
  view: { mode: "inline" | "modal"; params?: Json };
  userAgent: {
    device: { type: "mobile" | "tablet" | "desktop" | "unknown" };
    capabilities: { hover: boolean; touch: boolean };
  };
}

export interface CallToolResult {
  content: { type: string; text?: string }[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

/** What a widget can ask ChatGPT to do. Members that some hosts lack are optional: look before you call. */
export interface OpenAiApi {
  setWidgetState(state: Json): Promise<void> | void;
  callTool(name: string, args: Record<string, unknown>): Promise<CallToolResult>;
  sendFollowUpMessage(message: { prompt: string; scrollToBottom?: boolean }): Promise<void>;
  requestDisplayMode(wanted: { mode: DisplayMode }): Promise<{ mode: DisplayMode }>;
  requestModal?(modal: { params?: Json; template?: string }): Promise<unknown>;
  requestClose?(): void;
  notifyIntrinsicHeight?(height: number): void;
  openExternal(target: { href: string; redirectUrl?: false }): void;
  setOpenInAppUrl?(target: { href: string }): void;
  uploadFile?(file: File, options?: { library?: boolean }): Promise<{ fileId: string }>;
  selectFiles?(): Promise<{ fileId: string; fileName: string; mimeType: string }[]>;
  getFileDownloadUrl?(file: { fileId: string }): Promise<{ downloadUrl: string }>;
}

declare global {
  interface Window {
    openai?: OpenAiGlobals & OpenAiApi;
  }
  interface WindowEventMap {
    "openai:set_globals": CustomEvent<{ globals: Partial<OpenAiGlobals> }>;
  }
}

/** Follows one value of window.openai: `const output = useOpenAiGlobal<"toolOutput", Mine>("toolOutput")`. */
export function useOpenAiGlobal<K extends keyof OpenAiGlobals, T = OpenAiGlobals[K]>(key: K): T | null {
  const subscribe = useCallback(
    (changed: () => void) => {
      const heard = (event: WindowEventMap["openai:set_globals"]) => {
        if (key in event.detail.globals) changed();
      };
      window.addEventListener("openai:set_globals", heard, { passive: true });
      return () => window.removeEventListener("openai:set_globals", heard);
    },
    [key],
  );
  const read = () => (window.openai?.[key] ?? null) as T | null;
  return useSyncExternalStore(subscribe, read, () => null);
}
