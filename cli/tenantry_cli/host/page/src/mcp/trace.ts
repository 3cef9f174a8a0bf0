import { knobs } from "../state/knobs";
import { record, type Exchange } from "../state/log";
import { refuse } from "./accounts";

const BODY = 400_000; // characters of a response that are kept to look at
let last = 0;

export interface Watch {
  /** The bearer token of the account in use. */
  token: () => Promise<string | undefined>;
  /** Told of a 401 or 403 with the challenge it carries. */
  challenged: (status: number, challenge: string) => void;
}

/** `fetch` as the client uses it: recorded for the panes, with the latency and the failure that the person has set. */
export function watchedFetch(watch: Watch): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    const token = await watch.token();
    let response = await send(url, init, token);
    if (response.status === 401 && token) {
      refuse(token); // a host refreshes a token that is over and tries once more, before it bothers anybody
      const fresh = await watch.token();
      if (fresh && fresh !== token) response = await send(url, init, fresh);
    }
    if (response.status === 401 || response.status === 403)
      watch.challenged(response.status, response.headers.get("www-authenticate") ?? "");
    return response;
  };
}

async function send(url: string | URL, init: RequestInit, token: string | undefined): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token && !headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
  const body = typeof init.body === "string" ? parsed(init.body) : undefined;
  const rpc = (body as { method?: string } | undefined)?.method ?? init.method ?? "GET";
  const exchange: Exchange = {
    id: ++last,
    at: Date.now(),
    rpc,
    url: String(url),
    request: { headers: shown(headers), body },
  };
  record(exchange);
  const began = performance.now();
  try {
    if (rpc === "tools/call") await inject(init.signal ?? undefined);
    const response =
      rpc === "tools/call" && knobs.value.failure === "server"
        ? new Response("Injected by the local host", { status: 500 })
        : await fetch(url, { ...init, headers });
    const ms = performance.now() - began;
    const head = { status: response.status, headers: shown(response.headers) };
    record({ ...exchange, ms, response: { ...head, body: "" } });
    if (init.method === "POST") void keepBody(response.clone(), { ...exchange, ms }, head);
    return response;
  } catch (error) {
    record({ ...exchange, ms: performance.now() - began, error: String(error) });
    throw error;
  }
}

async function keepBody(response: Response, exchange: Exchange, head: { status: number; headers: Record<string, string> }) {
  try {
    const body = (await response.text()).slice(0, BODY);
    record({ ...exchange, response: { ...head, body } });
  } catch (error) {
    record({ ...exchange, response: { ...head, body: "" }, error: String(error) });
  }
}

async function inject(signal: AbortSignal | undefined): Promise<void> {
  const { latency, failure } = knobs.value;
  if (latency > 0) await new Promise((resolve) => setTimeout(resolve, latency));
  if (signal?.aborted) throw signal.reason;
  if (failure === "network") throw new TypeError("Failed to fetch (injected by the local host)");
}

function shown(headers: Headers): Record<string, string> {
  const all = Object.fromEntries(headers.entries());
  if (all.authorization) all.authorization = `${all.authorization.slice(0, 18)}…`;
  return all;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
