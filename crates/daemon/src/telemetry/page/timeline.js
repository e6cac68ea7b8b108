"use strict";
// The timeline: a strip of both sides, and a list of marks that open their why. Only new marks are fetched, and the list
// grows at its beginning, so that the keyboard's focus stays where it is.
const MARKS_MAX = 3000, ROWS_MAX = 300, SPAN_MIN_MS = 30000;
const GROUPS = {
  fills: ["fill"], gaps: ["gap", "short_gap"], cancels: ["cancel"], refusals: ["refused", "unknown"],
  stops: ["halt", "trading", "pause", "unpause", "start", "drain", "slept"],
};
const NAMES = {
  fill: "fill", gap: "no quote", short_gap: "no order", cancel: "cancel", refused: "refused", unknown: "unknown", halt: "stopped",
  trading: "trading", pause: "paused", unpause: "resumed", start: "start", drain: "draining", slept: "no decisions",
};
const shown = new Set(["fills", "gaps", "refusals", "stops"]);
const groupOf = (kind) => Object.keys(GROUPS).find((name) => GROUPS[name].includes(kind));
const clockTime = (ms) => new Date(ms).toISOString().slice(11, 19);
let marks = [], nextMark = 0, run = 0, fetching = false, spanMs = 300000, opened = null;
// The open gap of each market's side.
const gaps = new Map();

