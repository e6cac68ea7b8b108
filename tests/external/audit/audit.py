#!/usr/bin/env python3
"""Recomputes orders and money of one account from what the daemon stored and from what the exchange
exported, and says where they disagree. Shares no code with either: Python and its standard library.

    cambist venue export --data VENUE_DATA --account 10000 > venue.jsonl
    python3 audit.py --store STATE_FOLDER --venue venue.jsonl [--final] [--summary FILE] [--json]

Both formats are described in docs/audit.md. The daemon must not be running; its store is read from a
copy, so that its own recovery stays what the next start does.

--final    also demand that nothing rests and that every intent has an end
--summary  a daemon's output: the inventory of its last summary must be the exchange's totals

Exit codes: 0 they agree, 1 they do not (one line per finding), 2 usage, 3 this machine's SQLite is too
old to read the store.
"""
import argparse
import json
import pathlib
import re
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter, defaultdict

SLOTS = 1 << 14
# An end is noted after it was read; the exchange's clock and the daemon's are compared with this slack.
CLOCK_SLACK_MS = 2_000
STATUS_OF_END = {"filled": "processed", "cancelled": "cancelled", "expired": "expired", "failed_late": "failed"}
CONCLUDED = {"never_sent", "fenced", "rejected"}
# Refusals that an order's bytes alone cause. After any other (too many requests, no balance, a market that is
# closed) another copy of the bytes may be taken.
PROOFS = {"InvalidArgument", "WrongExchange", "InvalidOrderAccount", "MissingSignature"}
# A client order id of Kraken's interface is a UUID: instance, 16 bits of a tag, version 4 and 12 bits more of which the
# lowest 8 are the strategy, variant, and the number in 62 bits.
UUID = re.compile("([0-9a-f]{8})-[0-9a-f]{4}-4[0-9a-f]([0-9a-f]{2})-([89ab][0-9a-f]{3})-([0-9a-f]{12})")


def name_of(client_id):
    """The name of an order of the daemon in a UUID; any other client order id as it is."""
    found = UUID.fullmatch(client_id or "")
    if not found:
        return client_id
    instance, strategy, high, low = (int(part, 16) for part in found.groups())
    return f"c{instance:08x}-{strategy}-{((high & 0x3fff) << 48) | low}"


class Books:
    """What both sides say, and what was found wrong."""

    def __init__(self, intents, fills, moves, flows, meta, lines):
        self.intents, self.fills, self.moves = intents, fills, moves
        self.instance, self.rule = meta
        self.flows = flows
        self.account = lines[0]["account"]
        self.by_kind = defaultdict(list)
        for line in lines:
            self.by_kind[line["line"]].append(line)
        # The daemon knows an order of Kraken's interface by its name only, the exchange by a hash.
        hash_of = {name: intent["hash"] for name, intent in intents.items()}
        known_as = {}
        # An amend makes what is left of an order another one of the book: here both are the first.
        for order in self.by_kind["order"]:
            before = order.get("continues")
            if before is not None:
                order["hash"] = before["hash"]
                for name in ("base", "quote"):
                    order[f"{name}_amount"] = str(int(order[f"{name}_amount"]) + int(before[name]))
                    order[f"{name}_filled"] = str(int(order[f"{name}_filled"]) + int(before[name]))
                order["fee"] = str(int(order["fee"]) + int(before["fee"]))
        for trade in self.by_kind["trade"]:
            trade["maker"] = trade.get("maker_first", trade["maker"])
        for order in self.by_kind["order"]:
            order["client_id"] = name_of(order["client_id"])
            if self.rule == "rising":
                known_as[order["hash"]] = hash_of.get(order["client_id"], order["hash"])
                order["hash"] = known_as[order["hash"]]
        for trade in self.by_kind["trade"]:
            for role in ("maker", "taker"):
                trade[role] = known_as.get(trade[role], trade[role])
        for line in self.by_kind["asked"]:
            request = line["request"]
            if request["what"] == "submit":
                request["client_id"] = name_of(request["client_id"])
                if request["hash"] is None:
                    request["hash"] = hash_of.get(request["client_id"], request["client_id"])
        self.orders = {order["hash"]: order for order in self.by_kind["order"]}
        self.asked = [line for line in self.by_kind["asked"]]
        self.submits = [line for line in self.asked if line["request"]["what"] == "submit"]
        # Orders that were asked to move to another price.
        self.amended = {
            name_of(line["request"]["client_id"]) for line in self.asked
            if line["request"].get("action") == "amend" and line["request"].get("client_id")}
        self.by_hash = {intent["hash"]: intent for intent in intents.values()}
        self.account = self.by_kind["opening"][0]["account"] if self.by_kind["opening"] else None
        # The log goes back to the exchange's beginning: no submit is missing.
        self.whole = all(line["inputs"] == 0 for line in self.by_kind["opening"])
        self.delayed = any(line["delayed"] for line in self.by_kind["opening"]) or any(
            line["request"]["what"] == "set_delays" for line in self.asked)
        self.findings = []

    def find(self, what):
        self.findings.append(what)


