import type { AppBridge } from "@modelcontextprotocol/ext-apps/app-bridge";
import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import type { DisplayMode, FromProxy, FromWidget, Globals, Place, Start, ToWidget } from "../channel";
import { isOurs } from "../channel";
import { message, newId, same, type Dict } from "../json";
import type { Connection, Template } from "../mcp/connection";
import { call, change, type CallTurn } from "../state/conversation";
import { device, knobs } from "../state/knobs";
import { note, print, refuse } from "../state/log";
import { makeBridge } from "./bridge";
import { globals, hostContext, maxHeight, type Shown } from "./context";
import { answerCall } from "./openai";
import { forget, handOver } from "./documents";
import { PROXY, take } from "./frames";
import { Resizes } from "./resizes";
import { Timings } from "./timings";
import { WatchedTransport } from "./transport";

const SANDBOX = "allow-scripts allow-same-origin allow-forms";
const FIRST_HEIGHT = 160; // pixels until the widget has said its own
const BLANK = 24; // pixels: an empty page with its margins is not higher
const TEARDOWN = 800; // milliseconds a widget has to say goodbye
const SILENCE = 1500; // milliseconds after its load in which a widget that works has said something
const FEATURES = { camera: "camera", microphone: "microphone", geolocation: "geolocation", clipboardWrite: "clipboard-write" };

export const viewport = signal({ width: innerWidth, height: innerHeight });
addEventListener("resize", () => {
  viewport.value = { width: innerWidth, height: innerHeight };
});

/** Heights that messages had, so that showing one again doesn't make the page jump. */
const heights = new Map<string, number>();

/** One mounted widget: its frame, the two bridges into it, and what it has asked of the host. */
export class Instance {
  readonly mode = signal<DisplayMode>("inline");
  readonly height;
  readonly place = signal<Place>({ path: "/", back: false, forward: false });
  readonly openIn = signal<string | null>(null);
  readonly problem = signal("");
  readonly ready = signal(false);
  /** Whether it has said that there is something to see. */
  readonly drawn = signal(false);
  readonly loaded = signal(false);
  readonly modal = signal<Instance | null>(null);
  frame: HTMLIFrameElement | undefined;
  readonly width;
  session = newId("widget");
  bridge: AppBridge | undefined;
  #transport: WatchedTransport | undefined;
  #sent: Globals | undefined;
  #start: Start | undefined;
  #triedAgain = false;
  /** What this document did not get, and whether its script has asked the host for anything. */
  readonly #missing = new Set<string>();
  #spoke = false;
  #delivered: { input?: string; result?: Dict; cancelled?: boolean } = {};
  #initialized = signal(0);
  #stops: (() => void)[] = [];
  #resizes = new Resizes(() => note({ direction: "refused", name: "endless resizing", detail: {}, turn: this.turnId }));
  readonly timings: Timings;

  constructor(
    readonly connection: Connection,
    readonly turnId: string,
    public template: Template,
    readonly view: Globals["view"],
    readonly closeModal?: () => void,
  ) {
    this.timings = new Timings(turnId);
    this.timings.mark("template");
    this.height = signal(heights.get(turnId) ?? FIRST_HEIGHT);
    this.width = computed(() => (this.mode.value === "fullscreen" ? viewport.value.width : Math.min(device.value.width, viewport.value.width - 32)));
    const modes = template.ui.displayModes;
    if (modes?.length && !modes.includes("inline") && view.mode === "inline") this.mode.value = this.grant(modes[0]!);
  }

  get label(): string {
    return this.connection.plugin.label;
  }

  readonly turn: ReadonlySignal<CallTurn | undefined> = computed(() => {
    const turn = call(this.turnId);
    if (!turn?.result) return turn;
    const meta = { ...turn.result._meta, "openai/widgetSessionId": this.session };
    return { ...turn, result: { ...turn.result, _meta: meta } };
  });

