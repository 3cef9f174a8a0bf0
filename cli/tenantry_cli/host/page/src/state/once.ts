import { computed } from "@preact/signals";
import { toolLines, type ToolLine } from "./log";

const NEAR = 60_000; // milliseconds between a message and the news of what its call printed: a call has less

/**
 * The tool logs with each line once. What a tool logs comes twice: as a message to the client, and on stderr with the
 * name of its logger, which is told when the call is over. The message has the level, so it is the one to stay.
 */
export const linesOnce = computed<ToolLine[]>(() => {
  const logged = toolLines.value.filter((line) => line.kind === "log" && line.logger);
  return toolLines.value.flatMap((line) => {
    if (line.level !== "printed") return [line];
    const text = without(line.text.split("\n"), logged, line.at).join("\n");
    return text ? [{ ...line, text }] : [];
  });
});

/** The printed lines that none of the messages says; each of those is taken once. */
function without(printed: string[], logged: ToolLine[], at: number): string[] {
  const kept: string[] = [];
  for (let i = 0; i < printed.length; ) {
    const found = logged.findIndex((message) => Math.abs(message.at - at) < NEAR && says(printed, i, message));
    if (found === -1) kept.push(printed[i++]!);
    else i += logged.splice(found, 1)[0]!.text.split("\n").length;
  }
  return kept;
}

/** Whether `message` begins in line `i`, in whatever format its author prints. */
function says(printed: string[], i: number, { text, logger }: ToolLine): boolean {
  const [first = "", ...more] = text.split("\n");
  const line = printed[i]!;
  const before = line.slice(0, line.length - first.length);
  return line.endsWith(first) && before.includes(logger!) && more.every((part, n) => printed[i + 1 + n] === part);
}
