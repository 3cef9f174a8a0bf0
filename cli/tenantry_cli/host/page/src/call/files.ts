import { signal } from "@preact/signals";
import { isDict, type Dict } from "../json";

export interface Kept {
  fileId: string;
  fileName: string;
  mimeType: string;
  size: number;
}

/** URLs of files that tools returned as references, by plugin and file id: the tool's own link is all there is. */
const returned = new Map<string, string>();

/** A picker that is open: chosen files, or nothing. */
export const picker = signal<{ files: Kept[]; choose: (files: Kept[]) => void } | null>(null);

async function send(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(`/_host/files${path}`, init);
  if (!response.ok) throw new Error((await response.text()).trim());
  return response;
}

export async function upload(file: File, label: string, library: boolean): Promise<Kept> {
  const headers = { "X-File-Name": encodeURIComponent(file.name), "Content-Type": file.type || "application/octet-stream" };
  const query = new URLSearchParams({ label, library: library ? "1" : "0" });
  return (await send(`/?${query}`, { method: "POST", body: file, headers })).json();
}

/** Let the person pick from the library; what is picked is authorised for this plugin. */
export async function select(label: string): Promise<Kept[]> {
  const files: Kept[] = await (await send("/", {})).json();
  const chosen = await new Promise<Kept[]>((resolve) => {
    picker.value = { files, choose: resolve };
  });
  picker.value = null;
  for (const file of chosen) await post(`/${file.fileId}/grant`, label);
  return chosen;
}

/** A fresh download URL. Raises: an Error where this plugin has no such file. */
export async function downloadUrl(fileId: string, label: string): Promise<string> {
  const known = returned.get(`${label} ${fileId}`);
  if (known) return known;
  return (await (await post(`/${encodeURIComponent(fileId)}/link`, label)).json()).downloadUrl;
}

function post(path: string, label: string): Promise<Response> {
  return send(path, { method: "POST", body: JSON.stringify({ label }), headers: { "Content-Type": "application/json" } });
}

/** Remember the file references in a result: objects with file_id (or fileId) and download_url (or downloadUrl). */
export function remember(result: unknown, label: string): void {
  if (Array.isArray(result)) for (const item of result) remember(item, label);
  if (!isDict(result)) return;
  const id = result.file_id ?? result.fileId;
  const url = result.download_url ?? result.downloadUrl;
  if (typeof id === "string" && typeof url === "string") returned.set(`${label} ${id}`, url);
  for (const value of Object.values(result)) remember(value, label);
}

/** Arguments as the tool gets them: each file param with a fresh download URL (F03). */
export async function withDownloads(args: Dict, params: string[], label: string): Promise<Dict> {
  const filled = { ...args };
  const fill = async (value: unknown): Promise<unknown> => {
    if (!isDict(value) || typeof value.file_id !== "string") return value;
    const url = await downloadUrl(value.file_id, label).catch(() => value.download_url);
    return { ...value, download_url: url };
  };
  for (const name of params) {
    const value = filled[name];
    if (Array.isArray(value)) filled[name] = await Promise.all(value.map(fill));
    else if (value !== undefined) filled[name] = await fill(value);
  }
  return filled;
}
