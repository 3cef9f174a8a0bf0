import { isDict, type Dict } from "../json";

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

function Block({ block }: { block: Dict }) {
  if (block.type === "text") return <p class="pre">{block.text}</p>;
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
