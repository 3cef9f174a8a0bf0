import { signal } from "@preact/signals";

export type Step = "template" | "document" | "frame" | "script" | "paint" | "result";

/** What each step means to an author, in the order they usually come. */
export const STEPS: Record<Step, string> = {
  template: "Template read",
  document: "Document handed over",
  frame: "Sandbox ready",
  script: "First script runs",
  paint: "First paint",
  result: "Result delivered",
};

/** When calls were submitted, by message: what the times of its widget count from. */
const submitted = new Map<string, number>();

export function submit(turn: string): void {
  submitted.set(turn, performance.now());
}

/** How long it took until a widget could be seen, in milliseconds since its call was submitted, or it was asked for. */
export class Timings {
  readonly steps = signal<Partial<Record<Step, number>>>({});
  #begun: number;

  constructor(turn: string) {
    this.#begun = submitted.get(turn) ?? performance.now();
    submitted.delete(turn); // a widget that is mounted later counts from its own beginning
  }

  restart(): void {
    this.#begun = performance.now();
    this.steps.value = {};
  }

  /** Mark a step as done, `at` milliseconds of this page's clock; the first time counts. */
  mark(step: Step, at = performance.now()): void {
    if (step in this.steps.peek()) return;
    this.steps.value = { ...this.steps.peek(), [step]: Math.max(0, at - this.#begun) };
  }
}
