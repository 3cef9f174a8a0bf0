import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { isDict, message, type Dict } from "../json";
import { faultsOf, FormFaults, type Faults } from "./faults";
import { Field } from "./Field";
import type { Files } from "./props";
import { initial } from "./schema";

interface Props {
  schema: Dict;
  start?: Dict;
  submit: string;
  onSubmit: (value: Dict) => void;
  files?: Files;
  onCancel?: () => void;
}

const NONE: Faults = new Map();

/** A form made from a JSON Schema of an object, with the raw JSON as an alternative. Ctrl+Enter submits. */
export function Form({ schema, start, submit, onSubmit, files, onCancel }: Props) {
  const [value, setValue] = useState<Dict>(() => ({ ...(initial(schema, schema, true) as Dict), ...start }));
  const [raw, setRaw] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  /** How often it was sent with faults: from then on each field says what is wrong with it as it is filled in. */
  const [attempts, setAttempts] = useState(0);
  const [uploading, setUploading] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  const empty = useMemo(() => Object.keys(schema.properties ?? {}).length === 0 && !schema.additionalProperties, [schema]);
  const faults = useMemo(() => (attempts && raw === null ? faultsOf(schema, value) : NONE), [attempts, raw, schema, value]);

  useEffect(() => setProblem(""), [value, raw]);
  useEffect(() => {
    const wrong = form.current?.querySelector<HTMLElement>("[aria-invalid=true], .field[data-wrong=true] :is(input, select, textarea, button)");
    if (attempts) wrong?.focus();
  }, [attempts]);

  const counted = files && {
    ...files,
    async upload(file: File): Promise<Dict> {
      setUploading((n) => n + 1);
      try {
        return await files.upload(file);
      } finally {
        setUploading((n) => n - 1);
      }
    },
  };

  function send(event: Event, anyway = false): void {
    event.preventDefault();
    if (uploading) return;
    let args: unknown = value;
    if (raw !== null) {
      try {
        args = JSON.parse(raw);
      } catch (error) {
        return setProblem(`This is not JSON: ${message(error)}`);
      }
    }
    if (!isDict(args)) return setProblem("Arguments are a JSON object.");
    const wrong = anyway ? NONE : faultsOf(schema, args);
    if (wrong.size === 0) return onSubmit(args);
    if (raw === null) setAttempts(attempts + 1);
    else setProblem([...wrong].map(([pointer, text]) => `${pointer.slice(1) || "The whole"}: ${text}`).join(" "));
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

  const said = problem || summary(faults);
  return (
    <form
      class="form"
      ref={form}
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
            <textarea class="mono" rows={8} spellcheck={false} aria-invalid={problem !== ""} value={raw} onInput={(e) => setRaw(e.currentTarget.value)} />
          </label>
        ) : empty ? (
          <p class="quiet">Nothing to fill in.</p>
        ) : (
          <FormFaults.Provider value={faults}>
            <Field schema={schema} root={schema} value={value} onChange={(v) => setValue((v as Dict) ?? {})} name="" path={id} pointer="" required bare files={counted} />
          </FormFaults.Provider>
        )}
      </div>
      {said && (
        <p class="problem" role="alert">
          {said}{" "}
          {!said.startsWith("This is not") && (
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
        <span class="quiet keys" aria-hidden="true">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </span>
        {onCancel && (
          <button type="button" class="quiet-button" onClick={onCancel}>
            Decline
          </button>
        )}
        <button type="submit" class="primary" disabled={uploading > 0}>
          {uploading > 0 ? "Uploading…" : submit}
        </button>
      </div>
    </form>
  );
}

function summary(faults: Faults): string {
  if (faults.size === 0) return "";
  const whole = faults.get("");
  const fields = faults.size - (whole ? 1 : 0);
  const counted = fields === 0 ? "" : fields === 1 ? "One field needs another look." : "Some fields need another look.";
  return [whole, counted].filter(Boolean).join(" ");
}
