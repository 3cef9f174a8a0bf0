import { useState } from "preact/hooks";
import { isDict, type Dict } from "../json";
import { encoded } from "./faults";
import { Field } from "./Field";
import type { FieldProps } from "./props";
import { Options } from "./Options";
import { initial, kind, shape } from "./schema";

/** An object: its properties, and free keys where `additionalProperties` or `patternProperties` allow them. */
export function ObjectField({ schema, root, value, onChange, path, pointer, bare, files }: FieldProps & { schema: Dict }) {
  const held: Dict = isDict(value) ? value : {};
  const properties: Dict = schema.properties ?? {};
  const extra = schema.additionalProperties ?? Object.values(schema.patternProperties ?? {})[0];
  const free = Object.keys(held).filter((key) => !(key in properties));
  const [key, setKey] = useState("");

  function set(name: string, item: unknown): void {
    const next = { ...held, [name]: item };
    if (item === undefined) delete next[name];
    onChange(next);
  }

  return (
    <div class={bare ? "fields" : "fields nested"}>
      {Object.entries(properties).map(([name, inner]) => (
        <Field
          key={name}
          schema={inner}
          root={root}
          name={name}
          path={`${path}.${name}`}
          pointer={`${pointer}/${encoded(name)}`}
          value={held[name]}
          required={(schema.required ?? []).includes(name)}
          onChange={(item) => set(name, item)}
          files={bare ? files : undefined}
        />
      ))}
      {extra !== false && extra !== undefined && (
        <>
          {free.map((name) => (
            <Field
              key={name}
              schema={extra === true ? {} : extra}
              root={root}
              name={name}
              path={`${path}.${name}`}
              pointer={`${pointer}/${encoded(name)}`}
              value={held[name]}
              required
              onChange={(item) => set(name, item)}
              onRemove={() => set(name, undefined)}
            />
          ))}
          <div class="add-key">
            <input aria-label="New key" placeholder="New key" value={key} onInput={(e) => setKey(e.currentTarget.value)} />
            <button
              type="button"
              class="quiet-button"
              disabled={!key || key in held}
              onClick={() => {
                set(key, initial(extra === true ? {} : extra, root, true) ?? "");
                setKey("");
              }}
            >
              Add
            </button>
          </div>
        </>
      )}
    </div>
  );
}

/** A list of one kind, or a tuple (`prefixItems`). */
export function ArrayField({ schema, root, value, onChange, path, pointer }: FieldProps & { schema: Dict }) {
  const held: unknown[] = Array.isArray(value) ? value : [];
  const fixed: unknown[] = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : []);
  const inner = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  const full = schema.maxItems !== undefined && held.length >= schema.maxItems;
  const options = optionsOf(schema, root);
  if (options) return <Options items={options} held={held} full={full} onChange={onChange} path={path} />;
  const set = (index: number, item: unknown) => onChange(Object.assign([...held], { [index]: item }));
  const count = Math.max(held.length, fixed.length);

  return (
    <div class="nested fields">
      {Array.from({ length: count }, (_, index) => (
        <Field
          key={index}
          schema={fixed[index] ?? inner ?? {}}
          root={root}
          name={`${index + 1}`}
          path={`${path}.${index}`}
          pointer={`${pointer}/${index}`}
          value={held[index]}
          required
          onChange={(item) => set(index, item)}
          onRemove={index < fixed.length ? undefined : () => onChange(held.filter((_, i) => i !== index))}
        />
      ))}
      {inner !== false && !full && (
        <button
          type="button"
          class="quiet-button add"
          onClick={() => onChange([...held, initial(inner ?? {}, root, true) ?? null])}
        >
          Add an item
        </button>
      )}
    </div>
  );
}

/** The items of a list of choices, each of which is taken or not; undefined for a list of anything else. */
export function optionsOf({ items, prefixItems }: Dict, root: Dict): Dict | undefined {
  if (prefixItems || !isDict(items)) return undefined;
  const { schema, nullable, choices } = shape(items, root);
  return !choices && !nullable && kind(schema) === "enum" ? schema : undefined;
}