def read_store(folder):
    """Orders by client order id, fills by number, moves of pools by hash and explained flows, from a copy of the
    database."""
    with tempfile.TemporaryDirectory() as copy:
        for name in ("cambist.db", "cambist.db-wal"):
            source = pathlib.Path(folder) / name
            if source.exists():
                shutil.copy(source, copy)
        database = sqlite3.connect(pathlib.Path(copy) / "cambist.db")
        database.row_factory = sqlite3.Row
        tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
        if "intents" not in tables:
            return {}, {}, {}, [], (None, "strided")
        instance = database.execute("SELECT instance FROM meta").fetchone()[0]
        rule = database.execute("SELECT rule FROM slot_rule").fetchone() if "slot_rule" in tables else None
        intents = {}
        rows = database.execute(
            "SELECT i.*, e.end, e.base AS end_base, e.quote AS end_quote, e.fee AS end_fee, e.at_us AS end_us "
            "FROM intents i LEFT JOIN ends e USING (number) ORDER BY number")
        for row in rows:
            intent = dict(row)
            intent["hash"] = "0x" + row["hash"].hex()
            intents[f"c{instance:08x}-{row['strategy']}-{row['number']}"] = intent
        fills = defaultdict(list)
        for row in database.execute("SELECT * FROM fills ORDER BY id"):
            fills[row["number"]].append(dict(row))
        moves = {}
        if "moves" in tables:
            rows = database.execute(
                "SELECT m.*, e.end, d.first AS moved_first, d.second AS moved_second, d.lp AS moved_lp, "
                "d.fee AS moved_fee FROM moves m LEFT JOIN ends e USING (number) LEFT JOIN moved d USING (number)")
            moves = {"0x" + row["hash"].hex(): dict(row) for row in rows}
        flows = []
        if "flows" in tables:
            flows = [dict(row) for row in database.execute("SELECT * FROM flows ORDER BY id")]
        database.close()
        return intents, fills, moves, flows, (instance, rule[0] if rule else "strided")


def ours(books, client_id):
    return client_id is not None and client_id.startswith(f"c{books.instance or 0:08x}-")


def orders_are_known(books):
    """Whatever reached the exchange was an intent before, with the same terms."""
    for line in books.submits:
        submit = line["request"]
        intent = books.by_hash.get(submit["hash"])
        if intent is None:
            books.find(f"order {submit['client_id']} ({submit['hash']}) reached the exchange and is no intent here")
            continue
        if books.rule == "rising":
            base = intent["buy_amount" if intent["side"] == submit["side"] == "buy" else "sell_amount"]
            same = intent["side"] == submit["side"] and int(base) == int(submit["volume"])
            same &= intent["rests_until_s"] == submit["valid_until_s"]
        else:
            terms = ("storage_id", "sell_token", "buy_token", "valid_until_s")
            same = all(intent[name] == submit[name] for name in terms)
            same &= all(int(intent[name]) == int(submit[name]) for name in ("sell_amount", "buy_amount"))
        if not same:
            books.find(f"order {submit['client_id']} at the exchange has other terms than the intent")
    for order in books.orders.values():
        intent = books.intents.get(order["client_id"])
        if intent is None or intent["hash"] != order["hash"]:
            books.find(f"order {order['client_id']} ({order['hash']}) rests or rested and is no intent here")
            continue
        sides = ("quote_amount", "base_amount") if order["side"] == "buy" else ("base_amount", "quote_amount")
        here = [int(intent[name]) for name in ("sell_amount", "buy_amount")]
        there = [int(order[name]) for name in sides]
        same = here == there
        if order["client_id"] in books.amended:
            # An amend keeps the base, and moves the price to one that is at most as good for the other side.
            quote = sides.index("quote_amount")
            same = here[1 - quote] == there[1 - quote]
            same &= there[quote] <= here[quote] if order["side"] == "buy" else there[quote] >= here[quote]
        if not same:
            books.find(f"order {order['client_id']} is listed with other terms than the intent")


