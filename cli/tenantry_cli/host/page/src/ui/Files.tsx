import { filesOf } from "../call/made";
import type { Dict } from "../json";
import { Icon } from "./icons";

/** What a call made, to open or to save: its address is long and says nothing. */
export function Files({ result }: { result: Dict }) {
  const found = filesOf(result);
  if (!found.length) return null;
  return (
    <ul class="made" aria-label="Files">
      {found.map(({ url, name, type }) => (
        <li key={url}>
          <a class="example" href={url} download={name} target="_blank" rel="noreferrer">
            <Icon name="download" />
            {name}
            {type && <span class="quiet">{type}</span>}
          </a>
        </li>
      ))}
    </ul>
  );
}
