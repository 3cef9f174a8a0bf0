const WINDOW = 2000; // milliseconds
const ALLOWED = 120; // changes in a window: one a frame of an animation, for its whole length

/** Admits changes of height until a widget resizes endlessly; then it rests for a window, and that is reported once. */
export class Resizes {
  #began = 0;
  #count = 0;

  constructor(private readonly report: () => void) {}

  admits(): boolean {
    const now = performance.now();
    if (now - this.#began > WINDOW) [this.#began, this.#count] = [now, 0];
    this.#count += 1;
    if (this.#count === ALLOWED + 1) this.report();
    return this.#count <= ALLOWED;
  }
}
