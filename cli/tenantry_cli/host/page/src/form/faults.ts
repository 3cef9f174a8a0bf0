import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/client/validators/cf-worker";
import { createContext } from "preact";
import { isDict, message, type Dict } from "../json";

/** What is wrong with the arguments, by JSON pointer; "" for what belongs to no field. */
export type Faults = ReadonlyMap<string, string>;

/** The faults of the form that a field is in. */
export const FormFaults = createContext<Faults>(new Map());

/** Said of a whole because of a part of it: the part says it better. */
const OF_A_PART = /^(Property "|Items did not match|A subschema had errors|Instance does not match every|Property name)/;

/** Said of what `additionalProperties: false` leaves out. */
const NOT_TAKEN = "False boolean schema.";

/** Where arguments break the schema, in words a person can act on. A file's URL is filled in later: not missed here. */
export function faultsOf(schema: Dict, args: unknown): Faults {
  const faults = new Map<string, string>();
  try {
    const result = new CfWorkerJsonSchemaValidator({ shortcircuit: false }).getValidator(schema as never)(withUrls(args));
    if (result.valid) return faults;
    const found = result.errorMessage.split(/; (?=#)/).map((text) => /^#(.*?): (.*)$/s.exec(text));
    for (const [, pointer = "", text = ""] of found.filter((match) => match !== null)) {
      const missing = /^Instance does not have required property "(.*)"\.$/.exec(text);
      const at = missing ? `${pointer}/${encoded(missing[1]!)}` : pointer;
      if (OF_A_PART.test(text)) continue;
      const said = faults.get(at);
      if (text.startsWith(NOT_TAKEN) && said) continue; // what breaks its own schema counts as not evaluated, too
      if (said === plainly(NOT_TAKEN)) faults.delete(at);
      faults.set(at, said && faults.has(at) && said !== plainly(text) ? `${said} ${plainly(text)}` : plainly(text));
    }
    if (faults.size === 0) faults.set("", result.errorMessage);
  } catch (error) {
    faults.set("", `The schema can't be used: ${message(error)}`);
  }
  return faults;
}

/** A property's name in a JSON pointer, as the validator writes it. */
export function encoded(name: string): string {
  return encodeURI(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}

/** The validator's sentences, and how a form would say them. */
const RULES: [RegExp, (...found: string[]) => string][] = [
  [/^Instance does not have required/, () => "Fill this in."],
  [/^Instance type "\w+" is invalid\. Expected "(.*)"\.$/, (_, kind = "") => `Has to be ${KINDS[kind] ?? kind.replaceAll('", "', " or ")}.`],
  [/^Instance does not match any of/, () => "Choose one of the list."],
  [/^Instance does not match any subschemas|^Instance does not match exactly one/, () => "Fits none of the kinds."],
  [/^String is too short \(\d+ < (\d+)\)/, (_, least) => `At least ${least} ${least === "1" ? "character" : "characters"}.`],
  [/^String is too long \(\d+ > (\d+)\)/, (_, most) => `At most ${most} characters.`],
  [/^String does not match pattern/, () => "Is not in the form that is asked for."],
  [/^String does not match format "(.*)"/, (_, format) => `Is not a valid ${format}.`],
  [/ is less than or equal to (.*)\.$/, (_, bound) => `More than ${bound}.`],
  [/^(.*) is less than \1\.$/, (_, bound) => `More than ${bound}.`],
  [/ is less than (.*)\.$/, (_, bound) => `At least ${bound}.`],
  [/ is greater than or equal to (.*)\.$/, (_, bound) => `Less than ${bound}.`],
  [/ is greater than (.*)\.$/, (_, bound) => `At most ${bound}.`],
  [/ is not a multiple of (.*)\.$/, (_, step) => `A multiple of ${step}.`],
  [/^Array has too few items \(\d+ < (\d+)\)/, (_, least) => `At least ${least} ${least === "1" ? "item" : "items"}.`],
  [/^Array has too many items \(\d+ > (\d+)\)/, (_, most) => `At most ${most} items.`],
  [/^False boolean schema/, () => "This is not among what is taken."],
  [/^Duplicate items/, () => "The same item is there twice."],
];

/** The validator's sentence as a form would say it. */
function plainly(text: string): string {
  for (const [pattern, say] of RULES) {
    const found = pattern.exec(text);
    if (found) return say(...found);
  }
  return text.replace(/^Instance/, "This");
}

const KINDS: Record<string, string> = {
  string: "text",
  number: "a number",
  integer: "a whole number",
  boolean: "yes or no",
  object: "an object",
  array: "a list",
  null: "null",
};

function withUrls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withUrls);
  if (!isDict(value)) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withUrls(item)]));
  return typeof inner.file_id === "string" ? { download_url: "https://file.invalid/", ...inner } : inner;
}