const lasted = (mark) => (mark.until ? " for " + ((mark.until - mark.at_ms) / 1000).toFixed(1) + " s" : " now");
const markText = (mark) => (mark.kind === "gap" ? lasted(mark).trim() + ": " : "") + mark.text;
function isShown(mark) {
  const market = last && last.markets && last.markets[chosen];
  return shown.has(groupOf(mark.kind)) && (!mark.market || !market || mark.market === market.market);
}
function addMark(mark) {
  mark.run = run;
  const place = mark.market + " " + mark.side;
  const open = gaps.get(place);
  if (open && (mark.kind === "gap" || mark.kind === "quoted")) {
    open.until = mark.at_ms;
    open.row.querySelector(".text").textContent = markText(open);
    gaps.delete(place);
  }
  if (mark.kind === "quoted") return;
  if (mark.kind === "gap") gaps.set(place, mark);
  const button = make("button");
  button.type = "button";
  button.append(make("time", clockTime(mark.at_ms)), make("b", NAMES[mark.kind] || mark.kind, "kind-" + groupOf(mark.kind)),
    make("i", mark.side || "", mark.side || ""), make("span", markText(mark), "text"));
  button.onclick = () => openWhy(mark);
  mark.row = make("li");
  mark.row.append(button);
  mark.row.hidden = !isShown(mark);
  $("marks").prepend(mark.row);
  marks.push(mark);
}
async function fetchMarks() {
  if (fetching) return;
  fetching = true;
  try {
    const answer = await fetch("timeline/" + nextMark);
    if (!answer.ok) return;
    const page = await answer.json();
    if (page.next < nextMark) {
      // Another process: its numbers begin again.
      run += 1;
      nextMark = 0;
      for (const open of gaps.values()) open.until = Date.now();
      gaps.clear();
      return;
    }
    nextMark = page.next;
    page.marks.forEach(addMark);
    for (const old of marks.splice(0, Math.max(0, marks.length - MARKS_MAX))) old.row.remove();
    while ($("marks").children.length > ROWS_MAX) $("marks").lastChild.remove();
  } catch (error) {
    // The page shows when the daemon does not answer.
  } finally {
    fetching = false;
  }
}
// The time on the strip: all that is known of a young process.
function shownTime() {
  const now = Date.now(), known = marks.length ? now - marks[0].at_ms : 0;
  return [now - Math.min(spanMs, Math.max(SPAN_MIN_MS, known)), now];
}
function strip() {
  const [from, now] = shownTime();
  const x = (ms) => (1000 * (Math.max(from, Math.min(now, ms)) - from)) / (now - from);
  const shape = (kind, at) => svgNode("rect", { class: kind, ...at });
  const first = marks.length ? marks[0].at_ms : now;
  const lane = { buy: 4, sell: 32 };
  const nodes = Object.entries(lane).map(([side, y]) => shape("lane " + side, { x: x(first), width: Math.max(0, 1000 - x(first)), y, height: 20 }));
  const market = last && last.markets && last.markets[chosen] && last.markets[chosen].market;
  for (const mark of marks) {
    if ((mark.until || now) < from || (!mark.until && mark.kind !== "gap" && mark.at_ms < from)) continue;
    if (mark.market && mark.market !== market) continue;
    const y = lane[mark.side];
    if (mark.kind === "gap" && y !== undefined) {
      const end = mark.until || (gaps.get(mark.market + " " + mark.side) === mark ? now : mark.at_ms);
      nodes.push(shape("gap", { x: x(mark.at_ms), width: Math.max(1.5, x(end) - x(mark.at_ms)), y, height: 20 }));
    } else if (mark.kind === "fill" && y !== undefined) {
      nodes.push(shape("fill " + mark.side, { x: x(mark.at_ms) - 1.5, width: 3, y: y - 4, height: 28 }));
    } else if (groupOf(mark.kind) === "stops") {
      nodes.push(shape("stop", { x: x(mark.at_ms) - 1, width: 2, y: 0, height: 56 }));
    }
  }
  fill($("strip"), nodes);
}
function nearest(event) {
  const box = $("strip").getBoundingClientRect();
  const [from, now] = shownTime();
  const at = from + ((now - from) * (event.clientX - box.left)) / box.width;
  const side = event.clientY - box.top < box.height / 2 ? "buy" : "sell";
  const distance = (mark) => {
    const end = mark.kind === "gap" ? mark.until || now : mark.at_ms;
    return (at < mark.at_ms ? mark.at_ms - at : Math.max(0, at - end)) + (mark.side === side ? 0 : (now - from) / 100);
  };
  const near = marks.filter((mark) => isShown(mark) && (mark.until || mark.at_ms) >= from - (now - from) / 50);
  return near.sort((a, b) => distance(a) - distance(b))[0];
}
function whyRows(why) {
  const view = why.view || {};
  const known = view.mid || view.book_age_ms !== null && view.book_age_ms !== undefined
    ? (view.mid ? "mid " + view.mid : "no mid") + ", book accepted " + ((view.book_age_ms || 0) / 1000).toFixed(1) + " s before" : null;
  const refused = why.refused_by ? why.refused_by.reason + ": " + why.refused_by.why + (why.refused_by.remedy ? " – " + why.refused_by.remedy : "") : null;
  return [["known", known], ["wanted", why.wanted], ["refused by", refused], ["request", why.request], ["answer", why.answer], ["order", why.order]]
    .filter(([, text]) => text).flatMap(([name, text]) => [make("dt", name), make("dd", text)]);
}
async function openWhy(mark) {
  opened = mark;
  $("why-title").textContent = (NAMES[mark.kind] || mark.kind) + (mark.side ? ", " + mark.side : "") + ", " + clockTime(mark.at_ms) + ": " + markText(mark);
  fill($("why-facts"), []);
  fill(body("why-steps"), []);
  $("why-note").textContent = "";
  $("why").hidden = false;
  const gone = "No longer kept by the running daemon." + (mark.order ? " cambist why " + mark.order + " reads it from the recordings." : "");
  try {
    const answer = mark.run === run ? await fetch("timeline/why/" + mark.number) : null;
    if (opened !== mark) return;
    if (!answer || !answer.ok) {
      $("why-note").textContent = gone;
    } else {
      const why = await answer.json();
      fill($("why-facts"), whyRows(why));
      fill(body("why-steps"), why.steps.map((step) => row([[new Date(step.at_ms).toISOString().slice(11, 23)], [step.what], [step.why], [step.order && step.order !== why.order ? step.order : ""]])));
      $("why-note").textContent = why.order ? "cambist why " + why.order + " reads the same from the recordings." : "";
    }
  } catch (error) {
    $("why-note").textContent = gone;
  }
  $("why").focus({ preventScroll: true });
  $("why").scrollIntoView({ block: "nearest" });
}
function closeWhy() {
  if ($("why").hidden) return;
  $("why").hidden = true;
  const button = opened && opened.row.querySelector("button");
  opened = null;
  if (button && button.isConnected) button.focus();
}
const rows = () => [...$("marks").querySelectorAll("li:not([hidden]) button")];
$("marks").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const all = rows();
  const to = all[all.indexOf(document.activeElement) + step];
  if (to) to.focus();
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") closeWhy(); });
$("strip").onclick = (event) => {
  const mark = nearest(event);
  if (mark) openWhy(mark);
};
$("why-close").onclick = closeWhy;
function showMarks() {
  for (const mark of marks) mark.row.hidden = !isShown(mark);
  $("marks-none").hidden = rows().length > 0;
  strip();
}
$("timeline-kinds").append(...Object.keys(GROUPS).map((name) => toggle(name, shown.has(name), (button) => {
  if (!shown.delete(name)) shown.add(name);
  button.setAttribute("aria-pressed", String(shown.has(name)));
  showMarks();
})));
$("timeline-spans").append(...[[300000, "5 min"], [900000, "15 min"], [3600000, "1 h"]].map(([ms, text]) => toggle(text, ms === spanMs, (button) => {
  spanMs = ms;
  for (const other of $("timeline-spans").children) other.setAttribute("aria-pressed", String(other === button));
  strip();
})));
let shownMarket = null;
parts.push((page) => {
  const market = page.markets && page.markets[chosen] && page.markets[chosen].market;
  fetchMarks().then(() => {
    if (market !== shownMarket) {
      shownMarket = market;
      showMarks();
    } else {
      $("marks-none").hidden = rows().length > 0;
      strip();
    }
  });
});
