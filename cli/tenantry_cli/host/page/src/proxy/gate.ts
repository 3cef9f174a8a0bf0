const PER_SECOND = 200; // messages a widget may send on average: an animation at 60 a second stays far below
const BURST = 400;
const CHARACTERS = 4_000_000; // of one message; the gateway's own limit for a request is 4 MB
const REPORT = 400; // milliseconds between reports, so that a flood isn't answered with a flood

/** Admits messages up to a rate and a size, and reports what it refuses. */
export class Gate {
  readonly #report: (reason: string, count: number, sample: string) => void;
  readonly #refused = new Map<string, { count: number; sample: string }>();
  #tokens = BURST;
  #at = performance.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(report: (reason: string, count: number, sample: string) => void) {
    this.#report = report;
  }

  admits(data: unknown): boolean {
    const now = performance.now();
    this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#at) / 1000) * PER_SECOND);
    this.#at = now;
    if (this.#tokens < 1) return this.refuse(`more than ${PER_SECOND} messages a second`, undefined);
    this.#tokens -= 1;
    if (size(data) > CHARACTERS) return this.refuse(`a message of more than ${CHARACTERS} characters`, undefined);
    return true;
  }

  refuse(reason: string, data: unknown): false {
    const entry = this.#refused.get(reason) ?? { count: 0, sample: data === undefined ? "" : sample(data) };
    entry.count += 1;
    this.#refused.set(reason, entry);
    this.#timer ??= setTimeout(() => {
      for (const [why, { count, sample }] of this.#refused) this.#report(why, count, sample);
      this.#refused.clear();
      this.#timer = undefined;
    }, REPORT);
    return false;
  }
}

/** Characters of a message, counted without building its text; files don't count. Deep or cyclic data counts as too much. */
function size(value: unknown, depth = 0): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || value instanceof Blob) return 8;
  if (value instanceof ArrayBuffer) return value.byteLength;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (depth > 200) return Number.POSITIVE_INFINITY;
  let total = 2;
  for (const [key, inner] of Object.entries(value)) {
    total += key.length + size(inner, depth + 1);
    if (total > CHARACTERS) break;
  }
  return total;
}

function sample(data: unknown): string {
  try {
    return (JSON.stringify(data) ?? "").slice(0, 200);
  } catch {
    return Object.prototype.toString.call(data);
  }
}
