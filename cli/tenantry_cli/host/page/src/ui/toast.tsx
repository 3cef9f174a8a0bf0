import { signal } from "@preact/signals";

const SHOWN = 3500; // milliseconds
const text = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;

export function toast(message: string): void {
  text.value = message;
  clearTimeout(timer);
  timer = setTimeout(() => {
    text.value = "";
  }, SHOWN);
}

export async function copy(what: string, value: string): Promise<void> {
  await navigator.clipboard.writeText(value);
  toast(`${what} copied`);
}

export function Toast() {
  return (
    <div class="toast" role="status" data-shown={text.value !== ""}>
      {text}
    </div>
  );
}