  /** Put the frame into the page and load the widget. */
  async mount(container: HTMLElement): Promise<void> {
    addEventListener("message", this.#listen);
    this.#stops.push(() => removeEventListener("message", this.#listen));
    const document = this.#handOver();
    const { element, ready } = take(container, this.#allow(true), `Widget of ${this.connection.plugin.title ?? this.label}`);
    this.frame = element;
    const target = element.contentWindow;
    if (!target) return;
    this.#transport = new WatchedTransport(target, this.turnId);
    this.bridge = makeBridge(this);
    this.bridge.addEventListener("initialized", () => {
      this.#delivered = {};
      this.#initialized.value += 1;
    });
    await this.bridge.connect(this.#transport);
    this.#stops.push(effect(() => this.#pushGlobals()), effect(() => this.#pushContext()), effect(() => this.#deliver()));
    const known = this.connection.lists.peek();
    this.#stops.push(
      effect(() => {
        if (this.connection.lists.value === known) return;
        void this.bridge?.sendToolListChanged();
        void this.bridge?.sendResourceListChanged();
      }),
    );
    this.#stops.push(effect(() => this.post({ tenantry: "library", available: knobs.value.library })));
    const id = await document;
    await ready;
    this.timings.mark("frame");
    if (element.isConnected) this.#load(id);
  }

  /** Show another version of the template in the same frame; widgetState, height and display mode stay. */
  async reload(template: Template): Promise<void> {
    this.template = template;
    this.session = newId("widget");
    this.problem.value = "";
    this.timings.restart();
    const id = await this.#handOver();
    this.#transport?.reset();
    this.ready.value = false;
    this.#load(id);
  }

  /** Say goodbye (ui/resource-teardown), then take the frame out. Whatever it sends later reaches nobody. */
  async unmount(): Promise<void> {
    this.modal.value?.unmount();
    if (this.#initialized.peek() && this.frame?.isConnected)
      await this.bridge?.teardownResource({}, { timeout: TEARDOWN }).catch(() => undefined);
    for (const stop of this.#stops.splice(0)) stop();
    await this.bridge?.close().catch(() => undefined);
    this.frame?.remove();
  }

  async close(): Promise<void> {
    if (this.closeModal) return this.closeModal();
    await this.unmount();
    change(this.turnId, { closed: true });
  }

  post(message: ToWidget): void {
    if (this.ready.peek()) this.frame?.contentWindow?.postMessage(message, PROXY);
  }

  shown(): Shown | undefined {
    const turn = this.turn.value;
    return turn && { turn, mode: this.mode.value, view: this.view, width: this.width.value, viewportHeight: viewport.value.height };
  }

  setHeight(pixels: number): void {
    if (!Number.isFinite(pixels) || pixels < 0 || !this.#resizes.admits()) return;
    if (pixels > BLANK) this.drawn.value = true;
    const shown = this.shown();
    this.height.value = Math.min(Math.round(pixels), shown ? maxHeight({ ...shown, mode: this.mode.value === "pip" ? "pip" : "inline" }) : 800);
    heights.set(this.turnId, this.height.value);
  }

  /** The mode that is granted for `wanted`: what resource and widget declare, and what the device has (O12). */
  grant(wanted: string): DisplayMode {
    const mode = wanted === "pip" && device.value.type === "mobile" ? "fullscreen" : wanted;
    const declared = [...(this.template.ui.displayModes ?? []), ...(this.bridge?.getAppCapabilities()?.availableDisplayModes ?? [])];
    const allowed = declared.length === 0 || declared.includes(wanted) || declared.includes(mode);
    return allowed && ["inline", "pip", "fullscreen"].includes(mode) ? (mode as DisplayMode) : this.mode.value;
  }

  setMode(wanted: string): DisplayMode {
    this.mode.value = this.grant(wanted);
    return this.mode.value;
  }

  async #handOver(): Promise<string> {
    const id = await handOver(this.template, this.label, knobs.value.developer);
    this.timings.mark("document");
    return id;
  }

  #load(document: string): void {
    const shown = this.shown();
    if (!shown) return;
    this.#start = { document, globals: globals(shown), library: knobs.value.library };
    const origin = location.origin.replace("//", `//${this.label}.widgets.`);
    const params = { html: "", url: `${origin}/?_doc=${document}`, name: JSON.stringify(this.#start), sandbox: SANDBOX, allow: this.#allow(false) };
    void this.bridge?.sendSandboxResourceReady(params);
  }

  #allow(nested: boolean): string {
    const origin = location.origin.replace("//", `//${this.label}.widgets.`);
    const asked = this.template.ui.permissions ?? {};
    return Object.entries(FEATURES)
      .filter(([key]) => asked[key])
      .map(([, feature]) => (nested ? `${feature} 'src' ${origin}` : feature))
      .join("; ");
  }

  #listen = (event: MessageEvent): void => {
    if (!this.frame || event.source !== this.frame.contentWindow || event.origin !== PROXY || !isOurs(event.data)) return;
    this.#receive(event.data as FromWidget | FromProxy).catch((error) => {
      note({ direction: "refused", name: "malformed message", detail: { error: message(error), data: event.data }, turn: this.turnId });
    });
  };

  async #receive(data: FromWidget | FromProxy): Promise<void> {
    switch (data.tenantry) {
      case "ready":
        this.#missing.clear();
        this.#spoke = false;
        this.timings.mark("script");
        this.#transport?.reset();
        this.#sent = this.#start?.globals;
        this.ready.value = true;
        this.problem.value = "";
        this.place.value = data.place;
        this.#pushGlobals();
        this.post({ tenantry: "library", available: knobs.value.library });
        return;
      case "loaded":
        if (!data.alive && !this.ready.value && !this.#triedAgain) {
          this.#triedAgain = true; // the server may not know the document any more
          forget(this.template);
          return this.reload(this.template);
        }
        if (!data.alive) this.problem.value = "The widget navigated itself away. That is refused: widgets stay in their frame.";
        this.loaded.value = data.alive;
        if (data.alive) {
          note({ direction: "from widget", name: "loaded", detail: {}, turn: this.turnId });
          this.#listenFor(this.session);
        }
        return;
      case "painted":
        if (Number.isFinite(data.at)) this.timings.mark("paint", data.at - performance.timeOrigin);
        return;
      case "refused":
        note({ direction: "refused", name: data.reason, detail: { count: data.count, sample: data.sample }, turn: this.turnId });
        return;
      case "call":
        this.#spoke = true;
        return answerCall(this, data);
      case "state":
        this.#spoke = true;
        note({ direction: "from widget", name: "setWidgetState", detail: data.state, turn: this.turnId });
        if (this.#sent) this.#sent = { ...this.#sent, widgetState: data.state };
        change(this.turnId, { widgetState: data.state });
        return;
      case "place":
        if (typeof data.place?.path === "string") this.place.value = data.place;
        return;
      case "height":
        if (data.measured && (this.#initialized.value || this.#told)) return;
        if (!data.measured) this.#told = true;
        this.setHeight(data.height);
        return;
      case "console":
        for (const line of data.lines) {
          print({ level: line.level, text: String(line.text) });
          if (line.missing) this.#missing.add(String(line.missing));
        }
        if (data.dropped) note({ direction: "refused", name: "console flood", detail: { lines: data.dropped }, turn: this.turnId });
        return;
      case "violation":
        refuse(data.violation);
        return;
      default:
        note({ direction: "refused", name: "unknown message", detail: data, turn: this.turnId });
    }
  }

  #told = false;

  /** A widget that lacks something and stays silent is dead, and its page is the only one who knows why. */
  #listenFor(session: string): void {
    setTimeout(() => {
      if (this.session !== session || !this.#missing.size || this.#spoke || this.#initialized.peek() || !this.frame?.isConnected) return;
      print({ level: "error", text: `The widget loaded, but never spoke to the host. What did not load:\n${[...this.#missing].join("\n")}` });
    }, SILENCE);
  }

  #pushGlobals(): void {
    const shown = this.shown();
    if (!shown || !this.ready.value) return;
    const now = globals(shown);
    const changed = Object.fromEntries(
      Object.entries(now).filter(([key, value]) => !same(value, this.#sent?.[key as keyof Globals])),
    ) as Partial<Globals>;
    this.#sent = now;
    if (Object.keys(changed).length === 0) return;
    note({ direction: "to widget", name: `set_globals ${Object.keys(changed).join(", ")}`, detail: changed, turn: this.turnId });
    this.post({ tenantry: "globals", globals: changed });
  }

  #pushContext(): void {
    const shown = this.shown();
    if (shown) this.bridge?.setHostContext(hostContext(shown));
  }

  /** MCP Apps' order: input before result, cancelled instead of a result, each once a document. */
  #deliver(): void {
    const turn = this.turn.value;
    if (!this.#initialized.value || !turn || !this.bridge || turn.phase === "approval") return;
    const sent = this.#delivered;
    if (turn.phase === "denied" || turn.phase === "failed") {
      if (sent.cancelled) return;
      sent.cancelled = true;
      void this.bridge.sendToolCancelled({ reason: turn.phase === "denied" ? "The user denied the call." : (turn.error ?? "The call failed.") });
      return;
    }
    const input = JSON.stringify(turn.args);
    if (sent.input !== input) {
      sent.input = input;
      if (knobs.peek().streaming) this.#stream(turn.args);
      void this.bridge.sendToolInput({ arguments: turn.args });
    }
    if (turn.result && sent.result !== turn.result && !same(sent.result, turn.result)) {
      sent.result = turn.result;
      this.timings.mark("result");
      void this.bridge.sendToolResult(turn.result as never);
    }
  }

  #stream(args: Dict): void {
    const names = Object.keys(args);
    for (let count = 1; count < names.length; count += 1)
      void this.bridge?.sendToolInputPartial({ arguments: Object.fromEntries(names.slice(0, count).map((name) => [name, args[name]])) });
  }
}