def intents_are_there(books, final):
    """Every intent ended here as it ended there, or never got there."""
    reached = Counter(line["request"]["hash"] for line in books.submits)
    taken = Counter(line["request"]["hash"] for line in books.submits if line["taken"])
    refused = defaultdict(set)
    for line in books.submits:
        if not line["taken"]:
            refused[line["request"]["hash"]].add(line["reason"])
    for name, intent in books.intents.items():
        order, end = books.orders.get(intent["hash"]), intent["end"]
        if taken[intent["hash"]] and order is None:
            books.find(f"{name}: was taken, and the exchange does not list it")
        if end is None:
            if final:
                books.find(f"{name}: has no end")
        elif order is None:
            if end not in CONCLUDED:
                books.find(f"{name}: ended as {end}, and the exchange never had it")
            weak = refused[intent["hash"]] - PROOFS
            # Kraken takes a nonce once: whatever the reason was, these bytes are refused from then on.
            if end == "rejected" and weak and books.rule != "rising":
                books.find(f"{name}: ended as rejected, though {', '.join(sorted(weak))} proves nothing")
            if end == "never_sent" and reached[intent["hash"]]:
                books.find(f"{name}: reached the exchange, and is said never to have been sent")
        elif STATUS_OF_END.get(end) != order["status"]:
            books.find(f"{name}: ended as {end} here and is {order['status']} there")
        if order is not None and not taken[intent["hash"]] and books.whole:
            books.find(f"{name}: was never taken, and the exchange lists it")
        if final and order is not None and order["open"]:
            books.find(f"{name}: still rests")


def nothing_is_doubled(books):
    """Bytes are taken once, ids name one order, storage ids and occupied slots are not used again."""
    taken = Counter(line["request"]["hash"] for line in books.submits if line["taken"])
    for order_hash, times in taken.items():
        if times > 1:
            books.find(f"order {order_hash} was taken {times} times")
    hashes = defaultdict(set)
    for line in books.submits:
        if ours(books, line["request"]["client_id"]):
            hashes[line["request"]["client_id"]].add(line["request"]["hash"])
    for client_id, found in hashes.items():
        if len(found) > 1:
            books.find(f"{client_id} names {len(found)} orders")
    used, last = {}, {}
    for move in books.moves.values():
        joins = move["kind"] == "join"
        tokens = (move["first_token"], move["second_token"]) if joins else (move["lp_token"],)
        for key in zip(tokens, map(int, move["storage_ids"].split(","))):
            if key in used:
                books.find(f"move {move['number']} and {used[key]} share storage id {key[1]} of token {key[0]}")
            used[key] = f"move {move['number']}"
    for name, intent in books.intents.items():
        row = intent["sell_token"] if books.rule == "strided" else "every token"
        key = (row, intent["storage_id"])
        if key in used:
            books.find(f"{name} and {used[key]} share storage id {key[1]} of token {key[0]}")
        used[key] = name
        if books.rule == "strided" and intent["storage_id"] % 2:
            books.find(f"{name}: storage id {intent['storage_id']} is odd")
        if intent["storage_id"] <= last.get(row, -1):
            books.find(f"{name}: storage id {intent['storage_id']} of token {row} does not rise")
        last[row] = intent["storage_id"]
    if books.rule != "strided":
        nonces_rise(books)
        return
    slots = defaultdict(list)
    for order in books.orders.values():
        slots[(order["sell_token"], order["storage_id"] % SLOTS)].append(order)
    for (token, slot), orders in slots.items():
        orders.sort(key=lambda order: order["created_ms"])
        for before, after in zip(orders, orders[1:]):
            if before["open"] or before["updated_ms"] > after["created_ms"]:
                books.find(f"slot {slot} of token {token} held {before['client_id']} and {after['client_id']} at once")


