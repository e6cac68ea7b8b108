"use strict";
// What the pages have in common. Everything from outside enters as text, never as markup.
const $ = (id) => document.getElementById(id);
const make = (tag, text, kind) => {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  if (kind) node.className = kind;
  return node;
};
const row = (cells) => {
  const tr = make("tr");
  for (const [text, kind] of cells) tr.append(make("td", text, kind));
  return tr;
};
const fill = (node, children) => node.replaceChildren(...children);
const body = (id) => $(id).querySelector("tbody");
const facts = (pairs) => pairs.flatMap(([name, value]) => [make("dt", name), make("dd", value ?? "-")]);
// A button that may be pressed.
const toggle = (text, pressed, press) => {
  const button = make("button", text);
  button.type = "button";
  button.setAttribute("aria-pressed", String(pressed));
  button.onclick = () => press(button);
  return button;
};
const svgNode = (name, attributes) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};
// Draws points of time and value into 600 by 140; their ranges, or nothing if they make no line.
function drawLine(svg, points) {
  if (points.length < 2) {
    svg.replaceChildren();
    return null;
  }
  const values = points.map((point) => point[1]);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const [first, end] = [points[0][0], points[points.length - 1][0]];
  const x = (at) => ((at - first) / (end - first || 1)) * 600;
  const y = (value) => (high > low ? 132 - ((value - low) / (high - low)) * 124 : 70);
  const course = points.map((point, i) => (i ? "L" : "M") + x(point[0]).toFixed(1) + " " + y(point[1]).toFixed(1)).join("");
  svg.replaceChildren(svgNode("path", { d: course }));
  return { low, high, first, end };
}
// The keys 1 to 9 choose a market.
const marketKeys = (count, choose) => document.addEventListener("keydown", (event) => {
  const i = Number(event.key) - 1;
  if (!event.ctrlKey && !event.altKey && !event.metaKey && i >= 0 && i < count()) choose(i);
});
