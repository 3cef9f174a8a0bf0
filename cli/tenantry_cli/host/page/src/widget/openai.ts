import { downloadUrl, select, upload } from "../call/files";
import { isDict, message } from "../json";
import { knobs } from "../state/knobs";
import { answered, note } from "../state/log";
import { say, scrollRequests } from "../state/conversation";
import { callFromWidget, openLink } from "./acts";
import { Instance } from "./instance";

type Member = (instance: Instance, ...args: unknown[]) => unknown;

/** The members of window.openai that ask the host for something; the rest are values, or done inside the widget. */
const MEMBERS: Record<string, Member> = {
  callTool: (instance, name, args) => callFromWidget(instance, text(name, "a tool's name"), isDict(args) ? args : {}),
  sendFollowUpMessage(_, given) {
    const { prompt, scrollToBottom } = object(given);
    say(text(prompt, "a prompt"), "widget");
    if (scrollToBottom !== false) scrollRequests.value += 1;
  },
  async uploadFile(instance, file, options) {
    if (!(file instanceof File)) throw new Error("uploadFile takes a File.");
    const kept = await upload(file, instance.label, isDict(options) && options.library === true);
    return { fileId: kept.fileId };
  },
  async selectFiles(instance) {
    if (!knobs.value.library) throw new Error("There is no file library.");
    const files = await select(instance.label);
    return files.map(({ fileId, fileName, mimeType }) => ({ fileId, fileName, mimeType }));
  },
  async getFileDownloadUrl(instance, given) {
    return { downloadUrl: await downloadUrl(text(object(given).fileId, "a fileId"), instance.label) };
  },
  requestDisplayMode: (instance, given) => ({ mode: instance.setMode(text(object(given).mode, "a mode")) }),
  async requestModal(instance, given) {
    const { params, template } = object(given ?? {});
    const { connection, turnId } = instance;
    const shown = template === undefined ? instance.template : await connection.template(text(template, "a template"));
    await instance.modal.value?.unmount();
    const close = () => {
      void instance.modal.value?.unmount();
      instance.modal.value = null;
    };
    instance.modal.value = new Instance(connection, turnId, shown, { mode: "modal", params: params ?? null }, close);
    return {};
  },
  requestClose: (instance) => instance.close(),
  async openExternal(instance, given) {
    const { href, redirectUrl } = object(given);
    await openLink(instance, href, redirectUrl !== false);
  },
  setOpenInAppUrl(instance, given) {
    const href = text(object(given).href, "an href");
    if (!/^https?:\/\//.test(href)) throw new Error("Only http and https links can be opened.");
    instance.openIn.value = href;
  },
};

/** Answer one call of a widget; whatever goes wrong becomes its promise's rejection. */
export async function answerCall(instance: Instance, call: { id: number; member: string; args: unknown[] }): Promise<void> {
  const began = performance.now();
  const entry = note({ direction: "from widget", name: `openai.${call.member}`, detail: call.args, turn: instance.turnId });
  const member = Object.hasOwn(MEMBERS, call.member) ? MEMBERS[call.member] : undefined;
  try {
    if (!member || !Array.isArray(call.args)) throw new Error(`window.openai has no ${String(call.member)}.`);
    const value = await member(instance, ...call.args);
    answered(entry, performance.now() - began, false);
    instance.post({ tenantry: "reply", id: call.id, value });
  } catch (error) {
    answered(entry, performance.now() - began, true);
    instance.post({ tenantry: "reply", id: call.id, error: message(error) });
  }
}

function object(value: unknown) {
  if (!isDict(value)) throw new Error("This call takes an object.");
  return value;
}

function text(value: unknown, what: string): string {
  if (typeof value !== "string" || !value) throw new Error(`This call needs ${what}.`);
  return value;
}
