import { useState } from "preact/hooks";
import { message } from "../json";
import { isProfile } from "../mcp/tools";
import type { Connection } from "../mcp/connection";
import { connection } from "../state/plugins";
import { Icon } from "./icons";
import { toast } from "./toast";

/** Sign in to the plugin, then connect anew and ask the profile tool who that was. */
export async function signIn(current: Connection, challenge: string): Promise<boolean> {
  const popup = window.open("about:blank", "tenantry-sign-in", "popup,width=480,height=640");
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
  const tool = current.tools.value.find(isProfile);
  const result = tool && (await current.callTool(tool.name, {}, {}).catch(() => undefined));
  const profile = result?.structuredContent;
  if (profile?.id) current.accounts.name(id, profile.name ?? profile.nickname ?? profile.email ?? profile.id);
}

export function Account() {
  const current = connection.value;
  const [busy, setBusy] = useState(false);
  if (!current) return null;
  const { all, current: used } = current.accounts;
  const wantsAuth = all.value.length > 0 || current.status.value === "sign-in" || current.tools.value.some((t) => (t.securitySchemes ?? t._meta?.securitySchemes ?? []).some((s: { type: string }) => s.type === "oauth2"));
  if (!wantsAuth) return null;

  async function add(): Promise<void> {
    setBusy(true);
    await signIn(current!, current!.challenge);
    setBusy(false);
  }

  async function change(id: string | null): Promise<void> {
    current!.accounts.use(id);
    await current!.connect();
  }

  return (
    <section class="account" aria-label="Account">
      <Icon name="person" />
      <select aria-label="Signed in as" value={used.value?.id ?? ""} onChange={(e) => void change(e.currentTarget.value || null)}>
        <option value="">Signed out</option>
        {all.value.map((account) => (
          <option key={account.id} value={account.id}>
            {account.label}
          </option>
        ))}
      </select>
      <button type="button" class="quiet-button" disabled={busy} onClick={() => void add()}>
        {all.value.length ? "Add" : "Sign in"}
      </button>
      {used.value && (
        <button type="button" class="quiet-button" onClick={() => current.accounts.forget(used.value!.id)} aria-label={`Forget ${used.value.label}`}>
          Forget
        </button>
      )}
    </section>
  );
}
