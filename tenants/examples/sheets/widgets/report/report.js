import { connect } from "./bridge.js";

const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });

function show({ data, hidden }) {
  byId("name").textContent = data.name;
  byId("size").textContent = `${number.format(data.rows)} rows, ${data.columns.length} columns`;
  byId("columns").replaceChildren(...data.columns.map((column, i) => card(column, hidden.bars?.[i] ?? [])));
  if (hidden.report?.download_url) {
    byId("saved").href = hidden.report.download_url;
    byId("saved").hidden = false;
  }
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function card(column, bars) {
  const made = element("article");
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  const drawing = element("div", "", column.kind === "number" ? "spread" : "common");
  for (const { label, count } of bars) {
    const bar = element("i", column.kind === "number" ? "" : `${label}  ${count}`);
    bar.style[column.kind === "number" ? "height" : "width"] = `${Math.max(4, (100 * count) / most)}%`;
    bar.title = `${label}: ${count}`;
    drawing.append(bar);
  }
  const facts = element("small", column.kind === "number"
    ? `${number.format(column.least)} to ${number.format(column.most)}, mean ${number.format(column.mean)}`
    : `${number.format(column.different ?? 0)} different`);
  if (column.empty) facts.append(" ", element("b", `${number.format(column.empty)} empty`));
  made.append(element("h2", column.name), drawing, facts);
  return made;
}

connect({ name: "sheets", show, modes: ["inline", "fullscreen"], theme: (name) => {
  document.documentElement.style.colorScheme = name;
} });
