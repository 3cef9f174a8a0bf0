import {
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { computed } from "@preact/signals";
import { newId } from "../json";
import { stored } from "../state/stored";

const CALLBACK = `${location.origin}/_host/callback`;
const EARLY = 30_000; // milliseconds before expiry at which a token is refreshed

interface Account {
  id: string;
  label: string;
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

  name(id: string, label: string): void {
    this.#change(id, { label });
  }

  /** The access token of the account in use, refreshed when it is about to expire. */
  async token(): Promise<string | undefined> {
    const account = this.current.value;
    if (!account?.tokens) return undefined;
    if (account.expires && account.expires - EARLY < Date.now() && account.tokens.refresh_token) {
      const result = await auth(this.#provider(account.id), { serverUrl: this.serverUrl }).catch(() => "FAILED");
      if (result !== "AUTHORIZED") return account.tokens.access_token; // the server's 401 then says what is wrong
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
      this.#change(id, { label: "Signed in" });
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
    return {
      redirectUrl: CALLBACK,
      clientMetadata: {
        client_name: "Tenantry local host",
        redirect_uris: [CALLBACK],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
      },
      state: () => newId("state"),
      clientInformation: () => find()?.client,
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
