import { isDict, type Dict } from "../json";

const SHOWN = 12; // files of one result
const DEPTH = 8; // levels of structuredContent that are looked into

/** A file that a result leads to. */
export interface Made {
  url: string;
  name: string;
  type?: string;
}

/** The files in a result: resource links of content, and references ({download_url, file_name}) in structuredContent. */
export function filesOf({ content, structuredContent }: Dict): Made[] {
  const found = new Map<string, Made>();
  const take = (url: unknown, name: unknown, type: unknown) => {
    if (typeof url !== "string" || !/^https?:/.test(url) || found.has(url) || found.size === SHOWN) return;
    found.set(url, { url, name: typeof name === "string" && name ? name : last(url), type: typeof type === "string" ? type : undefined });
  };
  const look = (value: unknown, depth = 0): void => {
    if (depth > DEPTH || typeof value !== "object" || value === null) return;
    if (isDict(value)) take(value.download_url ?? value.downloadUrl, value.file_name ?? value.fileName, value.mime_type ?? value.mimeType);
    for (const inner of Object.values(value)) look(inner, depth + 1);
  };
  look(structuredContent);
  for (const block of Array.isArray(content) ? content : []) if (block?.type === "resource_link") take(block.uri, block.title ?? block.name, block.mimeType);
  return [...found.values()];
}

function last(url: string): string {
  const name = URL.parse(url)?.pathname.split("/").pop() ?? "";
  try {
    return decodeURIComponent(name) || "file";
  } catch {
    return name;
  }
}
