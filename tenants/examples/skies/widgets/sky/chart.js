// Draws one constellation into an SVG: lines first, then stars as large as they are bright.

const SVG = "http://www.w3.org/2000/svg";

function shape(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const radius = (magnitude) => 0.075 - 0.0125 * Math.min(4.5, Math.max(0, magnitude));

export function draw(svg, { name, stars, lines }, chosen) {
  svg.setAttribute("aria-label", `Star chart of ${name}`);
  const links = lines.map(([a, b]) =>
    shape("line", { x1: stars[a].x, y1: -stars[a].y, x2: stars[b].x, y2: -stars[b].y, pathLength: 2 }),
  );
  const points = stars.map((star) => {
    const r = radius(star.magnitude);
    const [cx, cy] = [star.x, -star.y];
    const left = star.x > 0.75;
    const label = shape(
      "text",
      { x: cx + (left ? -r - 0.03 : r + 0.03), y: cy + 0.03, "text-anchor": left ? "end" : "start" },
      star.name.toUpperCase(),
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
