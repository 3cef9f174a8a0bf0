import type { FromWidget, ToWidget } from "../channel";

/** The widget's end of the channel: posts to the proxy, matches replies to calls. */
export class Port {
  readonly #parent: Window;
  readonly #post: (message: unknown, target: string) => void;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #last = 0;

  constructor(parent: Window) {
    this.#parent = parent;
    this.#post = parent.postMessage.bind(parent);
  }

  post(message: FromWidget): void {
    this.#post(message, "*"); // the proxy takes nothing from anyone else, and it is not secret from the proxy
  }

  call(member: string, args: unknown[]): Promise<unknown> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.post({ tenantry: "call", id, member, args });
      this.#waiting.set(id, { resolve, reject });
    });
  }

  listen(handle: (message: ToWidget) => void): void {
    window.addEventListener("message", (event) => {
      if (event.source !== this.#parent) return;
      const message = event.data as ToWidget | null;
      if (typeof message !== "object" || message === null || typeof message.tenantry !== "string") return;
      event.stopImmediatePropagation(); // the widget's own client would say of each that it is not MCP
      if (message.tenantry !== "reply") return handle(message);
      const call = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error !== undefined) call?.reject(new Error(message.error));
      else call?.resolve(message.value);
    });
  }
}
