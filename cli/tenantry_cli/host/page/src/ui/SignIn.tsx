import { useState } from "preact/hooks";
import { extractWWWAuthenticateParams } from "@modelcontextprotocol/client";
import { connection } from "../state/plugins";
import { signIn } from "./Account";
import { Icon } from "./icons";

/** The card that a challenge asks for (S05): connect an account, then go on. */
export function SignIn({ challenge, text, then }: { challenge: string; text?: string; then?: () => void }) {
  const [busy, setBusy] = useState(false);
  const headers = new Headers(challenge ? { "www-authenticate": challenge } : {});
  const { scope, error } = extractWWWAuthenticateParams(new Response(null, { headers }));
  const signedIn = connection.value?.accounts.current.value;
  const why = !signedIn ? "The tool needs you to sign in." : error === "insufficient_scope" ? "The tool needs more than you granted." : "Your sign-in has expired.";
  async function go(): Promise<void> {
    const current = connection.value;
    if (!current) return;
    setBusy(true);
    const done = await signIn(current, challenge);
    setBusy(false);
    if (done) then?.();
  }
  return (
    <div class="card ask connect" role="group" aria-label="Connect account">
      <span class="avatar" aria-hidden="true">
        <Icon name="person" />
      </span>
      <div class="connect-text">
        <h3>Connect your account</h3>
        <p class="quiet">{text ?? why}</p>
        {scope && (
          <p class="granted">
            {scope.split(" ").map((one) => (
              <code key={one}>{one}</code>
            ))}
          </p>
        )}
      </div>
      <button type="button" class="primary" disabled={busy} onClick={() => void go()}>
        {busy ? "Waiting for the sign-in…" : "Connect account"}
      </button>
    </div>
  );
}
