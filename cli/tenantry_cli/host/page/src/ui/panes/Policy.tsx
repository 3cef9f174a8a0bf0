import { violations } from "../../state/log";
import { knobs, turn } from "../../state/knobs";
import { advise } from "../../widget/advice";
import { instances } from "../../widget/registry";
import { selectedCall } from "../../state/conversation";
import { Json } from "../Json";
import { copy } from "../toast";
import { Nothing, Section } from "./Section";

/** What the widget's policy refused, each with the line that would allow it. */
export function Policy() {
  const call = selectedCall.value;
  const instance = call && instances.value.get(call.id);
  return (
    <>
      <label class="switch">
        <input type="checkbox" checked={knobs.value.developer} onChange={(e) => turn("developer", e.currentTarget.checked)} />
        As in developer mode: no policy at all
      </label>
      {knobs.value.developer && <p class="problem">Nothing is refused now. A published plugin runs under its policy: turn this off before you trust what you see.</p>}
      {violations.value.length === 0 && <Nothing>Nothing was refused.</Nothing>}
      <ol class="violations" aria-label="Refused requests">
        {violations.value.map((violation) => {
          const advice = advise(violation);
          return (
            <li key={violation.id} class="card" data-harmless={violation.blocked === "eval"}>
              <p>
                <code>{violation.directive}</code> refused <span class="href">{violation.blocked || "an inline script"}</span>
                {violation.count > 1 && <span class="quiet"> {violation.count} times</span>}
              </p>
              <p class="quiet">{advice.text}</p>
              {[advice.kit, advice.meta].map(
                (line) =>
                  line && (
                    <button key={line} type="button" class="line" title="Copy" onClick={() => void copy("Line", line)}>
                      <code>{line}</code>
                    </button>
                  ),
              )}
              {violation.source && (
                <p class="quiet mono">
                  {violation.source}:{violation.line}
                </p>
              )}
            </li>
          );
        })}
      </ol>
      {instance && (
        <Section name="Published policy" note={instance.template.ui.csp ? undefined : "None: the strict default holds."}>
          <Json value={{ csp: instance.template.ui.csp, permissions: instance.template.ui.permissions, redirectDomains: instance.template.ui.redirectDomains }} open={4} />
        </Section>
      )}
    </>
  );
}
