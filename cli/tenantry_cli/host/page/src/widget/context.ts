import type { McpUiHostCapabilities, McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import type { DisplayMode, Globals } from "../channel";
import type { Dict } from "../json";
import { device, knobs } from "../state/knobs";
import type { CallTurn } from "../state/conversation";
import { styles } from "./styles";

const MODALITIES = { text: {}, image: {}, audio: {}, resource: {}, resourceLink: {}, structuredContent: {} };

/** What the host can do; each of these has its handler in bridge.ts. */
export function capabilities(sandbox: { csp: Dict | null; permissions: Dict | null }): McpUiHostCapabilities {
  return {
    openLinks: {},
    downloadFile: {},
    serverTools: { listChanged: true },
    serverResources: { listChanged: true },
    logging: {},
    sandbox: { csp: sandbox.csp ?? {}, permissions: sandbox.permissions ?? {} },
    updateModelContext: MODALITIES,
    message: MODALITIES,
    sampling: {},
  };
}

export interface Shown {
  turn: CallTurn;
  mode: DisplayMode;
  view: Globals["view"];
  /** CSS pixels of the frame. */
  width: number;
  viewportHeight: number;
}

/** Inline a widget grows up to the knob's height; fullscreen it has the window; pip is a small fixed card. */
export function maxHeight({ mode, viewportHeight }: Shown): number {
  if (mode === "fullscreen") return viewportHeight;
  return mode === "pip" ? Math.min(480, knobs.value.maxHeight) : knobs.value.maxHeight;
}

/** MCP Apps' host context, with what ChatGPT adds. */
export function hostContext(shown: Shown): McpUiHostContext {
  const k = knobs.value;
  const d = device.value;
  const height = maxHeight(shown);
  return {
    toolInfo: { id: shown.turn.id, tool: shown.turn.tool as never },
    theme: k.theme,
    styles: { variables: styles(k.theme) },
    displayMode: shown.mode,
    availableDisplayModes: availableModes(),
    containerDimensions:
      shown.mode === "fullscreen" ? { width: shown.width, height } : { width: shown.width, maxHeight: height },
    locale: k.locale,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    userAgent: k.userAgent || "chatgpt",
    platform: d.platform,
    deviceCapabilities: { touch: d.touch, hover: d.hover },
    safeAreaInsets: d.insets,
  };
}

export function availableModes(): DisplayMode[] {
  return device.value.type === "mobile" ? ["inline", "fullscreen"] : ["inline", "fullscreen", "pip"];
}

/** window.openai's values. `toolInput` stays null until the person has approved (O01). */
export function globals(shown: Shown): Globals {
  const { turn } = shown;
  const k = knobs.value;
  const d = device.value;
  const waiting = turn.phase === "approval" || turn.phase === "denied";
  return {
    theme: k.theme,
    locale: k.locale,
    displayMode: shown.mode,
    maxHeight: maxHeight(shown),
    safeArea: { insets: d.insets },
    view: shown.view,
    userAgent: { device: { type: d.type }, capabilities: { hover: d.hover, touch: d.touch } },
    toolInput: waiting ? null : turn.args,
    toolOutput: turn.result?.structuredContent ?? null,
    toolResponseMetadata: turn.result ? metadata(turn.result) : null,
    widgetState: turn.widgetState ?? null,
  };
}

/** ChatGPT's shape of the metadata: the whole MCP result is in `mcp_tool_result`, hidden `_meta` included (O03). */
function metadata(result: Dict): Dict {
  const { _meta: _, ...visible } = result;
  return { status: result.isError ? "error" : "success", call_tool_result: visible, mcp_tool_result: result };
}
