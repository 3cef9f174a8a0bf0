import {
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { computed } from "@preact/signals";
import { newId, type Dict } from "../json";
import { stored } from "../state/stored";

const CALLBACK = `${location.origin}/_host/callback`;
/** By this document the development authorization server knows the page; others register it. */
const DOCUMENT = `${location.origin}/_host/client.json`;
const EARLY = 30_000; // milliseconds before expiry at which a token is refreshed

/** Access tokens that a plugin answered with 401: whatever they promised, they are over. */
const refused = new Set<string>();

export function refuse(token: string): void {
  refused.add(token);
}

export interface Account {
  id: string;
  label: string;
  /** What tells two of one name apart: the email, or the subject. */
  detail?: string;
  /** Who it is to the plugin: signing in as the same one again replaces it. */
  subject?: string;
  tokens?: StoredOAuthTokens;
  expires?: number;
  client?: StoredOAuthClientInformation;
}

interface Kept {
  accounts: Account[];
  current: string | null;
}

/** The accounts a person has signed in to one plugin with, kept as long as the browser keeps them. */
export class Accounts {
  readonly #kept;
  #refreshing: Promise<unknown> | undefined;
  readonly current;
  readonly all;

  constructor(private readonly serverUrl: string) {
    this.#kept = stored<Kept>(`tenantry.accounts.${serverUrl}`, { accounts: [], current: null });
    this.all = computed(() => this.#kept.value.accounts);
    this.current = computed(() => this.#kept.value.accounts.find((a) => a.id === this.#kept.value.current));
  }

  use(id: string | null): void {
    this.#kept.value = { ...this.#kept.value, current: id };
  }

  forget(id: string): void {
    const { accounts, current } = this.#kept.value;
    this.#kept.value = { accounts: accounts.filter((a) => a.id !== id), current: current === id ? null : current };
  }

  /** Say who an account is: by the profile tool, else by what its token says. */
  name(id: string, profile: Dict = {}): void {
    const account = this.all.value.find((a) => a.id === id);
    if (!account) return;
    const claims = claimsOf(account.tokens?.access_token);
    const subject: string | undefined = profile.id ?? claims.sub;
    const label = profile.name ?? profile.nickname ?? profile.email ?? claims.name ?? claims.email ?? subject;
    const detail = [profile.email ?? claims.email, subject].find((known) => known && known !== label);
    for (const other of this.all.value) if (subject && other.subject === subject && other.id !== id) this.forget(other.id);
    this.#change(id, { label: label ?? `Account ${this.all.value.length}`, detail, subject });
  }

  /** The access token of the account in use, refreshed when it is about to expire or was refused. */
  async token(): Promise<string | undefined> {
    const account = this.current.value;
    if (!account?.tokens) return undefined;
    const over = refused.has(account.tokens.access_token) || (account.expires ?? Infinity) - EARLY < Date.now();
    if (over && account.tokens.refresh_token) {
      // One at a time: a refresh token counts once. Where it fails, the server's 401 says what is wrong.
      this.#refreshing ??= auth(this.#provider(account.id), { serverUrl: this.serverUrl })
        .catch(() => "FAILED")
        .finally(() => (this.#refreshing = undefined));
      await this.#refreshing;
    }
    return this.current.value?.tokens?.access_token;
  }

  /**
   * Sign in through the authorization server that the challenge (or the well-known document) leads to, in a window of
   * its own. `popup` was opened by the click, before anything was awaited: browsers block it otherwise.
   */
  async signIn(challenge: string, popup: Window | null): Promise<string> {
    const id = newId("account");
    const asked = extractWWWAuthenticateParams(new Response(null, { headers: challenge ? { "www-authenticate": challenge } : {} }));
    const account: Account = { id, label: "Signing in…", client: this.#kept.value.accounts.find((a) => a.client)?.client };
    this.#kept.value = { ...this.#kept.value, accounts: [...this.#kept.value.accounts, account] };
    const answered = callback(popup);
    let state = "";
    const provider = this.#provider(id, (url) => {
      state = url.searchParams.get("state") ?? "";
      if (popup) popup.location.href = url.href;
      else window.open(url, "_blank");
    });
    const options = { serverUrl: this.serverUrl, resourceMetadataUrl: asked.resourceMetadataUrl, scope: asked.scope };
    try {
      if ((await auth(provider, options)) === "REDIRECT") {
        const answer = await answered.promise;
        if (answer.error) throw new Error(answer.error_description ?? answer.error);
        if (!answer.code || answer.state !== state) throw new Error("The sign-in came back without a code of ours.");
        await auth(provider, { ...options, authorizationCode: answer.code, iss: answer.iss });
      }
      this.name(id);
      this.use(id);
      return id;
    } catch (error) {
      this.forget(id);
      throw error;
    } finally {
      answered.stop();
      popup?.close();
    }
  }

  #change(id: string, patch: Partial<Account>): void {
    const accounts = this.#kept.value.accounts.map((a) => (a.id === id ? { ...a, ...patch } : a));
    this.#kept.value = { ...this.#kept.value, accounts };
  }

  #provider(id: string, open: (url: URL) => void = () => undefined): OAuthClientProvider {
    let verifier = "";
    const find = () => this.#kept.value.accounts.find((a) => a.id === id);
    const ours = (issuer?: string) => issuer?.startsWith(`${location.origin}/`);
    return {
      redirectUrl: CALLBACK,
      clientMetadata: {
        client_name: "the local ChatGPT",
        redirect_uris: [CALLBACK],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
      },
      state: () => newId("state"),
      clientInformation: (context) => (ours(context?.issuer) ? { client_id: DOCUMENT } : find()?.client),
      saveClientInformation: (client) => this.#change(id, { client: client as StoredOAuthClientInformation }),
      tokens: () => find()?.tokens,
      saveTokens: (tokens) =>
        this.#change(id, { tokens, expires: tokens.expires_in ? Date.now() + tokens.expires_in * 1000 : undefined }),
      redirectToAuthorization: open,
      saveCodeVerifier: (value) => {
        verifier = value;
      },
      codeVerifier: () => verifier,
    };
  }
}

/** What the authorization server sends back to the callback page, or that the person closed the window. */
function callback(popup: Window | null): { promise: Promise<Record<string, string>>; stop: () => void } {
  const channel = new BroadcastChannel("tenantry-sign-in");
  let timer: ReturnType<typeof setInterval>;
  const promise = new Promise<Record<string, string>>((resolve) => {
    channel.onmessage = (event) => resolve(event.data as Record<string, string>);
    timer = setInterval(() => {
      if (popup?.closed) setTimeout(() => resolve({ error: "The sign-in window was closed." }), 300);
    }, 500);
  });
  return {
    promise,
    stop() {
      clearInterval(timer);
      channel.close();
    },
  };
}

export interface Facts {
  scopes: string[];
  /** Milliseconds of the clock. */
  expires?: number;
  refreshes: boolean;
  refused: boolean;
}

/** What is known of an account's token. */
export function factsOf({ tokens, expires }: Account): Facts {
  const claims = claimsOf(tokens?.access_token);
  return {
    scopes: String(claims.scope ?? tokens?.scope ?? "").split(" ").filter(Boolean),
    expires: typeof claims.exp === "number" ? claims.exp * 1000 : expires,
    refreshes: Boolean(tokens?.refresh_token),
    refused: refused.has(tokens?.access_token ?? ""),
  };
}

/** What a JWT says, unverified: for a person to look at. Of an opaque token, nothing. */
export function claimsOf(token = ""): Dict {
  try {
    const bytes = Uint8Array.from(atob((token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return {};
  }
}
