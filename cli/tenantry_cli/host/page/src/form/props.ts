import type { Dict } from "../json";

/** Where file arguments come from: which top-level fields are files, and how a file gets to the host. */
export interface Files {
  names: string[];
  upload: (file: File) => Promise<Dict>;
}

/** What every field of a form is given. */
export interface FieldProps {
  schema: unknown;
  root: Dict;
  value: unknown;
  onChange: (value: unknown) => void;
  name: string;
  /** Unique on the page: ids of controls are made from it. */
  path: string;
  /** Where the value is in the arguments: a JSON pointer, by which its faults are found. */
  pointer: string;
  required: boolean;
  /** Without a label and frame of its own: the form itself. */
  bare?: boolean;
  files?: Files;
  onRemove?: () => void;
}
