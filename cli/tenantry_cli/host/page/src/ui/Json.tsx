import { isDict } from "../json";

const OPEN = 2; // levels shown unfolded
const ITEMS = 200; // of one list or object; more are counted

/** A JSON value to look at: foldable, coloured by kind, readable by a screen reader as plain text. */
export function Json({ value, level = 0, open = OPEN }: { value: unknown; level?: number; open?: number }) {
  if (Array.isArray(value) || isDict(value)) {
    const entries = Object.entries(value);
    const [begin, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
    if (entries.length === 0) return <span class="json-mark">{begin + end}</span>;
    return (
      <details class="json" open={level < open}>
        <summary>
          <span class="json-mark">{begin}</span>
          <span class="json-count">{entries.length}</span>
          <span class="json-mark">{end}</span>
        </summary>
        <div class="json-items">
          {entries.slice(0, ITEMS).map(([key, item]) => (
            <div key={key} class="json-item">
              <span class="json-key">{key}</span>
              <Json value={item} level={level + 1} open={open} />
            </div>
          ))}
          {entries.length > ITEMS && <div class="quiet">{entries.length - ITEMS} more</div>}
        </div>
      </details>
    );
  }
  if (typeof value === "string") return <span class="json-text">{value}</span>;
  return <span class="json-value">{value === undefined ? "undefined" : JSON.stringify(value)}</span>;
}
