import { useEffect } from "react";
import { Link, Navigate, Route, Routes, useParams } from "react-router";
import { useOpenAiGlobal } from "./openai";

type Item = { name: string; count: number };
type Group = { name: string; items: Item[] };
type PackingList = { place: string; days: number; groups: Group[] };
type Packed = { packed: string[] };

export function App() {
  const list = useOpenAiGlobal<"toolOutput", PackingList>("toolOutput");
  const theme = useOpenAiGlobal("theme");
  useEffect(() => {
    if (theme) document.documentElement.style.colorScheme = theme;
  }, [theme]);
  if (!list) return <p className="waiting">Opening the wardrobe…</p>;
  return (
    <Routes>
      <Route path="/" element={<Overview list={list} />} />
      <Route path="/:group" element={<Items list={list} />} />
      <Route path="*" element={<Navigate to="/" replace />} />
    </Routes>
  );
}

function usePacked(): [Set<string>, (name: string) => void] {
  const state = useOpenAiGlobal<"widgetState", Packed>("widgetState");
  const packed = new Set(state?.packed ?? []);
  const toggle = (name: string) => {
    if (!packed.delete(name)) packed.add(name);
    window.openai?.setWidgetState({ packed: [...packed] });
  };
  return [packed, toggle];
}

function Overview({ list }: { list: PackingList }) {
  const [packed] = usePacked();
  return (
    <main>
      <h1>
        {list.place}, {list.days} days
      </h1>
      <nav>
        {list.groups.map((group) => (
          <Link key={group.name} to={`/${group.name}`}>
            <span>{group.name}</span>
            <small>
              {group.items.filter((item) => packed.has(item.name)).length} of {group.items.length}
            </small>
          </Link>
        ))}
      </nav>
    </main>
  );
}

function Items({ list }: { list: PackingList }) {
  const [packed, toggle] = usePacked();
  const { group: name } = useParams();
  const group = list.groups.find((one) => one.name === name);
  if (!group) return <Navigate to="/" replace />;
  return (
    <main>
      <h1>
        <Link to="/" aria-label="Back">
          ←
        </Link>{" "}
        {group.name}
      </h1>
      <ul>
        {group.items.map((item) => (
          <li key={item.name}>
            <label>
              <input type="checkbox" checked={packed.has(item.name)} onChange={() => toggle(item.name)} />
              {item.count > 1 ? `${item.count} × ` : ""}
              {item.name}
            </label>
          </li>
        ))}
      </ul>
    </main>
  );
}