def nonces_rise(books):
    """Orders that were taken have nonces of their own, in the order in which they were taken."""
    last = -1
    for line in books.submits:
        nonce = line["request"].get("nonce")
        if line["taken"] and nonce is not None:
            if nonce <= last:
                books.find(f"order {line['request']['client_id']} was taken with nonce {nonce} after {last}")
            last = nonce


def fills_are_booked_once(books):
    """Orders there, fills and ends here, and the single trades of the log name the same amounts."""
    traded = defaultdict(lambda: [0, 0, 0])
    for trade in books.by_kind["trade"]:
        for role in ("maker", "taker"):
            if trade[f"{role}_account"] == books.account:
                amounts = (trade["base"], trade["quote"], trade[f"{role}_fee"])
                for index, amount in enumerate(amounts):
                    traded[trade[role]][index] += int(amount)
    known = set()
    for name, intent in books.intents.items():
        known.add(intent["number"])
        order = books.orders.get(intent["hash"])
        there = [int(order[key]) for key in ("base_filled", "quote_filled", "fee")] if order else [0, 0, 0]
        booked = books.fills.get(intent["number"], [])
        here = [sum(int(fill[key]) for fill in booked) for key in ("base", "quote", "fee")]
        if intent["end"] is not None:
            ended = [int(intent[key]) for key in ("end_base", "end_quote", "end_fee")]
            if ended != there:
                books.find(f"{name}: its end says {ended}, the exchange {there}")
            if here != there:
                books.find(f"{name}: {len(booked)} fills make {here}, the exchange says {there}")
        elif any(mine > theirs for mine, theirs in zip(here, there)):
            books.find(f"{name}: {len(booked)} fills make {here}, the exchange says only {there}")
        trades = traded[intent["hash"]]
        if trades != there and not (books.delayed and all(a <= b for a, b in zip(trades, there))):
            books.find(f"{name}: single trades make {trades}, the order says {there}")
    for number in books.fills:
        if number not in known:
            books.find(f"fills of order number {number}, which is no intent")


def moves_agree(books, final):
    """Joins and exits: known on both sides, done once, ended alike, with the same amounts."""
    there = {moved["hash"]: moved for moved in books.by_kind["pool_transaction"]}
    listed = Counter(moved["hash"] for moved in books.by_kind["pool_transaction"])
    asked = [line for line in books.asked if line["request"]["what"] in ("join", "exit")]
    taken = Counter(line["request"]["hash"] for line in asked if line["taken"])
    for line in asked:
        request = line["request"]
        move = books.moves.get(request["hash"])
        if move is None:
            books.find(f"a {request['what']} ({request['hash']}) reached the exchange and is no intent here")
        elif [int(part) for part in move["storage_ids"].split(",")] != request["storage_ids"]:
            books.find(f"move {move['number']} at the exchange has other storage ids than the intent")
    for move_hash, times in listed.items():
        if times > 1:
            books.find(f"the join or exit {move_hash} is listed {times} times")
        if move_hash not in books.moves:
            books.find(f"the join or exit {move_hash} is listed and is no intent here")
    for move_hash, move in books.moves.items():
        name, end, moved = f"move {move['number']}", move["end"], there.get(move_hash)
        if any(int(part) % 2 == 0 for part in move["storage_ids"].split(",")):
            books.find(f"{name}: storage ids {move['storage_ids']} are not odd")
        if taken[move_hash] and moved is None:
            books.find(f"{name}: was taken, and the exchange does not list it")
        if not taken[move_hash] and moved is not None and books.whole:
            books.find(f"{name}: was never taken, and the exchange lists it")
        if end is None:
            if final:
                books.find(f"{name}: has no end")
        elif end == "filled":
            if moved is None or not moved["settled"]:
                books.find(f"{name}: is settled here and not there")
        elif moved is not None and (moved["settled"] or moved["undecided"]):
            books.find(f"{name}: ended as {end}, and is settled or undecided there")
        if move["moved_lp"] is not None and moved is not None:
            here = [int(move[f"moved_{part}"]) for part in ("first", "second", "lp", "fee")]
            theirs = [int(part["actual"]) for part in moved["pooled"]] + [int(moved["lp"]["actual"])]
            theirs.append(sum(int(part["fee"]) for part in moved["pooled"]))
            if here != theirs:
                books.find(f"{name}: moved {here} here and {theirs} there")
        elif end == "filled":
            books.find(f"{name}: its amounts are not booked")


