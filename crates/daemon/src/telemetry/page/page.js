"use strict";
const span = (ms) => {
  if (ms === null || ms === undefined) return "-";
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + (s % 60) + " s";
  return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
};
const rounded = (text, places) => {
  if (text === null || text === undefined) return "-";
  const [whole, part] = String(text).split(".");
  return part && part.length > places ? whole + "." + part.slice(0, places) : String(text);
};
let chosen = 0;
let last = null;
// Further parts of the page, each called with the data.
const parts = [];

function meter(name, value, label) {
  const line = make("div", null, "meter");
  const bar = make("progress");
  bar.max = 1;
  bar.value = Math.min(1, value);
  bar.setAttribute("aria-label", name);
  const text = make("span", name);
  text.title = name;
  line.append(text, bar, make("output", label));
  return line;
}
function limits(used) {
  const rows = Object.entries(used || {}).sort((a, b) => b[1] - a[1]);
  return rows.map(([name, bps]) => meter(name, bps / 10000, (bps / 100).toFixed(bps < 1000 ? 1 : 0) + " %"));
}
function sides(market) {
  return ["buy", "sell"].map((side) => {
    const line = make("div", null, "side");
    line.append(make("b", side, side));
    const why = (market.withheld || {})[side];
    if (why) {
      line.append(make("span", "no quotes: " + why.reason + (why.why ? ": " + why.why : ""), "warn"));
      if (why.remedy) line.append(make("span", why.remedy, "note"));
    } else {
      const best = side === "buy" ? market.bid : market.ask;
      line.append(make("span", best ? "quoted at " + best + ", " + market["live_" + side] + " live" : "being placed", "good"));
    }
    return line;
  });
}
function book(market) {
  const DEPTH = 10;
  const level = (side, levels) => {
    const prices = new Map();
    for (const one of levels.slice(0, DEPTH)) prices.set(one.price, { quantity: one.quantity, own: 0 });
    for (const order of market.orders.filter((order) => order.side === side)) {
      const at = prices.get(order.price) || { quantity: null, own: 0 };
      at.own += Number(order.remaining);
      prices.set(order.price, at);
    }
    const rows = [...prices].sort((a, b) => Number(b[0]) - Number(a[0]));
    return rows.map(([price, at]) => row([
      [at.own ? String(Number(at.own.toPrecision(8))) : "", side], [price, side], [at.quantity === null ? "" : rounded(at.quantity, 6)],
    ]));
  };
  const mid = make("tr", null, "mid");
  const cell = make("td", market.mid ? "mid " + market.mid : "no mid");
  cell.colSpan = 3;
  mid.append(cell);
  return [...level("sell", market.asks), mid, ...level("buy", market.bids)];
}
function bookAge(market) {
  const age = market.depth_age_ms;
  const node = $("book-age");
  node.textContent = age === null || age === undefined ? "not read yet" : span(age) + " old";
  node.className = market.depth_stale ? "warn" : "";
}
// What changes every second is no alert of its own.
function outage(silence) {
  $("outage").hidden = !silence;
  const venue = silence ? "The venue " + silence.venue + " does not answer. What is shown of it is old." : "";
  if ($("outage-venue").textContent !== venue) $("outage-venue").textContent = venue;
  $("outage-text").textContent = silence ? silence.text : "";
}
function orders(market, now) {
  const mid = Number(market.mid);
  return market.orders.map((order) => {
    const bps = mid ? ((Number(order.price) - mid) / mid) * 10000 : null;
    return row([
      [order.side, order.side], [order.price], [rounded(order.remaining, 6)],
      [bps === null ? "-" : (bps > 0 ? "+" : "") + bps.toFixed(1) + " bps"],
      [order.cancelling ? "cancelling" : order.state, order.state === "unknown" ? "warn" : ""],
      [span(order.age_ms)],
      [span(order.valid_until_ms - now)], [order.id],
    ]);
  });
}
function equity(points, symbol) {
  $("equity-now").textContent = points.length ? points[points.length - 1][1].toFixed(2) + " " + symbol : "not known yet";
  const drawn = drawLine($("equity"), points);
  if (!drawn) return;
  const { low, high, first, end } = drawn;
  $("equity-span").textContent = "the last " + span((end - first) * 1000) + ", between " + low.toFixed(2) + " and " + high.toFixed(2) + " " + symbol;
}
function show(page) {
  last = page;
  const status = page.status;
  const state = $("state");
  state.textContent = status.state;
  state.className = "badge " + (status.ready ? "good" : status.state === "halted" ? "bad" : "warn");
  const venue = status.portfolio ? status.portfolio.venue : "";
  document.title = status.state + (venue ? " – " + venue : "") + " – cambist";
  $("venue").textContent = venue;
  $("summary").textContent = [(status.drain || {}).text, status.line].filter(Boolean).join("; ");
  outage(status.outage);
  const markets = page.markets || [];
  if (chosen >= markets.length) chosen = 0;
  fill($("markets"), markets.length < 2 ? [] : markets.map((market, i) => toggle(market.market, i === chosen, () => choose(i))));
  const market = markets[chosen];
  if (market) {
    fill($("sides"), sides(market));
    fill(body("book"), book(market));
    bookAge(market);
    fill(body("orders"), orders(market, page.venue_ms));
    $("orders-count").textContent = String(market.orders.length);
    fill($("limits"), [...limits(market.limits_used_bps), ...limits(page.limits_used_bps)]);
  } else {
    fill($("sides"), [make("p", status.ready === false && status.line ? status.line : "No market is known yet.", "note")]);
    for (const id of ["book", "orders"]) fill(body(id), []);
    $("book-age").textContent = "";
    fill($("limits"), []);
    $("orders-count").textContent = "";
  }
  const tokens = [...new Set([...Object.keys(status.ledger || {}), ...Object.keys(status.venue || {})])];
  fill(body("inventory"), tokens.map((token) => {
    const [ledger, venue] = [(status.ledger || {})[token], (status.venue || {})[token]];
    return row([[token], [rounded(ledger, 4)], [rounded(venue, 4), ledger !== venue ? "warn" : ""]]);
  }));
  equity(page.equity || [], page.equity_symbol || "");
  const requests = status.requests || {};
  const budget = page.budget || {};
  const left = Object.entries(budget).map(([name, [tokens, burst]]) => meter(name, burst ? tokens / burst : 0, tokens + " left"));
  fill($("requests"), [make("p", (requests.sent ?? 0) + " sent of " + (requests.allowed ?? 0) + " allowed", "note"), ...left]);
  const about = [
    ["level", status.level], ["books", (status.books || {}).state || "-"], ["running for", span(status.up_ms)],
    ["unknown orders since", status.unknown_for_ms === null || status.unknown_for_ms === undefined ? "none" : span(status.unknown_for_ms)],
    ["paused", (status.paused || []).map((pause) => pause.what + ": " + pause.why).join("; ") || "nothing"],
    ["version", status.version + (status.revision ? " " + status.revision : "")],
  ];
  fill($("daemon"), facts(about));
  for (const part of parts) part(page);
}
function choose(i) {
  chosen = i;
  if (last) show(last);
}
marketKeys(() => (last ? last.markets.length : 0), choose);
const events = new EventSource("events");
let heard = Date.now();
events.onmessage = (event) => {
  heard = Date.now();
  $("connection").hidden = true;
  show(JSON.parse(event.data));
};
setInterval(() => { $("connection").hidden = Date.now() - heard < 5000; }, 1000);
