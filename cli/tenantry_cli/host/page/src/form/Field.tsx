import { useContext, useState } from "preact/hooks";
import { message, type Dict } from "../json";
import { ArrayField, ObjectField, optionsOf } from "./compound";
import { FormFaults } from "./faults";
import type { FieldProps, Files } from "./props";
import { Scalar } from "./Scalar";
import { choiceOf, initial, kind, shape } from "./schema";

export function Field(props: FieldProps) {
  const { schema, root, value, onChange, name, path, pointer, required, bare, files, onRemove } = props;
  const { schema: found, nullable, choices } = shape(schema, root);
  const isFile = files?.names.includes(name) && pointer.split("/").length === 2;
  const what = choices ? "choice" : kind(found);
  const label = found.title ?? name;
  const description = found.description;
  const missing = value === undefined && !required && (what === "object" || what === "array" || what === "choice") && !isFile && !optionsOf(found, root);

  const control = isFile && files ? (
    <FileField {...props} files={files} many={what === "array"} />
  ) : missing ? (
    <button type="button" class="quiet-button add" onClick={() => onChange(initial(schema, root, true))}>
      Add {label}
    </button>
  ) : choices ? (
    <Choice {...props} choices={choices} />
  ) : what === "object" ? (
    <ObjectField {...props} schema={found} />
  ) : what === "array" ? (
    <ArrayField {...props} schema={found} />
  ) : (
    <Scalar {...props} schema={found} what={what} nullable={nullable} />
  );
  const fault = useContext(FormFaults).get(pointer);
  if (bare) return control;

  const group = isFile || choices || what === "object" || what === "array";
  const Label = group ? "span" : "label";
  return (
    <div
      class="field"
      data-wrong={fault !== undefined}
      role={group ? "group" : undefined}
      aria-labelledby={group ? `${path}-name` : undefined}
      aria-describedby={group && fault ? `${path}-fault` : undefined}
    >
      <div class="field-head">
        <Label class="field-name" id={`${path}-name`} {...(group ? {} : { for: path })}>
          {label}
          {required && <span class="needed"> required</span>}
        </Label>
        {nullable && group && value !== null && (
          <button type="button" class="link" onClick={() => onChange(null)}>
            null
          </button>
        )}
        {(onRemove || (!required && group && value !== undefined && !isFile)) && (
          <button type="button" class="link" onClick={onRemove ?? (() => onChange(undefined))} aria-label={`Remove ${label}`}>
            Remove
          </button>
        )}
      </div>
      {description && (
        <p class="field-help" id={`${path}-help`}>
          {description}
        </p>
      )}
      {control}
      {fault && (
        <p class="field-fault" id={`${path}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}

function Choice(props: FieldProps & { choices: Dict[] }) {
  const { choices, root, value, onChange, path } = props;
  const [index, setIndex] = useState(() => choiceOf(value, choices, root));
  const chosen = choices[index] ?? {};
  return (
    <div class="nested">
      <select
        aria-label="Kind"
        value={index}
        onChange={(e) => {
          const next = Number(e.currentTarget.value);
          setIndex(next);
          onChange(initial(choices[next], root, true));
        }}
      >
        {choices.map((choice, i) => (
          <option key={i} value={i}>
            {choice.title ?? kind(shape(choice, root).schema)}
          </option>
        ))}
      </select>
      <Field {...props} schema={chosen} key={index} path={`${path}.c${index}`} bare required />
    </div>
  );
}

function FileField({ value, onChange, path, name, files, many }: FieldProps & { files: Files; many: boolean }) {
  const [problem, setProblem] = useState("");
  const chosen: Dict[] = (many ? (value as Dict[]) : value ? [value as Dict] : []) ?? [];

  async function take(list: FileList | null): Promise<void> {
    try {
      const added = await Promise.all(Array.from(list ?? [], files.upload));
      setProblem("");
      onChange(many ? [...chosen, ...added] : added[0]);
    } catch (error) {
      setProblem(message(error));
    }
  }

  return (
    <div class="file-field">
      <input id={path} type="file" multiple={many} aria-label={name} onChange={(e) => void take(e.currentTarget.files)} />
      {many &&
        chosen.map((file, i) => (
          <button type="button" class="chip" key={file.file_id} onClick={() => onChange(chosen.filter((_, j) => j !== i))} aria-label={`Remove ${file.file_name}`}>
            {file.file_name} ×
          </button>
        ))}
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
