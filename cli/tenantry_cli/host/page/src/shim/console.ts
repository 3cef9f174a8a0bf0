import type { ConsoleLine } from "../channel";

const LEVELS = ["log", "info", "warn", "error", "debug"] as const;
const BATCH = 100; // lines sent at once; a widget that prints more is told how many were left out
const LENGTH = 4000; // characters of one line
const WAIT = 60; // milliseconds

/** Hand on what the widget prints and the errors it doesn't catch, in batches. */
export function watchConsole(send: (lines: ConsoleLine[], dropped: number) => void): void {
  let lines: ConsoleLine[] = [];
  let dropped = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const later = setTimeout;

  function add(level: ConsoleLine["level"], text: string): void {
    if (lines.length < BATCH) lines.push({ level, text: text.slice(0, LENGTH) });
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
  window.addEventListener("unhandledrejection", (event) => add("error", `Unhandled rejection: ${show(event.reason)}`));
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
