import type { ConsoleLine } from "../channel";

const LEVELS = ["log", "info", "warn", "error", "debug"] as const;
const BATCH = 100; // lines sent at once; a widget that prints more is told how many were left out
const LENGTH = 4000; // characters of one line
const WAIT = 60; // milliseconds

/** Hand on what the widget prints, the errors it doesn't catch, and what did not load, in batches. */
export function watchConsole(send: (lines: ConsoleLine[], dropped: number) => void): void {
  let lines: ConsoleLine[] = [];
  let dropped = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const later = setTimeout;

  function add(level: ConsoleLine["level"], text: string, missing?: string): void {
    if (lines.length < BATCH) lines.push({ level, text: text.slice(0, LENGTH), ...(missing && { missing: missing.slice(0, LENGTH) }) });
    else dropped += 1;
    timer ??= later(() => {
      send(lines, dropped);
      [lines, dropped, timer] = [[], 0, undefined];
    }, WAIT);
  }

  for (const level of LEVELS) {
    const original = console[level].bind(console);
    console[level] = (...values: unknown[]) => {
      original(...values);
      add(level, values.map(show).join(" "));
    };
  }
  window.addEventListener("error", (event) => {
    if (event.message) add("error", `Uncaught ${event.error ? show(event.error) : event.message}`);
  });
  watchLoads((text, address) => add("error", text, address));
  window.addEventListener("unhandledrejection", (event) => add("error", `Unhandled rejection: ${show(event.reason)}`));
}

/**
 * What did not load: elements say so by an event that does not bubble; what a module imports only by its timing, where
 * its answer's status stands.
 */
function watchLoads(tell: (text: string, address: string) => void): void {
  const told = new Set<string>();
  function miss(address: string, text: string): void {
    if (told.has(address)) return;
    told.add(address);
    tell(text, address);
  }
  window.addEventListener(
    "error",
    ({ target }) => {
      if (!(target instanceof Element)) return;
      const address = [target.getAttribute("src"), target.getAttribute("href"), target.getAttribute("data")].find(Boolean) ?? "";
      const name = target.localName;
      if (name === "script" && !address) return miss("an inline module", "An inline module did not run: something it imports did not load");
      miss(URL.parse(address, document.baseURI)?.href ?? address, `<${name}> did not load: ${address}`);
    },
    true,
  );
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as PerformanceResourceTiming[])
      if (entry.responseStatus >= 400) miss(`${entry.responseStatus} ${entry.name}`, `${entry.responseStatus}: ${entry.name}`);
  }).observe({ type: "resource", buffered: true });
}

function show(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack?.includes(value.message) ? value.stack : `${value.name}: ${value.message}`;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}
