import { useEffect, useRef } from "preact/hooks";
import type { Instance } from "../widget/instance";
import { IconButton } from "./icons";

/** A modal of a widget: its own frame, its own document, in the host's dialog. */
export function Modal({ instance }: { instance: Instance }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    if (stage.current) void instance.mount(stage.current);
  }, [instance]);
  return (
    <dialog class="modal" ref={dialog} aria-label="Widget dialog" onClose={() => instance.closeModal?.()}>
      <header class="modal-head">
        <span class="grow">{instance.connection.plugin.title ?? instance.connection.plugin.plugin}</span>
        <IconButton name="cross" label="Close the dialog" onClick={() => dialog.current?.close()} />
      </header>
      <div class="widget-stage" ref={stage} style={{ height: `${instance.height.value}px` }} />
    </dialog>
  );
}
