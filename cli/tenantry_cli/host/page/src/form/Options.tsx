import { same, type Dict } from "../json";
import { nameOf } from "./schema";

interface Props {
  /** The schema of an item: its `enum` are the options. */
  items: Dict;
  held: unknown[];
  /** As many as may be chosen are. */
  full: boolean;
  onChange: (value: unknown[]) => void;
  path: string;
}

/** A list of choices: a box to tick for each. What is ticked is sent in the order of the list. */
export function Options({ items, held, full, onChange, path }: Props) {
  const options: unknown[] = items.enum;
  const holds = (option: unknown) => held.some((item) => same(item, option));
  return (
    <div class="options">
      {options.map((option, i) => (
        <label key={i} class="option">
          <input
            type="checkbox"
            id={`${path}.${i}`}
            checked={holds(option)}
            disabled={full && !holds(option)}
            onChange={(e) => onChange(options.filter((other) => (other === option ? e.currentTarget.checked : holds(other))))}
          />
          <span>{nameOf(items, option, i)}</span>
        </label>
      ))}
    </div>
  );
}