def nothing_lives_after_its_end(books):
    ends = {intent["hash"]: intent for intent in books.intents.values() if intent["end"] is not None}
    for trade in books.by_kind["trade"]:
        for role in ("maker", "taker"):
            intent = ends.get(trade[role])
            if intent and trade["at_ms"] > intent["end_us"] // 1000 + CLOCK_SLACK_MS:
                books.find(f"order number {intent['number']} traded after its end")
    for line in books.submits:
        intent = ends.get(line["request"]["hash"])
        if intent and line["taken"] and line["at_ms"] > intent["end_us"] // 1000 + CLOCK_SLACK_MS:
            books.find(f"order number {intent['number']} was taken after its end")


def submissions_moved(books):
    """What transfers, withdrawals and key updates took from the account or brought it, as pairs of token and amount;
    None where that is not known."""
    account, pending, moved = books.account, set(), []
    for line in books.by_kind["submission"]:
        progress, mine, fee = line["progress"], line["from"] == account, (line["fee_token"], -int(line["fee"]))
        if progress == "unknown":
            return None
        if line.get("earlier"):
            pending |= {line["hash"]} if progress == "pending" else set()
        elif progress == "pending":
            pending.add(line["hash"])
            moved.append(fee)
        elif progress == "settled":
            if mine:
                moved += [] if line["hash"] in pending else [fee]
                moved += [(line["token"], -int(line["amount"]))] if line["what"] != "update_key" else []
            if line["what"] == "transfer" and line["to_account"] == account:
                moved.append((line["token"], int(line["amount"])))
    return moved


def money_adds_up(books, summary):
    """Opening + fills - fees + explained flows = closing, for every token, in base units."""
    totals = {line["token"]: int(line["total"]) for line in books.by_kind["opening_balance"]}
    totals = defaultdict(int, totals)
    for order in books.orders.values():
        if order["hash"] not in books.by_hash:
            continue  # found already: nobody here knows it
        buys = order["side"] == "buy"
        base, quote, fee = (int(order[key]) for key in ("base_filled", "quote_filled", "fee"))
        totals[order["sell_token"]] -= quote if buys else base
        totals[order["buy_token"]] += base if buys else quote
        totals[order["fee_token"]] -= fee
    for moved in books.by_kind["pool_transaction"]:
        if moved["settled"]:
            sign = -1 if moved["join"] else 1
            for part in moved["pooled"]:
                totals[part["token"]] += sign * int(part["actual"]) - int(part["fee"])
            totals[moved["lp"]["token"]] -= sign * int(moved["lp"]["actual"])
    for line in books.asked:
        request = line["request"]
        if line["taken"] and request["what"] in ("deposit", "withdrawal"):
            sign = 1 if request["what"] == "deposit" else -1
            totals[request["token"]] += sign * int(request["amount"])
    moved = submissions_moved(books)
    for token, amount in moved or []:
        totals[token] += amount
    closing = {line["token"]: int(line["total"]) for line in books.by_kind["closing_balance"]}
    if moved is None:
        print("note: the end of a transfer or withdrawal is not known; the totals are not recomputed", file=sys.stderr)
    else:
        for token in sorted(set(totals) | set(closing)):
            if totals[token] != closing.get(token, 0):
                books.find(f"token {token}: recomputed {totals[token]}, the exchange holds {closing.get(token, 0)}")
    if summary is not None:
        symbols = {line["symbol"]: int(line["total"]) for line in books.by_kind["closing_balance"]}
        inventory = {symbol: int(amount) for symbol, amount in last_object(summary)["inventory"].items()}
        for symbol, amount in inventory.items():
            if symbols.get(symbol, 0) != amount:
                books.find(f"{symbol}: the daemon holds {amount}, the exchange {symbols.get(symbol, 0)}")


