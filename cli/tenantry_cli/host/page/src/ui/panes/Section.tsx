import type { ComponentChildren } from "preact";

/** A titled part of a pane. */
export function Section({ name, note, children }: { name: string; note?: string; children: ComponentChildren }) {
  return (
    <section class="section" aria-label={name}>
      <h3>{name}</h3>
      {note && <p class="quiet">{note}</p>}
      {children}
    </section>
  );
}

export function Nothing({ children }: { children: ComponentChildren }) {
  return <p class="nothing">{children}</p>;
}
