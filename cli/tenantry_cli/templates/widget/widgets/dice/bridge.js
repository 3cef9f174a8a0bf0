// The MCP Apps bridge (JSON-RPC over postMessage), and window.openai where that is all there is.

const waiting = new Map();
let last = 0;

function send(message) {
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function request(method, params) {
  const id = ++last;
  send({ id, method, params });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

/** Connects to the host. `show({ data, hidden })` is called with every result: structuredContent and _meta. */
export async function connect({ name, show, theme = () => {}, modes = ["inline"] }) {
  let shown = "";
  const once = (data, hidden) => {
    const key = JSON.stringify([data, hidden]);
    if (data && key !== shown) {
      shown = key;
      show({ data, hidden: hidden ?? {} });
    }
  };

  window.addEventListener("message", ({ source, data: message }) => {
    if (source !== window.parent || message?.jsonrpc !== "2.0") return;
    if (message.method === undefined) {
      const asked = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) asked?.reject(new Error(message.error.message));
      else asked?.resolve(message.result);
    } else if (message.method === "ui/notifications/tool-result") {
      once(message.params.structuredContent, message.params._meta);
    } else if (message.method === "ui/notifications/host-context-changed") {
      if (message.params.theme) theme(message.params.theme);
    } else if (message.id !== undefined) {
      const known = message.method === "ping" || message.method === "ui/resource-teardown";
      send(known ? { id: message.id, result: {} } : { id: message.id, error: { code: -32601, message: "Unknown" } });
    }
  });

  const openai = () => {
    const kept = window.openai;
    if (!kept) return;
    if (kept.theme) theme(kept.theme);
    once(kept.toolOutput, kept.toolResponseMetadata?.mcp_tool_result?._meta ?? kept.toolResponseMetadata);
  };
  window.addEventListener("openai:set_globals", openai);
  openai();

  const started = request("ui/initialize", {
    protocolVersion: "2026-01-26",
    appInfo: { name, version: "1.0.0" },
    appCapabilities: { availableDisplayModes: modes },
  }).then(({ hostContext }) => {
    if (hostContext?.theme) theme(hostContext.theme);
    send({ method: "ui/notifications/initialized", params: {} });
    new ResizeObserver(resized).observe(document.body);
  });

  function resized() {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    send({ method: "ui/notifications/size-changed", params: { width: window.innerWidth, height } });
    window.openai?.notifyIntrinsicHeight?.(height);
  }

  return {
    /** Calls a tool of this plugin and shows its result. */
    async call(tool, args) {
      await started;
      const result = await request("tools/call", { name: tool, arguments: args });
      if (!result.isError) once(result.structuredContent, result._meta);
      return result;
    },
    /** Says something in the user's name. */
    async say(text) {
      await started;
      return request("ui/message", { role: "user", content: [{ type: "text", text }] });
    },
  };
}
