import { useContext, useState } from "preact/hooks";
import { type Dict } from "../json";
import { FormFaults } from "./faults";
import type { FieldProps } from "./props";
import { nameOf } from "./schema";

const INPUTS: Record<string, "date" | "datetime-local" | "time" | "email" | "url" | "color" | "password"> = {
  date: "date",
  "date-time": "datetime-local",
  time: "time",
  email: "email",
  uri: "url",
  color: "color",
  password: "password",
};
const LONG = 200; // characters from which a text gets more than one line

type Props = FieldProps & { schema: Dict; what: string; nullable: boolean };

/** One value: text in its format, a number, yes or no, one of a list, or anything as JSON. */
export function Scalar({ schema, what, nullable, value, onChange, path, pointer, required }: Props) {
  const wrong = useContext(FormFaults).has(pointer);
  const described = [schema.description && `${path}-help`, wrong && `${path}-fault`].filter(Boolean).join(" ");
  const common = { id: path, "aria-describedby": described || undefined, "aria-required": required, "aria-invalid": wrong || undefined };
  const clear = (text: string) => (text === "" ? (nullable && required ? null : undefined) : text);

  if (what === "enum" || what === "boolean") {
    const options: unknown[] = what === "boolean" ? [true, false] : schema.enum;
    if (what === "boolean" && required && !nullable)
      return <input type="checkbox" {...common} checked={value === true} onChange={(e) => onChange(e.currentTarget.checked)} />;
    return (
      <select
        {...common}
        value={options.findIndex((o) => JSON.stringify(o) === JSON.stringify(value))}
        onChange={(e) => {
          const index = Number(e.currentTarget.value);
          onChange(index === -1 ? (nullable && required ? null : undefined) : options[index]);
        }}
      >
        <option value={-1}>{required ? "Choose…" : "—"}</option>
        {options.map((option, i) => (
          <option key={i} value={i}>
            {nameOf(schema, option, i)}
          </option>
        ))}
      </select>
    );
  }
  if (what === "number" || what === "integer")
    return (
      <input
        type="number"
        {...common}
        step={schema.multipleOf ?? (what === "integer" ? 1 : "any")}
        min={schema.minimum ?? schema.exclusiveMinimum}
        max={schema.maximum ?? schema.exclusiveMaximum}
        placeholder={hint(schema)}
        value={typeof value === "number" ? value : ""}
        onInput={(e) => onChange(e.currentTarget.value === "" ? clear("") : e.currentTarget.valueAsNumber)}
      />
    );
  if (what === "null") return <code class="quiet">null</code>;
  if (what === "any") return <AnyJson value={value} onChange={onChange} common={common} wrong={wrong} />;
  const text = typeof value === "string" ? value : "";
  if ((schema.maxLength ?? 0) > LONG || schema.contentMediaType || text.includes("\n"))
    return <textarea rows={3} {...common} value={text} placeholder={hint(schema)} onInput={(e) => onChange(clear(e.currentTarget.value))} />;
  const type = INPUTS[schema.format] ?? "text";
  return (
    <input
      {...({ type } as { type: "text" })}
      {...common}
      maxLength={schema.maxLength}
      placeholder={hint(schema)}
      value={type === "datetime-local" ? localTime(text) : text}
      onInput={(e) => {
        const typed = e.currentTarget.value;
        onChange(type === "datetime-local" && typed ? new Date(typed).toISOString() : clear(typed));
      }}
    />
  );
}

function AnyJson({ value, onChange, common, wrong }: { value: unknown; onChange: (value: unknown) => void; common: object; wrong: boolean }) {
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value));
  const [unread, setUnread] = useState(false);
  return (
    <input
      type="text"
      class="mono"
      {...common}
      aria-invalid={unread || wrong || undefined}
      placeholder="any JSON"
      value={text}
      onInput={(e) => {
        const typed = e.currentTarget.value;
        setText(typed);
        try {
          onChange(typed === "" ? undefined : JSON.parse(typed));
          setUnread(false);
        } catch {
          setUnread(true);
        }
      }}
    />
  );
}

function hint(schema: Dict): string | undefined {
  const example = schema.examples?.[0] ?? schema.format ?? schema.pattern;
  return example === undefined ? undefined : String(example);
}

function localTime(iso: string): string {
  const date = new Date(iso);
  if (!iso || Number.isNaN(date.valueOf())) return "";
  return new Date(date.valueOf() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
