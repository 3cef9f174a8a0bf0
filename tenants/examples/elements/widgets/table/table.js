import { connect } from "./bridge.js";

const byId = (id) => document.getElementById(id);

const colours = {
  "noble gas": "noble",
  halogen: "halogen",
  "alkali metal": "alkali",
  "alkaline earth metal": "earth",
  lanthanide: "lanthanide",
  actinide: "actinide",
  metalloid: "metalloid",
  "reactive nonmetal": "reactive",
  "post-transition metal": "post",
  "transition metal": "transition",
};
const colour = (family) => `var(--${colours[family]})`;
const read = ([number, symbol, name, mass, family, column, row]) => ({
  number, symbol, name, mass, family, column, row,
});

function show({ data, hidden }) {
  const elements = (hidden.chart ?? []).map(read);
  const bySymbol = new Map(elements.map((element) => [element.symbol, element]));
  const lit = new Set((data.elements ?? data.parts).map((part) => part.symbol));
  byId("chart").replaceChildren(...elements.map((element) => tile(element, lit.has(element.symbol))));
  if (data.parts) showMass(data, bySymbol);
  else if (data.elements.length === 1) tell(bySymbol.get(data.elements[0].symbol) ?? data.elements[0]);
  else {
    const families = new Set(data.elements.map((element) => element.family));
    byId("title").textContent = `${data.elements.length} elements`;
    byId("subtitle").textContent = families.size === 1 ? `Each a ${[...families][0]}` : "Point at one to learn more";
  }
}

function tile(element, lit) {
  const button = document.createElement("button");
  button.className = lit ? "element lit" : "element";
  button.textContent = element.symbol;
  button.style.setProperty("--colour", colour(element.family));
  button.style.gridColumn = element.column;
  button.style.gridRow = element.row > 7 ? element.row + 1 : element.row;
  button.setAttribute("aria-label", element.name);
  button.addEventListener("pointerenter", () => tell(element));
  button.addEventListener("focus", () => tell(element));
  return button;
}

function tell(element) {
  const big = byId("tile");
  big.classList.add("shown");
  big.textContent = element.symbol;
  big.style.setProperty("--colour", colour(element.family));
  byId("title").textContent = `${element.number}  ${element.name}`;
  byId("subtitle").textContent = `${element.family}, atomic weight ${element.mass}`;
}

function showMass({ formula, grams_per_mole: grams, parts }, bySymbol) {
  byId("title").textContent = `${formula}: ${grams} g/mol`;
  byId("subtitle").textContent = parts.map((part) => `${part.symbol} ${part.percent} %`).join("   ");
  const bars = parts.map((part) => {
    const bar = document.createElement("span");
    bar.style.width = `${part.percent}%`;
    bar.style.setProperty("--colour", colour(bySymbol.get(part.symbol)?.family ?? "transition metal"));
    bar.title = `${part.symbol}: ${part.percent} %`;
    return bar;
  });
  byId("parts").replaceChildren(...bars);
}

connect({ name: "elements", show, modes: ["inline", "fullscreen"], theme: (name) => {
  document.documentElement.style.colorScheme = name;
} });
