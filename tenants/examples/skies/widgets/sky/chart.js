// Draws one constellation into an SVG: lines first, then stars as large as they are bright.

const SVG = "http://www.w3.org/2000/svg";

function shape(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const radius = (magnitude) => 0.075 - 0.0125 * Math.min(4.5, Math.max(0, magnitude));

// A label goes to the right, unless it would leave the chart or lie on another one.
function leftward(star, labels) {
  const near = (side) => labels.some((l) => l.left === side && Math.abs(l.x - star.x) < 0.5 && Math.abs(l.y - star.y) < 0.1);
  const left = star.x > 0.75 || (near(false) && !near(true) && star.x > -0.75);
  labels.push({ ...star, left });
  return left;
}

export function draw(svg, { name, stars, lines }, chosen) {
  svg.setAttribute("aria-label", `Star chart of ${name}`);
  const links = lines.map(([a, b]) =>
    shape("line", { x1: stars[a].x, y1: -stars[a].y, x2: stars[b].x, y2: -stars[b].y, pathLength: 2 }),
  );
  const labels = [];
  const points = stars.map((star) => {
    const r = radius(star.magnitude);
    const [cx, cy] = [star.x, -star.y];
    const left = leftward(star, labels);
    const label = shape(
      "text",
      { x: cx + (left ? -r - 0.03 : r + 0.03), y: cy + 0.03, "text-anchor": left ? "end" : "start" },
      star.name,
    );
    const title = shape("title", {}, `${star.name}, magnitude ${star.magnitude}`);
    const group = shape(
      "g",
      { tabindex: 0, role: "button" },
      shape("circle", { cx, cy, r: r * 2.2, class: "halo" }),
      shape("circle", { cx, cy, r }),
      label,
      title,
    );
    group.addEventListener("click", () => chosen(star));
    group.addEventListener("keydown", (event) => event.key === "Enter" && chosen(star));
    return group;
  });
  svg.replaceChildren(...links, ...points);
}
