import { useEffect, useRef, useState } from "preact/hooks";
import { message } from "../json";
import { factsOf, type Account as Kept } from "../mcp/accounts";
import { isProfile } from "../mcp/tools";
import type { Connection } from "../mcp/connection";
import { connection } from "../state/plugins";
import { Icon } from "./icons";
import { toast } from "./toast";
import "../style/account.css";

const WINDOW = "popup,width=520,height=820"; // the consent page with a plugin's few scopes, whole

/** Sign in to the plugin, then connect anew and ask the profile tool who that was. */
export async function signIn(current: Connection, challenge: string): Promise<boolean> {
  const popup = window.open("about:blank", "tenantry-sign-in", WINDOW);
  try {
    const id = await current.accounts.signIn(challenge, popup);
    await current.connect();
    await nameAccount(current, id);
    return true;
  } catch (error) {
    toast(`Sign-in failed: ${message(error)}`);
    return false;
  }
}

async function nameAccount(current: Connection, id: string): Promise<void> {
  const inUse = () => current.accounts.current.value?.id === id; // the tool answers for whoever is
  const tool = current.tools.value.find(isProfile);
  const result = tool && inUse() ? await current.callTool(tool.name, {}, {}).catch(() => undefined) : undefined;
  const profile = result?.structuredContent;
  if (profile?.id && inUse()) current.accounts.name(id, profile);
}

/** Who uses the plugin: nobody, or one of the accounts that signed in. */
export function Account() {
  const current = connection.value;
  const [busy, setBusy] = useState(false);
  const menu = useRef<HTMLDivElement>(null);
  if (!current) return null;
  const { all, current: used } = current.accounts;
  const wantsAuth = all.value.length > 0 || current.status.value === "sign-in" || current.tools.value.some((t) => (t.securitySchemes ?? t._meta?.securitySchemes ?? []).some((s: { type: string }) => s.type === "oauth2"));
  if (!wantsAuth) return null;

  async function add(): Promise<void> {
    menu.current?.hidePopover();
    setBusy(true);
    await signIn(current!, current!.challenge);
    setBusy(false);
  }

  async function change(id: string | null): Promise<void> {
    menu.current?.hidePopover();
    current!.accounts.use(id);
    await current!.connect();
  }

  async function forget(id: string): Promise<void> {
    const mine = used.value?.id === id;
    current!.accounts.forget(id);
    if (mine) await change(null);
  }

  if (all.value.length === 0)
    return (
      <section class="account" aria-label="Account">
        <span class="avatar" aria-hidden="true">
          <Icon name="person" />
        </span>
        <span class="account-who">Signed out</span>
        <button type="button" class="quiet-button" disabled={busy} onClick={() => void add()}>
          {busy ? "Waiting…" : "Sign in"}
        </button>
      </section>
    );
  return (
    <section class="account" aria-label="Account">
      <button type="button" class="account-button" popoverTarget="accounts">
        <span class="hidden">Account: </span>
        <Avatar account={used.value} />
        <span class="account-who">
          <span class="account-name">{used.value?.label ?? "Signed out"}</span>
          {used.value?.detail && <small>{used.value.detail}</small>}
        </span>
      </button>
      <div id="accounts" popover="auto" class="accounts" ref={menu} aria-label="Accounts">
        <ul>
          {all.value.map((account) => (
            <li key={account.id}>
              <button type="button" class="accounts-one" aria-pressed={account.id === used.value?.id} onClick={() => void change(account.id)}>
                <Avatar account={account} />
                <span class="account-who">
                  <span class="account-name">{account.label}</span>
                  {account.detail && <small>{account.detail}</small>}
                </span>
                {account.id === used.value?.id && <Icon name="check" />}
              </button>
              <button type="button" class="icon-button" aria-label={`Forget ${account.label}`} title={`Forget ${account.label}`} onClick={() => void forget(account.id)}>
                <Icon name="trash" />
              </button>
            </li>
          ))}
        </ul>
        {used.value && <Granted account={used.value} />}
        <div class="accounts-foot">
          <button type="button" class="quiet-button" disabled={busy} onClick={() => void add()}>
            {busy ? "Waiting…" : used.value ? "Add account" : "Sign in"}
          </button>
          {used.value && (
            <button type="button" class="quiet-button" onClick={() => void change(null)}>
              Sign out
            </button>
          )}
        </div>
      </div>
    </section>
  );
}

function Avatar({ account }: { account?: Kept }) {
  const words = account?.label.replace(/^user-/, "").match(/[\p{L}\p{N}]+/gu) ?? [];
  return (
    <span class="avatar" aria-hidden="true" data-used={Boolean(account)}>
      {account ? words.slice(0, 2).map((word) => word.charAt(0).toUpperCase()).join("") || "?" : <Icon name="person" />}
    </span>
  );
}

/** What the person granted, as a plugin sees it, and for how long. */
function Granted({ account }: { account: Kept }) {
  const { scopes } = factsOf(account);
  return (
    <div class="granted">
      {scopes.length ? scopes.map((scope) => <code key={scope}>{scope}</code>) : <span class="quiet">No scopes granted</span>}
      <Validity account={account} />
    </div>
  );
}

/** How long the token lasts, minute by minute. */
function Validity({ account }: { account: Kept }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 15_000);
    return () => clearInterval(timer);
  }, []);
  const { expires, refreshes, refused } = factsOf(account);
  const minutes = expires === undefined ? undefined : Math.ceil((expires - Date.now()) / 60_000);
  const over = refused || (minutes !== undefined && minutes <= 0);
  const now = over ? "The token has expired" : minutes === undefined ? "The token does not say when it expires" : `The token expires in ${minutes} min`;
  return (
    <small class="quiet" data-over={over && !refreshes}>
      {now}, {refreshes ? "and is refreshed" : "and you sign in again"}
    </small>
  );
}
