import { signal, type Signal } from "@preact/signals";

/** A signal that survives a reload of the page. What can't be stored (full, private window) lives in memory only. */
export function stored<T extends object>(key: string, initial: T): Signal<T> {
  const held = signal<T>({ ...initial, ...read<Partial<T>>(key) });
  held.subscribe((value) => write(key, value));
  return held;
}

export function read<T>(key: string): T | undefined {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/** Whether the value is now stored. */
export function write(key: string, value: unknown): boolean {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
