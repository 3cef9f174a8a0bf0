import { PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isOurs } from "../channel";
import { isDict, type Dict } from "../json";
import { answered, note } from "../state/log";

const CONTEXT = "ui/notifications/host-context-changed";

/**
 * The bridge's transport, watched. It keeps the rule that nothing but answers goes to a widget before it has said
 * `initialized`; context that changes in between is sent right after. Everything is logged, answers with their time.
 */
export class WatchedTransport extends PostMessageTransport {
  #initialized = false;
  #answeredInitialize = false;
  #held: Dict = {};
  readonly #pending = new Map<unknown, { entry: number; at: number }>();

  constructor(
    target: Window,
    private readonly turn: string,
  ) {
    super(target, target);
    // It says of every message that is not for it what it is not, at length: of other widgets', and of the page's own
    const own = this as unknown as { messageListener: (event: MessageEvent) => void };
    const listen = own.messageListener;
    own.messageListener = (event) => {
      if (event.source === target && !isOurs(event.data)) listen(event);
    };
    let handler: ((message: JSONRPCMessage) => void) | undefined;
    Object.defineProperty(this, "onmessage", {
      get: () => handler && ((incoming: JSONRPCMessage) => this.#received(incoming, handler!)),
      set: (value) => {
        handler = value;
      },
    });
  }

  /** A new document is in the frame: it has said nothing yet. */
  reset(): void {
    [this.#initialized, this.#answeredInitialize, this.#held] = [false, false, {}];
    this.#pending.clear();
  }

  override async send(outgoing: JSONRPCMessage): Promise<void> {
    const method = "method" in outgoing ? outgoing.method : undefined;
    if (method === undefined && !this.#answeredInitialize) this.#answeredInitialize = true;
    if (method && !method.startsWith("ui/notifications/sandbox-") && !this.#initialized) {
      if (method === CONTEXT && this.#answeredInitialize) Object.assign(this.#held, (outgoing as Dict).params);
      return;
    }
    this.#note("to widget", outgoing);
    await super.send(outgoing);
  }

  #received(incoming: JSONRPCMessage, handle: (message: JSONRPCMessage) => void): void {
    const method = "method" in incoming ? incoming.method : undefined;
    if (!method?.startsWith("ui/notifications/sandbox-")) this.#note("from widget", incoming);
    if (method === "ui/notifications/initialized") {
      this.#initialized = true;
      if (Object.keys(this.#held).length) void this.send({ jsonrpc: "2.0", method: CONTEXT, params: this.#held });
      this.#held = {};
    }
    handle(incoming);
  }

  #note(direction: "to widget" | "from widget", message: JSONRPCMessage): void {
    const data = message as Dict;
    if (data.method === undefined) {
      const call = this.#pending.get(data.id);
      this.#pending.delete(data.id);
      if (call) answered(call.entry, performance.now() - call.at, isDict(data.error));
      note({ direction, name: data.error ? `error ${data.error.code}` : "result", detail: data, failed: !!data.error, turn: this.turn });
      return;
    }
    if (data.method.startsWith("ui/notifications/sandbox-")) return;
    const entry = note({ direction, name: data.method, detail: data, turn: this.turn });
    if (data.id !== undefined) this.#pending.set(data.id, { entry, at: performance.now() });
  }
}
