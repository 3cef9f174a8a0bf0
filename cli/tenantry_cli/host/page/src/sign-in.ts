// The consent page of the development authorization server: takes the theme of the page that opened it, and says on the
// button who is about to sign in.
import type { Knobs } from "./state/knobs";
import { read } from "./state/stored";
import "./style/base.css";
import "./style/sign-in.css";

const wanted = read<Partial<Knobs>>("tenantry.knobs")?.theme;
document.documentElement.dataset.theme = wanted ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

const form = document.querySelector("form");
const button = form?.querySelector<HTMLButtonElement>("button[name=allow]");

function name(): void {
  const chosen = form?.querySelector<HTMLInputElement>("input[name=person]:checked");
  const typed = ["name", "email", "subject"].map((field) => form?.querySelector<HTMLInputElement>(`input[name=${field}]`)?.value.trim());
  const who = chosen?.dataset.title ?? typed.find(Boolean);
  if (button) button.textContent = who ? `Continue as ${who}` : "Continue";
}

form?.addEventListener("input", name);
name();
