import { connect } from "./bridge.js";
import { draw } from "./chart.js";

const byId = (id) => document.getElementById(id);
const capitals = (text) => text.toUpperCase();

function show({ data, hidden }) {
  const charts = hidden.charts ?? [];
  if (data.constellations) showSky(data, charts);
  else showOne(data, charts[0]);
}

function showOne(data, chart) {
  document.querySelector("main").className = "";
  byId("title").textContent = capitals(data.name);
  byId("subtitle").textContent = data.meaning;
  byId("story").textContent = data.story;
  if (chart) draw(byId("chart"), chart, told);
}

function showSky(data, charts) {
  const month = new Date(2026, data.month - 1).toLocaleString(undefined, { month: "long" });
  document.querySelector("main").className = "many";
  byId("title").textContent = "UP TONIGHT";
  const south = data.latitude < 0 ? "S" : "N";
  byId("subtitle").textContent = `${month}, ${Math.floor(data.hour)}:00, ${Math.abs(data.latitude)}° ${south}`;
  byId("story").textContent = data.constellations.length ? "" : "None of the eight stands clear of the roofs.";
  const buttons = data.constellations.map((standing, index) => {
    const button = document.createElement("button");
    const where = document.createElement("small");
    where.textContent = `${standing.altitude}° up, ${standing.direction}`;
    button.append(standing.name, where);
    button.addEventListener("click", () => choose(index));
    return button;
  });
  byId("list").replaceChildren(...buttons);

  function choose(index) {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
    draw(byId("chart"), charts[index], told);
  }
  if (charts.length) choose(0);
}

function told(star) {
  byId("story").textContent = `${star.name}: magnitude ${star.magnitude.toFixed(2)}. Ask me about it.`;
  app.then((host) => host.say(`Tell me about the star ${star.name}.`)).catch(() => {});
}

const app = connect({ name: "skies", show, modes: ["inline", "fullscreen"] });
