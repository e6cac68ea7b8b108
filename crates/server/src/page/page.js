"use strict";
// Base units as whole tokens: exact, because amounts exceed what a number holds.
const whole = (units, decimals, places) => {
  const text = String(units).padStart(decimals + 1, "0");
  const at = text.length - decimals;
  const part = text.slice(at, at + places).replace(/0+$/, "");
  return text.slice(0, at) + (part ? "." + part : "");
};
const get = async (path) => {
  const answer = await fetch(path, { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(path + ": " + answer.status);
  return answer.json();
};
const TRADES = 60, LEVELS = 14;
let markets = [], tokens = new Map(), chosen = 0, stream = null, heard = Date.now(), trades = [];

const token = (id) => tokens.get(id) || { symbol: "token " + id, decimals: 0 };
const current = () => markets[chosen];

function book(depth) {
  const market = current(), base = token(market.baseTokenId);
  const level = ([price, size, , count], side) => row([[price, side], [whole(size, base.decimals, 6)], [count]]);
  const asks = depth.asks.slice(0, LEVELS).reverse(), bids = depth.bids.slice(0, LEVELS);
  const mid = make("tr", null, "mid");
  const best = [depth.bids[0], depth.asks[0]].map((one) => (one ? Number(one[0]) : null));
  const gap = best[0] !== null && best[1] !== null
    ? "spread " + (((best[1] - best[0]) / ((best[0] + best[1]) / 2)) * 10000).toFixed(1) + " bps" : "one side is empty";
  const cell = make("td", gap);
  cell.colSpan = 3;
  mid.append(cell);
  fill(body("book"), [...asks.map((one) => level(one, "sell")), mid, ...bids.map((one) => level(one, "buy"))]);
}
function showTrades() {
  const base = token(current().baseTokenId);
  fill(body("trades"), trades.map((one) => row([
    [new Date(one.time).toISOString().slice(11, 19)], [one.side, one.side], [one.price], [whole(one.base, base.decimals, 6)],
  ])));
  $("trades-count").textContent = trades.length ? "newest first, times in UTC" : "none since the exchange started";
}
function price(candles) {
  // Too few minutes make no line: then the latest trades do.
  const minutes = candles.length >= 10;
  const points = minutes ? candles.map((one) => [one.time, Number(one.close)]) : trades.map((one) => [one.time, Number(one.price)]).reverse();
  const drawn = drawLine($("price"), points);
  if (!drawn) {
    $("price-span").textContent = "drawn once there were two trades";
    return;
  }
  $("price-span").textContent = (minutes ? "closes of " + points.length + " minutes" : "the last " + points.length + " trades") + ", between " + drawn.low + " and " + drawn.high;
}
async function pools() {
  const listed = (await get("api/v3/amm/pools")).pools;
  const shown = [];
  for (const pool of listed) {
    const held = await get("api/v3/amm/balance?poolAddress=" + encodeURIComponent(pool.address));
    const amounts = held.pooled.map((one) => [token(Number(one.tokenId)).symbol, whole(one.volume, token(Number(one.tokenId)).decimals, 4)]);
    const lp = token(Number(held.lp.tokenId));
    const list = make("dl");
    fill(list, facts([
      ["pool", pool.name], ...amounts, ["shares", whole(held.lp.volume, lp.decimals, 4)], ["fee", (pool.feeBips / 100).toFixed(2) + " %"],
      ["open for", [[1, "exits"], [2, "joins"], [4, "swaps"]].filter(([bit]) => pool.status & bit).map(([, name]) => name).join(", ") || "nothing"],
    ]));
    shown.push(list);
  }
  fill($("pools"), shown.length ? shown : [make("p", "No pools are listed.", "note")]);
}
async function refresh() {
  const market = current();
  if (!market) return;
  const name = encodeURIComponent(market.market);
  const [ticker, candles] = await Promise.all([get("api/ext/v1/ticker?market=" + name), get("api/ext/v1/candles?interval=1m&limit=240&market=" + name)]);
  if (market !== current()) return;
  const day = ticker.tickers[0], [base, quote] = [token(market.baseTokenId), token(market.quoteTokenId)];
  $("price-now").textContent = day.last === null ? "no trade yet" : day.last + " " + quote.symbol;
  fill($("day"), facts([
    ["last", day.last], ["best bid", day.bid], ["best ask", day.ask], ["high", day.high], ["low", day.low],
    ["volume", whole(day.base, base.decimals, 4) + " " + base.symbol + " / " + whole(day.quote, quote.decimals, 2) + " " + quote.symbol], ["trades", String(day.trades)],
  ]));
  price(candles.candles);
}
function follow() {
  if (stream) stream.close();
  trades = [];
  const market = current();
  const name = encodeURIComponent(market.market);
  const alive = () => {
    heard = Date.now();
    $("connection").hidden = true;
  };
  stream = new EventSource("api/ext/v1/stream?market=" + name);
  const own = stream;
  stream.addEventListener("depth", (event) => { if (own === stream) { alive(); book(JSON.parse(event.data)); } });
  stream.addEventListener("trade", (event) => {
    if (own !== stream) return;
    alive();
    trades = [JSON.parse(event.data), ...trades].slice(0, TRADES);
    showTrades();
  });
  stream.onopen = alive;
  get("api/ext/v1/trades?limit=" + TRADES + "&market=" + name).then((answer) => {
    if (own !== stream) return;
    const seen = new Set(trades.map((one) => one.id));
    trades = [...trades, ...answer.trades.filter((one) => !seen.has(one.id))].slice(0, TRADES);
    showTrades();
  }).catch(() => {});
}
function buttons() {
  fill($("markets"), markets.map((market, i) => toggle(market.market, i === chosen, () => choose(i))));
}
function choose(i) {
  chosen = i;
  buttons();
  follow();
  refresh().catch(() => {});
}
async function health() {
  try {
    const answer = await get("health");
    $("state").textContent = answer.status === "ok" ? "open" : answer.status.replace("_", " ");
    $("state").className = "badge " + (answer.status === "ok" ? "good" : "warn");
    heard = Date.now();
  } catch {
    $("state").textContent = "no answer";
    $("state").className = "badge bad";
  }
}
async function start() {
  const [info, listed, known] = await Promise.all([get("api/v3/exchange/info"), get("api/v3/exchange/markets"), get("api/v3/exchange/tokens")]);
  tokens = new Map(known.map((one) => [one.tokenId, one]));
  markets = listed.markets;
  const root = new URL(".", location.href).href.replace(/\/$/, "");
  $("summary").textContent = markets.length + (markets.length === 1 ? " market, " : " markets, ") + known.length + " tokens, chain " + info.chainId;
  document.title = location.host + " – exchange";
  fill($("connect"), facts([["base URL", root], ["chain id", String(info.chainId)], ["exchange", info.exchangeAddress], ["interface", "REST, /api/v3"], ["market data", "/api/ext/v1: trades, ticker, candles, stream"]]));
  const market = markets.length ? markets[0].market : "MARKET";
  $("example").textContent = ["curl '" + root + "/api/v3/depth?market=" + market + "&level=0'", "curl '" + root + "/api/ext/v1/trades?market=" + market + "&limit=5'", "curl -N '" + root + "/api/ext/v1/stream?market=" + market + "'"].join("\n");
  $("open").textContent = "cambist account open --venue " + root + " --owner-key FILE";
  await health();
  await pools();
  if (markets.length) choose(0);
}
marketKeys(() => markets.length, choose);
const again = () => start().catch(() => { $("connection").hidden = false; setTimeout(again, 2000); });
again();
setInterval(() => { refresh().catch(() => {}); health(); }, 5000);
setInterval(() => { pools().catch(() => {}); }, 15000);
setInterval(() => { $("connection").hidden = Date.now() - heard < 12000; }, 1000);
