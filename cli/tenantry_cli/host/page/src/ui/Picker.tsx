import { useEffect, useRef, useState } from "preact/hooks";
import { picker, type Kept } from "../call/files";

/** The file library: pick what the plugin may have. */
export function Picker() {
  const open = picker.value;
  return open ? <Library key={open.files.length} {...open} /> : null;
}

function Library({ files, choose }: { files: Kept[]; choose: (files: Kept[]) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [chosen, setChosen] = useState<string[]>([]);
  useEffect(() => dialog.current?.showModal(), []);
  const done = (ids: string[]) => choose(files.filter((f) => ids.includes(f.fileId)));
  return (
    <dialog class="modal library" ref={dialog} aria-label="File library" onClose={() => done([])}>
      <header class="modal-head">
        <h2 class="grow">Your files</h2>
      </header>
      <div class="library-files">
        {files.map((file) => (
          <label key={file.fileId} class="library-file">
            <input
              type="checkbox"
              checked={chosen.includes(file.fileId)}
              onChange={(e) => setChosen(e.currentTarget.checked ? [...chosen, file.fileId] : chosen.filter((id) => id !== file.fileId))}
            />
            <span>{file.fileName}</span>
            <span class="quiet">{file.mimeType}</span>
          </label>
        ))}
        {files.length === 0 && <p class="quiet">The library is empty. Files uploaded with library: true appear here.</p>}
      </div>
      <div class="ask-foot">
        <button type="button" class="quiet-button" onClick={() => done([])}>
          Cancel
        </button>
        <button type="button" class="primary" disabled={!chosen.length} onClick={() => done(chosen)}>
          Use {chosen.length || ""} {chosen.length === 1 ? "file" : "files"}
        </button>
      </div>
    </dialog>
  );
}
