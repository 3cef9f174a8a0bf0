import { isDict, type Dict } from "../json";

/** Who may call a tool. `_meta.ui.visibility` wins; the legacy defaults hold for a tool of the legacy dialect only (T07, T08). */
export function visibility(tool: Dict): { model: boolean; app: boolean } {
  const meta: Dict = tool._meta ?? {};
  const list = isDict(meta.ui) ? meta.ui.visibility : undefined;
  if (Array.isArray(list)) return { model: list.includes("model"), app: list.includes("app") };
  const legacy = typeof meta["openai/outputTemplate"] === "string" && meta.ui === undefined;
  const accessible = meta["openai/widgetAccessible"];
  return {
    model: meta["openai/visibility"] !== "private",
    app: typeof accessible === "boolean" ? accessible : !legacy,
  };
}

/** The ui:// resource a tool is shown in: MCP Apps first, its older flat key, then ChatGPT's alias. */
export function template(tool: Dict): string | undefined {
  const meta: Dict = tool._meta ?? {};
  const uri = meta.ui?.resourceUri ?? meta["ui/resourceUri"] ?? meta["openai/outputTemplate"];
  return typeof uri === "string" ? uri : undefined;
}

/** A host asks first unless the tool says that it only reads and destroys nothing (N01, N02). */
export function needsApproval(tool: Dict): boolean {
  return tool.annotations?.readOnlyHint !== true || tool.annotations?.destructiveHint === true;
}

export function title(tool: Dict): string {
  return tool.title ?? tool.annotations?.title ?? tool.name;
}

/** Arguments in the order of the tool's schema, which is the form's; what it does not name comes last. */
export function ordered(tool: Dict, args: Dict): Dict {
  const named = Object.keys(tool.inputSchema?.properties ?? {}).filter((name) => name in args);
  return { ...Object.fromEntries(named.map((name) => [name, args[name]])), ...args };
}

export function fileParams(tool: Dict): string[] {
  const list = tool._meta?.["openai/fileParams"];
  return Array.isArray(list) ? list.filter((name) => typeof name === "string") : [];
}

export function status(tool: Dict, when: "invoking" | "invoked"): string {
  const text = tool._meta?.[`openai/toolInvocation/${when}`];
  if (typeof text === "string" && text) return text;
  return when === "invoking" ? `Calling ${title(tool)}…` : `Called ${title(tool)}`;
}

export function isProfile(tool: Dict): boolean {
  return tool._meta?.["openai/profile"] === true;
}

/** What the model is given of a tool: no `_meta`. */
export function forModel(tool: Dict): Dict {
  const { _meta: _, ...rest } = tool;
  return rest;
}

export interface UiMeta {
  csp: Dict | null;
  permissions: Dict | null;
  domain?: string;
  border?: boolean;
  displayModes?: string[];
  description?: string;
  redirectDomains: string[];
}

/** What a template's `_meta` says in either dialect; `ui.*` counts, the aliases where it is silent (R02 to R10). */
export function uiMeta(meta: Dict): UiMeta {
  const ui: Dict = isDict(meta.ui) ? meta.ui : {};
  const alias: Dict | undefined = meta["openai/widgetCSP"];
  const csp = isDict(ui.csp)
    ? ui.csp
    : isDict(alias)
      ? {
          connectDomains: alias.connect_domains,
          resourceDomains: alias.resource_domains,
          frameDomains: alias.frame_domains,
        }
      : null;
  const modes = meta["openai/ui"]?.availableDisplayModes;
  return {
    csp,
    permissions: isDict(ui.permissions) ? ui.permissions : null,
    domain: ui.domain ?? meta["openai/widgetDomain"],
    border: ui.prefersBorder ?? meta["openai/widgetPrefersBorder"],
    displayModes: Array.isArray(modes) ? modes : undefined,
    description: meta["openai/widgetDescription"],
    redirectDomains: isDict(alias) && Array.isArray(alias.redirect_domains) ? alias.redirect_domains : [],
  };
}
