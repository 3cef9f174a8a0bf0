import { isDict, type Dict } from "../json";

const DEPTH = 24; // references followed in a row; a schema that needs more is circular

/** What a form has to show for one schema: references followed, `allOf` merged, null taken out. */
export interface Shape {
  schema: Dict;
  nullable: boolean;
  /** More than one way to fill it in (oneOf, anyOf, several types). */
  choices?: Dict[];
}

export function shape(raw: unknown, root: Dict): Shape {
  let schema = resolve(raw, root);
  let nullable = false;
  const type = schema.type;
  if (Array.isArray(type)) {
    nullable = type.includes("null");
    const rest = type.filter((t: unknown) => t !== "null");
    if (rest.length > 1) return { schema, nullable, choices: rest.map((t: unknown) => ({ ...schema, type: t, title: String(t) })) };
    schema = { ...schema, type: rest[0] ?? "null" };
  }
  const options: unknown = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(options)) {
    const { oneOf: _, anyOf: __, ...base } = schema;
    const found = options.map((option) => resolve(option, root));
    const kinds = found.filter((option) => option.type !== "null" && option.const !== null);
    nullable ||= kinds.length < found.length;
    if (kinds.every((option) => "const" in option) && kinds.length > 1)
      return { schema: { ...base, enum: kinds.map((k) => k.const), titles: kinds.map((k) => k.title ?? String(k.const)) }, nullable };
    if (kinds.length === 1) {
      const inner = shape(kinds[0], root);
      return { ...inner, schema: { ...inner.schema, ...base }, nullable: nullable || inner.nullable };
    }
    if (kinds.length) return { schema: base, nullable, choices: kinds.map((kind) => (kind.type ? kind : { ...base, ...kind })) };
  }
  if ("const" in schema) schema = { ...schema, enum: [schema.const] };
  if (Array.isArray(schema.enum) && schema.enum.includes(null)) {
    nullable = true;
    schema = { ...schema, enum: schema.enum.filter((v: unknown) => v !== null) };
  }
  return { schema, nullable };
}

export function resolve(raw: unknown, root: Dict): Dict {
  let schema: Dict = isDict(raw) ? raw : {};
  for (let depth = 0; typeof schema.$ref === "string" && depth < DEPTH; depth += 1) {
    const { $ref, ...rest } = schema;
    schema = { ...(find($ref, root) ?? {}), ...rest };
  }
  if (Array.isArray(schema.allOf)) {
    const { allOf, ...base } = schema;
    schema = allOf.map((part: unknown) => resolve(part, root)).reduce(merge, base);
  }
  return schema;
}

function merge(a: Dict, b: Dict): Dict {
  return {
    ...a,
    ...b,
    properties: a.properties || b.properties ? { ...a.properties, ...b.properties } : undefined,
    required: [...new Set([...(a.required ?? []), ...(b.required ?? [])])],
  };
}

function find(ref: string, root: Dict): Dict | undefined {
  if (ref === "#") return root;
  if (!ref.startsWith("#")) return undefined; // nothing is fetched
  if (!ref.startsWith("#/")) return anchored(ref.slice(1), root);
  let at: unknown = root;
  for (const part of ref.slice(2).split("/")) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    at = isDict(at) ? at[key] : Array.isArray(at) ? at[Number(key)] : undefined;
  }
  return isDict(at) ? at : undefined;
}

function anchored(name: string, root: Dict): Dict | undefined {
  return Object.values({ ...root.$defs, ...root.definitions }).find((d): d is Dict => isDict(d) && d.$anchor === name);
}

/** The kind of control a shape needs. */
export function kind(schema: Dict): string {
  if (Array.isArray(schema.enum)) return "enum";
  if (typeof schema.type === "string") return schema.type;
  if (schema.properties || schema.additionalProperties) return "object";
  if (schema.items || schema.prefixItems) return "array";
  return "any";
}

/** How an option of an enum is called. */
export function nameOf({ titles, enumNames }: Dict, option: unknown, index: number): string {
  return titles?.[index] ?? enumNames?.[index] ?? (typeof option === "string" ? option : JSON.stringify(option));
}

/** What a field starts with: its default; for a required one the least that can be filled in. */
export function initial(raw: unknown, root: Dict, required: boolean, depth = 0): unknown {
  const { schema, choices } = shape(raw, root);
  if (schema.default !== undefined) return structuredClone(schema.default);
  if (!required || depth > 6) return undefined;
  if (choices) return initial(choices[0], root, true, depth + 1);
  switch (kind(schema)) {
    case "enum":
      return schema.enum.length === 1 ? schema.enum[0] : undefined;
    case "object":
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .map(([name, inner]) => [name, initial(inner, root, (schema.required ?? []).includes(name), depth + 1)])
          .filter(([, value]) => value !== undefined),
      );
    case "array":
      return [];
    case "boolean":
      return false;
    case "null":
      return null;
    default:
      return undefined;
  }
}

/** Which choice a value belongs to. */
export function choiceOf(value: unknown, choices: Dict[], root: Dict): number {
  const index = choices.findIndex((choice) => fits(value, shape(choice, root).schema));
  return Math.max(0, index);
}

function fits(value: unknown, schema: Dict): boolean {
  switch (kind(schema)) {
    case "enum":
      return schema.enum.includes(value);
    case "object":
      return (
        isDict(value) &&
        Object.entries(schema.properties ?? {}).every(([name, p]) => !isDict(p) || !("const" in p) || value[name] === p.const) &&
        (schema.required ?? []).every((name: string) => name in value || !("const" in (schema.properties?.[name] ?? {})))
      );
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === kind(schema);
  }
}
