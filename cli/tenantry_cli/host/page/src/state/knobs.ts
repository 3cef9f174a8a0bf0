import { computed } from "@preact/signals";
import type { Insets } from "../channel";
import { newId } from "../json";
import { stored } from "./stored";

export type Device = "desktop" | "tablet" | "phone";

/** What a person can turn while looking at a widget. Each acts live. */
export interface Knobs {
  theme: "light" | "dark";
  locale: string;
  device: Device;
  maxHeight: number;
  userAgent: string;
  location: string;
  subject: boolean;
  session: boolean;
  organization: boolean;
  oldLocale: boolean;
  library: boolean;
  era: "auto" | "2025" | "2026";
  client: "chatgpt" | "hashed" | "plain";
  latency: number;
  failure: "none" | "network" | "server" | "tool";
  developer: boolean;
  streaming: boolean;
}

export const DEFAULTS: Knobs = {
  theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
  locale: navigator.language || "en-US",
  device: "desktop",
  maxHeight: 800,
  userAgent: "ChatGPT/1.2026.320 (Web)",
  location: "amsterdam",
  subject: true,
  session: true,
  organization: false,
  oldLocale: false,
  library: true,
  era: "auto",
  client: "chatgpt",
  latency: 0,
  failure: "none",
  developer: false,
  streaming: false,
};

export const LOCATIONS: Record<string, Record<string, string | number>> = {
  amsterdam: { city: "Amsterdam", region: "North Holland", country: "NL", timezone: "Europe/Amsterdam", longitude: 4.9, latitude: 52.37 },
  tokyo: { city: "Tokyo", region: "Tokyo", country: "JP", timezone: "Asia/Tokyo", longitude: 139.69, latitude: 35.69 },
  denver: { city: "Denver", region: "Colorado", country: "US", timezone: "America/Denver", longitude: -104.99, latitude: 39.74 },
};

export const knobs = stored<Knobs>("tenantry.knobs", DEFAULTS);

export function turn<K extends keyof Knobs>(name: K, value: Knobs[K]): void {
  knobs.value = { ...knobs.value, [name]: value };
}

/** Anonymous ids as a host makes them up: one a person, one an organisation; the conversation has its own. */
export const identity = stored("tenantry.identity", { subject: `v1/${newId("u")}`, organization: `v1/${newId("org")}` });

const NO_INSETS: Insets = { top: 0, right: 0, bottom: 0, left: 0 };
const PHONE_INSETS: Insets = { top: 47, right: 0, bottom: 34, left: 0 };

export const device = computed(() => {
  const kind = knobs.value.device;
  return {
    type: kind === "phone" ? ("mobile" as const) : kind,
    touch: kind !== "desktop",
    hover: kind === "desktop",
    insets: kind === "phone" ? PHONE_INSETS : NO_INSETS,
    width: kind === "phone" ? 390 : kind === "tablet" ? 640 : 768,
    platform: kind === "phone" ? ("mobile" as const) : ("web" as const),
  };
});
