import { useState } from "preact/hooks";
import { Form } from "../form/Form";
import type { Ask as Question } from "../state/conversation";
import { IconButton } from "./icons";
import { Json } from "./Json";

/** A question to the person, in the conversation: approve a call, open a link, fill in a form, answer for the model. */
export function Ask({ ask }: { ask: Question }) {
  const { kind, title, text, detail, midCall, answer } = ask;
  const [written, setWritten] = useState("");

  if (kind === "elicitation" || kind === "folders") {
    const refuses = kind === "elicitation"; // folders are told or there are none
    return (
      <div class="card ask" role="group" aria-label={title}>
        <h3>{title}</h3>
        {refuses && <Close answer={answer} />}
        <p>{text}</p>
        <Form schema={detail?.schema ?? { type: "object" }} submit="Answer" onSubmit={answer} onCancel={refuses ? () => answer(null) : undefined} />
      </div>
    );
  }
  if (kind === "sampling")
    return (
      <form
        class="card ask"
        aria-label={title}
        onSubmit={(e) => {
          e.preventDefault();
          answer(written);
        }}
      >
        <h3>{title}</h3>
        <p class="pre">{text}</p>
        <textarea rows={3} aria-label="The model's answer" value={written} onInput={(e) => setWritten(e.currentTarget.value)} />
        <div class="ask-foot">
          <button type="button" class="quiet-button" onClick={() => answer(null)}>
            Decline
          </button>
          <button type="submit" class="primary">
            Answer
          </button>
        </div>
      </form>
    );
  const [yes, no] = kind === "approval" ? ["Approve", "Deny"] : kind === "link" ? ["Open link", midCall ? "Decline" : "Cancel"] : ["Save", "Cancel"];
  return (
    <div class="card ask" role="group" aria-label={title}>
      <h3>{title}</h3>
      {midCall && <Close answer={answer} />}
      <p>
        {text}
        {detail?.openWorld && " It reaches the public internet."}
      </p>
      {detail?.arguments && Object.keys(detail.arguments).length > 0 && <Json value={detail.arguments} />}
      {detail?.href && <p class="href">{detail.href}</p>}
      <div class="ask-foot">
        <button type="button" class="quiet-button" onClick={() => answer(midCall ? null : false)}>
          {no}
        </button>
        {detail?.always && (
          <button type="button" class="quiet-button" onClick={() => answer("always")}>
            Always allow
          </button>
        )}
        <button type="button" class="primary" data-danger={detail?.destroys === true} onClick={() => answer(true)}>
          {yes}
        </button>
      </div>
    </div>
  );
}

/** The third answer to a plugin's question, beside filling in and declining: not to choose. */
function Close({ answer }: { answer: Question["answer"] }) {
  return (
    <span class="ask-close">
      <IconButton name="cross" label="Close this question" onClick={() => answer(false)} />
    </span>
  );
}
