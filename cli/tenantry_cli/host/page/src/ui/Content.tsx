import { useState } from "preact/hooks";
import { isDict, type Dict } from "../json";

const CHARACTERS = 4000; // of one text, before the rest is asked for

/** Content blocks of a result, as a host shows them. */
export function Content({ blocks }: { blocks: Dict[] }) {
  return (
    <div class="content">
      {blocks.map((block, i) => (
        <Block key={i} block={block} />
      ))}
    </div>
  );
}

function Text({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  if (whole || text.length <= CHARACTERS) return <p class="pre">{text}</p>;
  return (
    <>
      <p class="pre">{text.slice(0, CHARACTERS)}…</p>
      <button type="button" class="quiet-button unfold" onClick={() => setWhole(true)}>
        Show all {text.length.toLocaleString("en")} characters
      </button>
    </>
  );
}

function Block({ block }: { block: Dict }) {
  if (block.type === "text") return <Text text={String(block.text)} />;
  const data = `data:${block.mimeType};base64,${block.data}`;
  if (block.type === "image") return <img src={data} alt="Made by the tool" />;
  if (block.type === "audio") return <audio controls src={data} />;
  if (block.type === "resource_link")
    return (
      <p>
        <a href={/^https?:/.test(block.uri) ? block.uri : undefined} target="_blank" rel="noreferrer">
          {block.title ?? block.name ?? block.uri}
        </a>
      </p>
    );
  if (block.type === "resource" && isDict(block.resource))
    return <p class="pre mono">{block.resource.text ?? `${block.resource.uri} (${block.resource.mimeType ?? "binary"})`}</p>;
  return <p class="mono">{JSON.stringify(block)}</p>;
}
