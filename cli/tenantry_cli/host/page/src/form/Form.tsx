import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/client/validators/cf-worker";
import { useEffect, useId, useMemo, useState } from "preact/hooks";
import { isDict, message, type Dict } from "../json";
import { Field, type Files } from "./Field";
import { initial } from "./schema";

interface Props {
  schema: Dict;
  start?: Dict;
  submit: string;
  onSubmit: (value: Dict) => void;
  files?: Files;
  onCancel?: () => void;
}

/** A form made from a JSON Schema of an object, with the raw JSON as an alternative. Ctrl+Enter submits. */
export function Form({ schema, start, submit, onSubmit, files, onCancel }: Props) {
  const [value, setValue] = useState<Dict>(() => ({ ...(initial(schema, schema, true) as Dict), ...start }));
  const [raw, setRaw] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const id = useId();
  const empty = useMemo(() => Object.keys(schema.properties ?? {}).length === 0 && !schema.additionalProperties, [schema]);

  useEffect(() => setProblem(""), [value, raw]);

  function send(event: Event, anyway = false): void {
    event.preventDefault();
    let args: unknown = value;
    if (raw !== null) {
      try {
        args = JSON.parse(raw);
      } catch (error) {
        return setProblem(`This is not JSON: ${message(error)}`);
      }
    }
    if (!isDict(args)) return setProblem("Arguments are a JSON object.");
    const wrong = anyway ? undefined : check(schema, args);
    if (wrong) return setProblem(wrong);
    onSubmit(args);
  }

  function toggle(): void {
    if (raw === null) return setRaw(JSON.stringify(value, null, 2));
    try {
      setValue(JSON.parse(raw));
      setRaw(null);
    } catch (error) {
      setProblem(`This is not JSON: ${message(error)}`);
    }
  }

  return (
    <form
      class="form"
      onSubmit={send}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(event);
      }}
      noValidate
    >
      <div class="form-body">
        {raw !== null ? (
          <label class="field">
            <span class="field-name">Arguments as JSON</span>
            <textarea class="mono" rows={8} spellcheck={false} value={raw} onInput={(e) => setRaw(e.currentTarget.value)} />
          </label>
        ) : empty ? (
          <p class="quiet">Nothing to fill in.</p>
        ) : (
          <Field schema={schema} root={schema} value={value} onChange={(v) => setValue((v as Dict) ?? {})} name="" path={id} required bare files={files} />
        )}
      </div>
      {problem && (
        <p class="problem" role="alert">
          {problem}{" "}
          {!problem.startsWith("This is not") && (
            <button type="button" class="link" onClick={(e) => send(e, true)}>
              Send anyway
            </button>
          )}
        </p>
      )}
      <div class="form-foot">
        <button type="button" class="quiet-button" aria-pressed={raw !== null} onClick={toggle}>
          JSON
        </button>
        <span class="grow" />
        {onCancel && (
          <button type="button" class="quiet-button" onClick={onCancel}>
            Decline
          </button>
        )}
        <button type="submit" class="primary">
          {submit}
        </button>
      </div>
    </form>
  );
}

/** In words what keeps the arguments from matching; a file's URL is filled in later, so it isn't missed here. */
function check(schema: Dict, args: Dict): string | undefined {
  const missing = ((schema.required ?? []) as string[]).filter((name) => !(name in args));
  if (missing.length) return `Still to fill in: ${missing.join(", ")}.`;
  try {
    const result = new CfWorkerJsonSchemaValidator({ shortcircuit: false }).getValidator(schema as never)(withUrls(args));
    return result.valid ? undefined : `The arguments don't match the schema: ${result.errorMessage}`;
  } catch (error) {
    return `The schema can't be used: ${message(error)}`;
  }
}

function withUrls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withUrls);
  if (!isDict(value)) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withUrls(item)]));
  return typeof inner.file_id === "string" ? { download_url: "https://file.invalid/", ...inner } : inner;
}
