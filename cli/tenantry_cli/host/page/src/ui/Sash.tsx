import { stored } from "../state/stored";

const LEAST = 320;
const MOST = 900; // pixels
const STEP = 24; // pixels for one press of an arrow key

const kept = stored("tenantry.inspector", { width: 460 });

/** As wide as the person made it, while the conversation keeps room. */
export function inspectorWidth(): number {
  return Math.min(kept.value.width, Math.max(LEAST, innerWidth - 700));
}

function set(width: number): void {
  kept.value = { width: Math.round(Math.min(MOST, Math.max(LEAST, width))) };
}

/** The edge of the inspector: dragged, or moved by the arrow keys. */
export function Sash() {
  return (
    <div
      class="sash"
      role="separator"
      aria-label="Width of the inspector"
      aria-orientation="vertical"
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      aria-valuenow={inspectorWidth()}
      tabIndex={0}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        event.preventDefault();
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) set(innerWidth - event.clientX);
      }}
      onKeyDown={(event) => {
        const step = { ArrowLeft: STEP, ArrowRight: -STEP }[event.key];
        if (step) set(inspectorWidth() + step);
      }}
    />
  );
}
