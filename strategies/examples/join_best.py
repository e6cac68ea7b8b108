#!/usr/bin/env python3
"""Quotes one order on each side, a margin from the mid, moved by inventory. Needs nothing but Python 3.

[[market.strategy]]
kind = "process"
name = "join_best"
command = ["python3", "join_best.py"]
[market.strategy.params]     # all optional
margin_bps = 8               # distance from the mid
amount = 0.5                 # size of each order in base tokens
skew_bps = 8                 # moves both quotes against inventory, at most so far
"""
import json
import sys


def quotes(view, state):
    params, mid = view["params"], view["mid_half_ticks"]
    amount = round(params.get("amount", 0.5) / float(view["market"]["lot"]))
    held = view["holdings"]["base_lots"]
    target = state.setdefault("target_lots", held)  # what is held at first
    # Long of the target: both quotes go down, so that selling is more likely.
    skew = max(-1.0, min(1.0, (held - target) / (10 * amount))) * params.get("skew_bps", 8)
    margin = params.get("margin_bps", 8)
    bid = int(mid * (10_000 - margin - skew) / 20_000)
    ask = -int(-mid * (10_000 + margin - skew) // 20_000)
    # Never through the best price of the others.
    if view["asks"]:
        bid = min(bid, view["asks"][0][0] - 1)
    if view["bids"]:
        ask = max(ask, view["bids"][0][0] + 1)
    wanted = [("buy", bid, amount), ("sell", ask, min(amount, held))]
    return [keep(view, *quote) for quote in wanted if quote[1] > 0 and quote[2] > 0]


def keep(view, side, price, qty):
    """An order near the wanted price stays as it is: fewer cancels, and its place in the queue."""
    for order in view["own"]:
        near = abs(order["price"] - price) * 10_000 <= 2 * price
        if order["side"] == side and near and not order["cancelling"] and order["remaining"] > 0:
            return {"side": side, "price": order["price"], "qty": order["remaining"]}
    return {"side": side, "price": price, "qty": qty}


for line in sys.stdin:
    view = json.loads(line)
    state = view["state"] or {}
    target = {"v": 1, "view_seq": view["view_seq"], "quotes": quotes(view, state), "state": state}
    print(json.dumps(target), flush=True)
