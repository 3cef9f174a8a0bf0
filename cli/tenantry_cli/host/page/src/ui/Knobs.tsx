import type { ComponentChildren } from "preact";
import { knobs, LOCATIONS, turn, type Knobs as All } from "../state/knobs";
import { instances } from "../widget/registry";
import { selectedCall } from "../state/conversation";
import { Section } from "./panes/Section";

const LOCALES = ["en-US", "en-GB", "nl-NL", "de-DE", "fr-FR", "es-ES", "ja-JP", "ar-EG", "pt-BR"];

type Named<T> = [T, string][];

/** Everything a person can turn; each acts at once on the widgets that are shown. */
export function Knobs() {
  const k = knobs.value;
  const call = selectedCall.value;
  const instance = call && instances.value.get(call.id);
  const locales = LOCALES.includes(k.locale) ? LOCALES : [k.locale, ...LOCALES];
  return (
    <div class="knobs">
      <Section name="Appearance">
        <Choice name="theme" label="Theme" options={[["light", "Light"], ["dark", "Dark"]]} />
        <Choice name="device" label="Device" options={[["desktop", "Desktop"], ["tablet", "Tablet"], ["phone", "Phone"]]} />
        <Row label="Display mode">
          <select aria-label="Display mode" disabled={!instance} value={instance?.mode.value ?? "inline"} onChange={(e) => instance?.setMode(e.currentTarget.value)}>
            <option value="inline">Inline</option>
            <option value="pip">Picture in picture</option>
            <option value="fullscreen">Fullscreen</option>
          </select>
        </Row>
        <Row label="Max height">
          <Number name="maxHeight" label="Max height" min={100} max={4000} step={50} />
        </Row>
        <Choice name="locale" label="Locale" options={locales.map((l) => [l, l])} />
      </Section>
      <Section name="What the host tells the plugin">
        <Choice name="client" label="Client" options={[["chatgpt", "ChatGPT"], ["hashed", "Host with hashed domains"], ["plain", "Plain MCP client"]]} />
        <Choice name="era" label="Protocol" options={[["auto", "Newest it speaks"], ["2026", "2026-07-28 only"], ["2025", "Handshake era"]]} />
        <Choice name="location" label="Location" options={[["off", "Not sent"], ...Object.entries(LOCATIONS).map(([key, place]) => [key, String(place.city)] as [string, string])]} />
        <Row label="User agent">
          <input type="text" aria-label="User agent" value={k.userAgent} onInput={(e) => turn("userAgent", e.currentTarget.value)} />
        </Row>
        <Switch name="subject" label="Subject" />
        <Switch name="session" label="Session" />
        <Switch name="organization" label="Organisation" />
        <Switch name="oldLocale" label="Locale under the old key (webplus/i18n)" />
      </Section>
      <Section name="What the host can do">
        <Switch name="library" label="File library" />
        <Switch name="streaming" label="Stream arguments to widgets" />
        <Switch name="developer" label="Developer mode: no content policy" />
      </Section>
      <Section name="Trouble">
        <Row label="Latency, ms">
          <Number name="latency" label="Latency, ms" min={0} max={30000} step={100} />
        </Row>
        <Choice name="failure" label="Calls fail" options={[["none", "No"], ["network", "Network error"], ["server", "HTTP 500"], ["tool", "Tool error"]]} />
      </Section>
    </div>
  );
}

function Row({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="knob">
      <span aria-hidden="true">{label}</span>
      {children}
    </div>
  );
}

function Choice<K extends keyof All>({ name, label, options }: { name: K; label: string; options: Named<All[K]> }) {
  return (
    <Row label={label}>
      <select aria-label={label} value={String(knobs.value[name])} onChange={(e) => turn(name, e.currentTarget.value as All[K])}>
        {options.map(([value, text]) => (
          <option key={String(value)} value={String(value)}>
            {text}
          </option>
        ))}
      </select>
    </Row>
  );
}

/** A number that acts as soon as it is one that can be used. */
function Number({ name, label, min, max, step }: { name: "maxHeight" | "latency"; label: string; min: number; max: number; step: number }) {
  return (
    <input
      type="number"
      aria-label={label}
      min={min}
      max={max}
      step={step}
      value={knobs.value[name]}
      onInput={(e) => {
        const typed = e.currentTarget.valueAsNumber;
        if (typed >= min && typed <= max) turn(name, typed);
      }}
    />
  );
}

function Switch({ name, label }: { name: "subject" | "session" | "organization" | "oldLocale" | "library" | "developer" | "streaming"; label: string }) {
  return (
    <label class="switch">
      <input type="checkbox" checked={knobs.value[name]} onChange={(e) => turn(name, e.currentTarget.checked)} />
      {label}
    </label>
  );
}
