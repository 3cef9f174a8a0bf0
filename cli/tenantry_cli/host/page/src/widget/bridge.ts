import { AppBridge } from "@modelcontextprotocol/ext-apps/app-bridge";
import { isDict, message, type Dict } from "../json";
import { sample } from "../mcp/questions";
import { visibility } from "../mcp/tools";
import { change, say, scrollRequests } from "../state/conversation";
import { note, print } from "../state/log";
import { capabilities, hostContext } from "./context";
import { callFromWidget, download, openLink } from "./acts";
import type { Instance } from "./instance";

const HOST = { name: "chatgpt", version: "1.0.0" };

/** MCP Apps 2026-01-26 for one widget: every request and notification of the specification has its handler here. */
export function makeBridge(instance: Instance): AppBridge {
  const { connection, turnId, template } = instance;
  const shown = instance.shown();
  const bridge = new AppBridge(null, HOST, capabilities(template.ui), { hostContext: shown && hostContext(shown) });
  bridge.onerror = (error) => note({ direction: "refused", name: "malformed message", detail: { error: message(error) }, turn: turnId });
  bridge.oncalltool = async ({ name, arguments: args }) => (await callFromWidget(instance, name, args ?? {})) as never;
  bridge.setRequestHandler("tools/list", async () => ({ tools: connection.tools.value.filter((t) => visibility(t).app) as never }));
  bridge.onlistresources = async (params) => (await connection.request("resources/list", { ...params })) as never;
  bridge.onlistresourcetemplates = async (params) => (await connection.request("resources/templates/list", { ...params })) as never;
  bridge.onreadresource = async (params) => (await connection.request("resources/read", { ...params })) as never;
  bridge.onlistprompts = async (params) => (await connection.request("prompts/list", { ...params })) as never;
  bridge.onmessage = async ({ content }) => {
    say(words(content), "widget");
    scrollRequests.value += 1;
    return {};
  };
  bridge.onopenlink = async ({ url }) => ((await openLink(instance, url, true)) ? {} : { isError: true });
  bridge.ondownloadfile = async ({ contents }) => ((await download(instance, contents as Dict[])) ? {} : { isError: true });
  bridge.onupdatemodelcontext = async (context) => {
    change(turnId, { modelContext: context as Dict });
    return {};
  };
  bridge.onrequestdisplaymode = async ({ mode }) => ({ mode: instance.setMode(mode) });
  bridge.onsizechange = ({ height }) => {
    if (height !== undefined) instance.setHeight(height);
  };
  bridge.onrequestteardown = () => void instance.close();
  bridge.onloggingmessage = ({ level, data, logger }) =>
    print({ level: level === "error" || level === "warning" ? (level === "error" ? "error" : "warn") : "info", text: [logger, said(data)].filter(Boolean).join(": ") });
  bridge.oncreatesamplingmessage = async (params) => (await sample(params as Dict, "The widget asks the model")) as never;
  return bridge;
}

/** The words of a message's content; what isn't text is named. The specification's older single block counts too. */
export function words(content: unknown): string {
  const blocks = Array.isArray(content) ? content : [content];
  return blocks.map((block) => (isDict(block) && block.type === "text" ? block.text : `[${isDict(block) ? block.type : "?"}]`)).join("\n");
}

function said(data: unknown): string {
  return typeof data === "string" ? data : JSON.stringify(data);
}
