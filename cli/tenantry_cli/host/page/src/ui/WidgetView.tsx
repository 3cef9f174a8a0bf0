import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { message } from "../json";
import type { Connection } from "../mcp/connection";
import type { CallTurn } from "../state/conversation";
import { knobs } from "../state/knobs";
import { Instance } from "../widget/instance";
import { drop, put } from "../widget/registry";
import { IconButton } from "./icons";
import { Modal } from "./Modal";

/** A message's widget: loads the template, mounts the instance, and stands around it with the host's own controls. */
export function WidgetView({ turn, connection, uri, bare }: { turn: CallTurn; connection: Connection; uri: string; bare?: boolean }) {
  const [instance, setInstance] = useState<Instance | null>(null);
  const [problem, setProblem] = useState("");
  const stage = useRef<HTMLDivElement>(null);
  const developer = knobs.value.developer;
  const ready = connection.status.value === "ready";

  useLayoutEffect(() => {
    if (!ready) return;
    let made: Instance | undefined;
    let gone = false;
    connection
      .template(uri)
      .then(async (template) => {
        if (gone || !stage.current) return;
        made = new Instance(connection, turn.id, template, { mode: "inline", params: null });
        setInstance(made);
        put(made);
        await made.mount(stage.current);
      })
      .catch((error) => setProblem(message(error)));
    return () => {
      gone = true;
      if (made) drop(made);
      void made?.unmount();
    };
    // the tool's URI changes when a release does: hotReload() then works in place
  }, [connection, turn.id, ready]);

  useEffect(() => {
    if (instance && instance.ready.peek()) void instance.reload(instance.template);
  }, [developer]);

  useEffect(() => {
    const leave = (event: KeyboardEvent) => {
      if (event.key === "Escape" && instance?.mode.value === "fullscreen") instance.setMode("inline");
    };
    addEventListener("keydown", leave);
    return () => removeEventListener("keydown", leave);
  }, [instance]);

  if (problem)
    return (
      <p class="problem" role="alert">
        The widget can't be shown: {problem}
      </p>
    );
  const mode = instance?.mode.value ?? "inline";
  const place = instance?.place.value;
  // It runs while the person is asked (O01), and most have nothing to show yet: no empty frame below the question
  const blank = (turn.phase === "approval" || turn.phase === "denied") && !instance?.drawn.value;
  const border = instance?.template.ui.border;
  return (
    <div class="widget" inert={blank} data-blank={blank} data-mode={mode} data-border={border === true} data-device={knobs.value.device} style={{ "--widget-width": `${instance?.width.value ?? 768}px` }}>
      {!bare && (
        <div class="widget-bar" role="toolbar" aria-label="Widget">
          <IconButton name="back" label="Back in the widget" disabled={!place?.back} onClick={() => instance?.post({ tenantry: "go", to: "back" })} />
          <IconButton name="forward" label="Forward in the widget" disabled={!place?.forward} onClick={() => instance?.post({ tenantry: "go", to: "forward" })} />
          <span class="widget-path">{place?.path ?? "/"}</span>
          {mode === "fullscreen" && instance && (
            <a class="open-in" href={openInApp(instance)} target="_blank" rel="noreferrer">
              Open in {connection.plugin.title ?? connection.plugin.plugin}
            </a>
          )}
          <IconButton
            name={mode === "inline" ? "expand" : "shrink"}
            label={mode === "inline" ? "Fullscreen" : "Back to the conversation"}
            onClick={() => {
              if (!instance) return;
              if (mode === "inline") instance.setMode("fullscreen");
              else instance.mode.value = "inline";
            }}
          />
          <IconButton name="again" label="Reload the widget" onClick={() => void instance?.reload(instance.template)} />
          <IconButton name="cross" label="Close the widget" onClick={() => void instance?.close()} />
        </div>
      )}
      <div class="widget-stage" ref={stage} style={{ height: mode === "fullscreen" ? undefined : `${instance?.height.value ?? 160}px` }}>
        {!instance?.ready.value && mode !== "fullscreen" && <div class="widget-wait" aria-hidden="true" />}
      </div>
      {instance?.problem.value && (
        <div class="problem" role="alert">
          {instance.problem.value}{" "}
          <button type="button" class="link" onClick={() => void instance.reload(instance.template)}>
            Reload the widget
          </button>
        </div>
      )}
      {instance?.modal.value && <Modal key={instance.modal.value.session} instance={instance.modal.value} />}
    </div>
  );
}

/** Where "Open in …" leads: what the widget said, or its domain at the frame's current path (O17). */
function openInApp(instance: Instance): string {
  const { openIn, place, template, connection } = instance;
  if (openIn.value) return openIn.value;
  const base = template.ui.domain ?? connection.plugin.hostUrl ?? connection.plugin.mcpUrl;
  return new URL(place.value.path, base).href;
}
