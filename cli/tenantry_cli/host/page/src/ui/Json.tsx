import { useState } from "preact/hooks";
import { isDict } from "../json";

const OPEN = 2; // levels shown unfolded
const UNFOLDS = 3; // levels that one click shows
const ITEMS = 100; // of one list or object, at a time
const CHARACTERS = 1500; // of one text, before the rest is asked for

interface Props {
  value: unknown;
  /** The key it stands under, shown before it. */
  name?: string;
  level?: number;
  open?: number;
}

/** A JSON value to look at: foldable, coloured by kind, readable by a screen reader as plain text. */
export function Json({ value, name, level = 0, open = OPEN }: Props) {
  if (Array.isArray(value) || isDict(value)) return <Compound value={value} name={name} level={level} open={open} />;
  return (
    <>
      {name !== undefined && <span class="json-key">{name}</span>}
      {typeof value === "string" ? <Text value={value} /> : <span class="json-value">{value === undefined ? "none" : JSON.stringify(value)}</span>}
    </>
  );
}

/** What is folded is not built: a result of a megabyte costs what is looked at. */
function Compound({ value, name, level, open }: { value: object; name?: string; level: number; open: number }) {
  const [unfolded, setUnfolded] = useState(level < open);
  const [shown, setShown] = useState(ITEMS);
  const keys = Object.keys(value);
  const inner = level < open ? open : level + UNFOLDS; // unfolded by hand
  const [begin, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const key = name !== undefined && <span class="json-key">{name}</span>;
  if (keys.length === 0)
    return (
      <>
        {key}
        <span class="json-mark">{begin + end}</span>
      </>
    );
  return (
    <details class="json" open={unfolded} onToggle={(e) => setUnfolded(e.currentTarget.open)}>
      <summary>
        {key}
        <span class="json-mark">{begin}</span>
        <span class="json-count">{keys.length.toLocaleString("en")}</span>
        <span class="json-mark">{end}</span>
      </summary>
      {unfolded && (
        <div class="json-items">
          {keys.slice(0, shown).map((item) => (
            <div key={item} class="json-item">
              <Json name={item} value={(value as Record<string, unknown>)[item]} level={level + 1} open={inner} />
            </div>
          ))}
          {keys.length > shown && (
            <button type="button" class="link" onClick={() => setShown(shown + ITEMS * 5)}>
              {(keys.length - shown).toLocaleString("en")} more
            </button>
          )}
        </div>
      )}
    </details>
  );
}

function Text({ value }: { value: string }) {
  const [whole, setWhole] = useState(false);
  if (whole || value.length <= CHARACTERS) return <span class="json-text">{value}</span>;
  return (
    <>
      <span class="json-text">{value.slice(0, CHARACTERS)}…</span>{" "}
      <button type="button" class="link" onClick={() => setWhole(true)}>
        all {value.length.toLocaleString("en")} characters
      </button>
    </>
  );
}
