import type { Dict } from "../json";
import { conversationId } from "../state/conversation";
import { identity, knobs, LOCATIONS } from "../state/knobs";

const CALLS = new Set(["tools/call", "resources/read", "prompts/get"]);

/**
 * The `_meta` that ChatGPT adds to a request (M01 to M06): the locale always, the five others on calls, by the model
 * and by widgets alike. Each can be switched off; clients that are not ChatGPT send none.
 */
export function clientMeta(method: string): Dict {
  const k = knobs.value;
  if (k.client !== "chatgpt") return {};
  const meta: Dict = {};
  if (k.locale) meta[k.oldLocale ? "webplus/i18n" : "openai/locale"] = k.locale;
  if (!CALLS.has(method)) return meta;
  if (k.userAgent) meta["openai/userAgent"] = k.userAgent;
  if (LOCATIONS[k.location]) meta["openai/userLocation"] = LOCATIONS[k.location];
  if (k.subject) meta["openai/subject"] = identity.value.subject;
  if (k.session) meta["openai/session"] = `v1/${conversationId.value}`;
  if (k.organization) meta["openai/organization"] = identity.value.organization;
  return meta;
}

/** How each kind of client introduces itself. */
export const CLIENT_INFO = {
  chatgpt: { name: "openai-mcp", version: "1.0.0" },
  hashed: { name: "claude-ai", version: "0.1.0" },
  plain: { name: "tenantry-host", version: "1.0.0" },
} as const;