def flows_are_known(books):
    """What a person explained to the daemon is no more than what came and went there without its orders."""
    came, went, others = defaultdict(int), defaultdict(int), False
    for line in books.asked:
        request = line["request"]
        if line["taken"] and request["what"] == "deposit":
            came[request["token"]] += int(request["amount"])
        elif line["taken"] and request["what"] == "withdrawal":
            went[request["token"]] += int(request["amount"])
    moved = submissions_moved(books)
    for token, amount in moved or []:
        (came if amount > 0 else went)[token] += abs(amount)
    others |= moved is None
    others |= any(order["hash"] not in books.by_hash for order in books.orders.values())
    # The daemon numbers the tokens of Kraken's interface itself.
    token_of = {line["symbol"]: line["token"] for kind in ("opening_balance", "closing_balance")
                for line in books.by_kind[kind]}
    for flow in books.flows:
        token = token_of.get(flow["symbol"]) if books.rule == "rising" else flow["token"]
        amount = int(flow["amount"])
        if token is None:
            books.find(f"flow {flow['id']} is of {flow['symbol']}, which the exchange does not have")
            continue
        if not flow["reason"].strip() or amount == 0:
            books.find(f"flow {flow['id']} has no reason or no amount")
        (came if amount > 0 else went)[token] -= abs(amount)
    if books.whole and not others:
        for name, left in (("came", came), ("went", went)):
            for token in sorted(token for token, amount in left.items() if amount < 0):
                books.find(f"token {token}: {-left[token]} more were explained than {name} at the exchange")


def last_object(path):
    """The last JSON value of a file that holds several."""
    text, at, found = pathlib.Path(path).read_text(), 0, None
    decoder = json.JSONDecoder()
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        found, at = decoder.raw_decode(text, at)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", required=True)
    parser.add_argument("--venue", required=True)
    parser.add_argument("--final", action="store_true")
    parser.add_argument("--summary")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if sqlite3.sqlite_version_info < (3, 37):
        print(f"skipped: SQLite {sqlite3.sqlite_version} is older than 3.37")
        return 3
    text = pathlib.Path(arguments.venue).read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    if not lines or lines[0]["line"] != "opening" or lines[-1]["line"] != "end":
        print("the exchange's export has no beginning or no end", file=sys.stderr)
        return 1
    books = Books(*read_store(arguments.store), lines)
    orders_are_known(books)
    intents_are_there(books, arguments.final)
    nothing_is_doubled(books)
    fills_are_booked_once(books)
    moves_agree(books, arguments.final)
    nothing_lives_after_its_end(books)
    money_adds_up(books, arguments.summary)
    flows_are_known(books)
    counts = {
        "intents": len(books.intents) + len(books.moves),
        "submits": len(books.submits),
        "orders": len(books.orders),
        "trades": len(books.by_kind["trade"]),
        "flows": len(books.flows),
        "fills": sum(len(fills) for fills in books.fills.values()),
        "findings": books.findings,
    }
    if arguments.json:
        print(json.dumps(counts, indent=2))
    else:
        for finding in books.findings:
            print(finding)
        print("{intents} intents, {submits} submits, {orders} orders, {trades} trades, {fills} fills: ".format(**counts)
              + (f"{len(books.findings)} findings" if books.findings else "all agree"))
    return 1 if books.findings else 0


if __name__ == "__main__":
    sys.exit(main())
