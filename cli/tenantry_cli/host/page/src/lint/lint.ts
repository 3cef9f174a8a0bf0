import { isDict, type Dict } from "../json";
import { fileParams, isProfile, template } from "../mcp/tools";

export interface Finding {
  severity: "error" | "warn" | "info";
  rule: string;
  message: string;
  hint?: string;
}

const STATUS = 64; // characters (T09, T10)

/** What can be seen to be wrong with a tool on the wire; `platform check` sees more, this works for any server. */
export function lintTool(tool: Dict, all: Dict[]): Finding[] {
  const found: Finding[] = [];
  const say = (severity: Finding["severity"], rule: string, message: string, hint?: string) => found.push({ severity, rule, message, hint });
  const meta: Dict = tool._meta ?? {};
  const notes: Dict = tool.annotations ?? {};

  for (const key of ["readOnlyHint", "destructiveHint", "openWorldHint"])
    if (typeof notes[key] !== "boolean") say("error", "annotations.required", `${key} is not set.`, "ChatGPT's scan refuses a tool that leaves one of the three hints out.");
  for (const when of ["invoking", "invoked"]) {
    const text = meta[`openai/toolInvocation/${when}`];
    if (typeof text === "string" && text.length > STATUS) say("error", "status.too-long", `The ${when} text has ${text.length} characters.`, `At most ${STATUS} are shown.`);
  }
  const alias = meta["openai/outputTemplate"];
  if (alias && meta.ui?.resourceUri && alias !== meta.ui.resourceUri)
    say("error", "template.disagrees", "openai/outputTemplate and ui.resourceUri name different templates.", "Keep ui.resourceUri, or make both the same.");
  for (const key of ["csp", "permissions", "domain"])
    if (isDict(meta.ui) && key in meta.ui) say("error", "csp.on-tool", `_meta.ui.${key} is on the tool and ignored there.`, "It belongs on the resource's contents.");
  if (isProfile(tool)) lintProfile(tool, all, say);
  if ("openai/profile" in meta && meta["openai/profile"] !== true) say("error", "profile.value", "openai/profile is true or absent.");
  for (const name of fileParams(tool)) for (const wrong of fileParamProblems(tool.inputSchema ?? {}, name)) say("error", "file-params", `${name}: ${wrong}.`);
  const mirror = meta.securitySchemes;
  if (JSON.stringify(tool.securitySchemes) !== JSON.stringify(mirror) && (mirror || tool.securitySchemes))
    say("warn", "security-schemes.mirror", "securitySchemes and its copy in _meta differ.", "Clients read one or the other.");
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(tool.name)) say("error", "tool.name", "Some validators refuse this name.", "Use up to 64 of A-Z, a-z, 0-9, _ and -.");
  if (!tool.description) say("warn", "tool.description", "There is no description: the model can't know when to use it.");
  return found;
}

function lintProfile(tool: Dict, all: Dict[], say: (severity: "error", rule: string, message: string) => void): void {
  if (tool.annotations?.readOnlyHint !== true) say("error", "profile.read-only", "The profile tool has to be read-only.");
  if (all.filter(isProfile).length > 1) say("error", "profile.one", "There is more than one profile tool.");
  const schemes: Dict[] = tool.securitySchemes ?? tool._meta?.securitySchemes ?? [];
  if (!schemes.length || schemes.some((s) => s.type === "noauth")) say("error", "profile.auth", "The profile tool has to require sign-in.");
}

/** F01, F02: what is wrong with a file parameter's schema. */
export function fileParamProblems(schema: Dict, name: string): string[] {
  const follow = (node: unknown): Dict | undefined => {
    let at = isDict(node) ? node : undefined;
    for (let depth = 0; at && typeof at.$ref === "string" && depth < 10; depth += 1) {
      const path = at.$ref.replace(/^#\//, "").split("/");
      at = path.reduce<Dict | undefined>((inner, key) => inner?.[key], schema);
    }
    return at;
  };
  let file = follow(schema.properties?.[name]);
  if (!file) return ["there is no such top-level property"];
  if (file.type === "array") file = follow(file.items);
  if (!file?.properties) return ["it is not an object, nor a list of objects"];
  const wrong: string[] = [];
  for (const key of ["download_url", "file_id", "mime_type", "file_name"])
    if (follow(file.properties[key])?.type !== "string") wrong.push(`it does not declare ${key} as a string`);
  const required: string[] = file.required ?? [];
  for (const key of ["download_url", "file_id"]) if (!required.includes(key)) wrong.push(`${key} is not required`);
  for (const key of required) if (key !== "download_url" && key !== "file_id") wrong.push(`${key} must not be required`);
  return wrong;
}

/** What can be seen to be wrong with a template's metadata. */
export function lintTemplate(meta: Dict, from: string): Finding[] {
  const found: Finding[] = [];
  const say = (severity: Finding["severity"], rule: string, message: string, hint?: string) => found.push({ severity, rule, message, hint });
  const ui: Dict = meta.ui ?? {};
  const alias: Dict | undefined = meta["openai/widgetCSP"];
  if (!ui.domain && !meta["openai/widgetDomain"]) say("warn", "domain.missing", "No ui.domain: it is required to submit a plugin with a widget.", "It is given when the plugin is published on a domain.");
  else if (!/^https:\/\/[^/]+$/.test(ui.domain ?? meta["openai/widgetDomain"])) say("warn", "domain.form", "ChatGPT wants ui.domain as an https origin.");
  if (!isDict(ui.csp) && !isDict(alias)) say("warn", "csp.missing", "No CSP is published: the strict default holds, nothing is loaded from elsewhere.");
  const pairs: [string, unknown, unknown][] = [
    ["prefersBorder", ui.prefersBorder, meta["openai/widgetPrefersBorder"]],
    ["domain", ui.domain, meta["openai/widgetDomain"]],
    ["csp.connectDomains", ui.csp?.connectDomains, alias?.connect_domains],
    ["csp.resourceDomains", ui.csp?.resourceDomains, alias?.resource_domains],
    ["csp.frameDomains", ui.csp?.frameDomains, alias?.frame_domains],
  ];
  for (const [name, standard, older] of pairs)
    if (standard !== undefined && older !== undefined && JSON.stringify(standard) !== JSON.stringify(older))
      say("error", "alias.disagrees", `ui.${name} and its openai/* alias differ.`, "Hosts read one or the other.");
  if (ui.csp?.frameDomains?.length) say("info", "csp.frames", "frameDomains need a reason at submission.");
  if (from === "list") say("warn", "meta.list-only", "The metadata is only in resources/list.", "Some hosts read it from resources/read only: give it in both.");
  return found;
}

/** Whether the tool shows a widget that isn't there. */
export function lintLink(tool: Dict, resources: Dict[]): Finding[] {
  const uri = template(tool);
  if (!uri || resources.some((r) => r.uri === uri)) return [];
  return [{ severity: "info", rule: "template.unlisted", message: `${uri} is not in resources/list.`, hint: "That is allowed; it has to be readable all the same." }];
}
