"""A second client, written from the interface text alone, drives the exchange.

It sends X-API-KEY everywhere and strings where the text says strings, checks every answer field by
field, and provokes as many of the listed pairs of endpoint and status code as can be provoked from
outside. Usage: python3 drive.py BINARY EXAMPLE-CONFIGURATION
"""

import sys
import time

import shapes
from exchange import Client, Exchange
from pairs import Pairs
from signing import Signer, order_hash

ETH, USDC = "0", "1"
CONTRACT = "0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e001"
OWNER = "0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e010"
NOBODY = "0x" + "aa" * 20
STRANGER = 1_000_000  # the first background trader: an account, and not ours
OPEN_ORDERS_MAX = 1_024


class Run:
    """The steps, their count, and the pairs they provoked."""

    def __init__(self, exchange, pairs):
        self.exchange = exchange
        self.client = Client(exchange)
        self.account = exchange.account_id
        self.pairs = pairs
        self.passed = self.failed = 0
        self.storage = {ETH: 0, USDC: 0}
        self.mid = 0

    def step(self, name, call):
        try:
            call()
        except Exception as error:  # every kind of failure is one line, and the rest goes on
            self.failed += 1
            print(f"failed  {name}: {type(error).__name__}: {error}"[:400])
        else:
            self.passed += 1
            print(f"passed  {name}")

    def ok(self, answer, shape):
        """A success: 200, bare, of this shape."""
        status, body, _ = answer
        assert status == 200, f"HTTP {status}: {body}"
        assert not (isinstance(body, dict) and "resultInfo" in body), f"an envelope: {body}"
        shapes.check(body, shape)
        return body

    def refused(self, endpoint, code, answer, text=""):
        """A refusal: 400, this code, a message."""
        status, body, _ = answer
        shapes.check(body, {"resultInfo": {"code": int, "message": str}})
        info = body["resultInfo"]
        assert (status, info["code"]) == (400, code), f"HTTP {status}, {info}; not 400, {code}"
        assert info["message"] and text in info["message"], f"message: {info['message']}"
        self.pairs.saw(endpoint, code)

    def expect(self, endpoint, code, what, call, text=""):
        self.step(f"{endpoint} {code}: {what}", lambda: self.refused(endpoint, code, call(), text))

    # ---- orders ----------------------------------------------------------------------------

    def order(self, side, price, milli, **changes):
        """Thousandths of an ETH at a whole price, every field as the text types it."""
        base = {"tokenId": ETH, "volume": str(milli * 10**15)}
        quote = {"tokenId": USDC, "volume": str(price * milli * 10**3)}
        sell, buy = (quote, base) if side == "BUY" else (base, quote)
        storage = self.storage[sell["tokenId"]]
        self.storage[sell["tokenId"]] += 2
        return {
            "exchange": CONTRACT,
            "accountId": self.account,
            "storageId": storage,
            "sellToken": sell,
            "buyToken": buy,
            "allOrNone": "false",
            "fillAmountBOrS": "true" if side == "BUY" else "false",
            "validUntil": int(time.time()) + 3_600,
            "maxFeeBips": 60,
            "orderType": "LIMIT_ORDER",
            "taker": "0x" + "0" * 40,
            **changes,
        }

    def bid(self, **changes):
        return self.order("BUY", self.mid * 4 // 5, 5, **changes)

    def submit(self, order, signer=None, **more):
        signer = signer or self.exchange.signer
        signed = {**order, "eddsaSignature": signer.sign(order_hash(order))}
        return self.client.post("/api/v3/order", signed, **more)

    def placed(self, order, **more):
        return self.ok(self.submit(order, **more), shapes.ORDER_RESULT)

    def detail(self, order_hash):
        params = {"accountId": self.account, "orderHash": order_hash}
        return self.ok(self.client.get("/api/v3/order", params), shapes.ORDER)

    def cancel(self, **which):
        return self.client.delete("/api/v3/order", {"accountId": self.account, **which})

    def orders(self, **filters):
        params = {"accountId": self.account, **filters}
        return self.ok(self.client.get("/api/v3/orders", params), shapes.ORDERS)


def reading(run):
    get, ok = run.client.get, run.ok
    run.step("exchange info", lambda: ok(get("/api/v3/exchange/info"), shapes.EXCHANGE_INFO))
    run.step("tokens", lambda: ok(get("/api/v3/exchange/tokens"), shapes.TOKENS))
    run.step("markets", lambda: ok(get("/api/v3/exchange/markets"), shapes.MARKETS))
    run.step("pools", lambda: ok(get("/api/v3/amm/pools"), shapes.POOLS))
    run.step("pool transactions", lambda: ok(
        get("/api/v3/amm/user/transactions", {"accountId": run.account, "txTypes": "join"}),
        shapes.TRANSACTIONS,
    ))
    run.step("pool transactions without a parameter", lambda: ok(
        get("/api/v3/amm/user/transactions"), shapes.TRANSACTIONS))

    def account():
        found = ok(get("/api/v3/account", {"owner": OWNER}), shapes.ACCOUNT)
        assert found["accountId"] == run.account and found["owner"].lower() == OWNER, found
        key = tuple(int(found["publicKey"][part], 16) for part in "xy")
        assert key == run.exchange.signer.public, "the public key is not the one of the key file"

    def balances():
        found = ok(get("/api/v3/user/balances", {"accountId": run.account}), shapes.BALANCES)
        assert [entry["tokenId"] for entry in found] == [0, 1], found
        params = {"accountId": run.account, "tokens": USDC}
        found = ok(get("/api/v3/user/balances", params), shapes.BALANCES)
        assert [entry["tokenId"] for entry in found] == [1], found

    def depth():
        found = ok(get("/api/v3/depth", {"market": "ETH-USDC", "level": 0}), shapes.DEPTH)
        assert found["bids"] and found["asks"], "a side is empty"
        assert all(len(row) == 4 for row in found["bids"] + found["asks"]), "rows of four"
        bid, ask = float(found["bids"][0][0]), float(found["asks"][0][0])
        assert bid < ask, f"crossed: {bid} {ask}"
        run.mid = round((bid + ask) / 2)
        again = ok(get("/api/v3/depth", {"market": "ETH-USDC", "level": 1, "limit": 2}), shapes.DEPTH)
        assert again["version"] >= found["version"], "the version fell"
        assert len(again["bids"]) <= 2 and len(again["asks"]) <= 2, "more than the limit"

    run.step("account by owner", account)
    run.step("balances: all, and some", balances)
    run.step("depth: rows, limit, version", depth)


def trading(run):
    state = {}

    def rest():
        bid = run.bid(clientOrderId="text-1", channelId="source")
        ack = run.placed(bid)
        assert int(ack["hash"], 16) == order_hash(bid), "not the hash that was signed"
        assert (ack["clientOrderId"], ack["status"]) == ("text-1", "processing"), ack
        got = run.detail(ack["hash"])
        amounts = got["volumes"]["quoteAmount"], got["volumes"]["baseAmount"]
        assert amounts == (bid["sellToken"]["volume"], bid["buyToken"]["volume"]), got
        assert got["validity"]["end"] == bid["validUntil"], got
        state["hash"] = ack["hash"]

    def cancel():
        answer = run.ok(run.cancel(orderHash=state["hash"]), shapes.ORDER_RESULT)
        assert answer["status"] == "cancelled", answer
        assert run.detail(state["hash"])["status"] == "cancelled"

    def take():
        ack = run.placed(run.order("SELL", run.mid * 9 // 10, 5, orderType="TAKER_ONLY"))
        assert ack["status"] == "processed", ack
        volumes = run.detail(ack["hash"])["volumes"]
        assert int(volumes["fee"]) == int(volumes["quoteFilled"]) * 10 // 10_000, volumes

    def listed():
        ack = run.placed(run.bid(orderType="MAKER_ONLY"))
        page = run.orders(status="processing", market="ETH-USDC", side="BUY", orderTypes="MAKER_ONLY")
        assert [each["hash"] for each in page["orders"]] == [ack["hash"]], page
        page = run.orders(status="processing,cancelled,processed", limit=1, offset=1)
        assert page["totalNum"] == 3 and len(page["orders"]) == 1, page
        assert run.orders(start=int(time.time() * 1_000) + 60_000)["totalNum"] == 0
        run.ok(run.cancel(orderHash=ack["hash"]), shapes.ORDER_RESULT)

    def awkward():
        for client_id in ("a b", "a/b", "a+b", "a,b", "a=b&c", "100%", "!'()*", "~", "käse"):
            ack = run.placed(run.bid(clientOrderId=client_id))
            answer = run.ok(run.cancel(clientOrderId=client_id), shapes.ORDER_RESULT)
            assert (answer["hash"], answer["clientOrderId"]) == (ack["hash"], client_id), answer

    run.step("an order rests and is read back", rest)
    run.step("a cancel by hash", cancel)
    run.step("a taker trades and pays its fee", take)
    run.step("lists with every filter", listed)
    run.step("cancels by awkward client ids, encoded twice", awkward)


def order_codes(run):
    place = "POST /api/v3/order"
    first = run.bid()
    run.step("an order for the refusals", lambda: run.placed(first))
    newer = {**first, "storageId": first["storageId"] + 16_384}
    now = int(time.time())
    usdc = lambda volume: {"tokenId": USDC, "volume": volume}
    cases = [
        (102001, "another exchange", lambda: run.bid(exchange=NOBODY)),
        (102002, "an unlisted token", lambda: run.bid(sellToken={"tokenId": "9", "volume": "5"})),
        (102003, "nobody's account", lambda: run.bid(accountId=77)),
        (102005, "no such pair", lambda: run.bid(buyToken=usdc("1000000"))),
        (102006, "a fee of no bips", lambda: run.bid(maxFeeBips=0)),
        (102006, "a fee of 64 bips", lambda: run.bid(maxFeeBips=64)),
        (102007, "the same order", lambda: first),
        (102007, "its storage id again", lambda: {**first, "maxFeeBips": 59}),
        (102008, "expired", lambda: run.bid(validUntil=now - 1)),
        (102011, "more than there is", lambda: run.order("BUY", run.mid * 4 // 5, 900_000)),
        (102012, "no amount", lambda: run.bid(sellToken=usdc("0"))),
        (102012, "below the minimum", lambda: run.order("SELL", run.mid * 2, 0, sellToken={
            "tokenId": ETH, "volume": "1000"}, buyToken=usdc("1"))),
        (102020, "above the maximum", lambda: run.order("SELL", run.mid, 2_000_000)),
        (102120, "all or none", lambda: run.bid(allOrNone="true")),
        (102120, "a named taker", lambda: run.bid(taker=NOBODY)),
        (102120, "a client id of 121 bytes", lambda: run.bid(clientOrderId="x" * 121)),
        (102120, "a maker that would take", lambda: run.order(
            "BUY", run.mid * 11 // 10, 5, orderType="MAKER_ONLY")),
        (104003, "another account's order", lambda: run.bid(accountId=STRANGER)),
    ]
    for code, what, order in cases:
        run.expect(place, code, what, lambda order=order: run.submit(order()))
    run.step("a larger id in the slot", lambda: run.placed(newer))
    run.expect(place, 102004, "an older storage id", lambda: run.submit({**first, "maxFeeBips": 58}))
    run.step("the slot is given up", lambda: run.ok(
        run.cancel(orderHash=f"0x{order_hash(newer):064x}"), shapes.ORDER_RESULT))
    run.expect(place, 102010, "no signature", lambda: run.client.post("/api/v3/order", run.bid()))
    other = Signer(12_345)
    run.expect(place, 104005, "another account's signature", lambda: run.submit(run.bid(), signer=other))
    run.expect(place, 104001, "no key", lambda: run.submit(run.bid(), key=""))
    run.expect(place, 104002, "a wrong key", lambda: run.submit(run.bid(), key="no such key"))
    for field, value in (
        ("storageId", "+5"), ("storageId", "1e3"), ("storageId", "007"), ("storageId", "1_000"),
        ("storageId", 1.5), ("storageId", -1), ("storageId", None), ("allOrNone", "maybe"),
        ("sellToken", usdc("1.0")), ("sellToken", usdc("-1")), ("orderType", "FOK"), ("exchange", 7),
    ):
        run.expect(place, 100001, f"{field} {value}", lambda field=field, value=value:
                   run.client.post("/api/v3/order", {**run.bid(), field: value, "eddsaSignature": "0x"}),
                   field)
    run.expect(place, 100001, "no JSON", lambda: run.client.post("/api/v3/order", "{"))


def reading_codes(run):
    one, many, delete = "GET /api/v3/order", "GET /api/v3/orders", "DELETE /api/v3/order"
    mine, get = {"accountId": run.account}, run.client.get
    unknown = "0x" + "11" * 32
    for endpoint, params in (
        (one, {"orderHash": unknown}), (many, {}), ("GET /api/v3/user/balances", {}),
        ("GET /api/v3/amm/user/transactions", {}),
    ):
        path = endpoint.split()[1]
        ask = lambda account, key=None, path=path, params=params: get(
            path, {"accountId": account, **params}, key=key)
        run.expect(endpoint, 104001, "no key", lambda ask=ask: ask(run.account, key=""))
        run.expect(endpoint, 104002, "a wrong key", lambda ask=ask: ask(run.account, key="x"))
        run.expect(endpoint, 104003, "another account", lambda ask=ask: ask(STRANGER))
    run.expect(one, 107001, "no account", lambda: get("/api/v3/order", {"orderHash": unknown}))
    run.expect(one, 107002, "no hash", lambda: get("/api/v3/order", mine))
    run.expect(one, 107003, "unknown", lambda: get("/api/v3/order", {**mine, "orderHash": unknown}))
    run.expect(many, 107001, "no account", lambda: get("/api/v3/orders"))
    run.expect(delete, 104001, "no key", lambda: run.client.delete(
        "/api/v3/order", {**mine, "orderHash": unknown}, key=""))
    run.expect(delete, 104002, "a wrong key", lambda: run.client.delete(
        "/api/v3/order", {**mine, "orderHash": unknown}, key="x"))
    run.expect(delete, 104003, "another account", lambda: run.client.delete(
        "/api/v3/order", {"accountId": STRANGER, "orderHash": unknown}))
    run.expect(delete, 102117, "unknown", lambda: run.cancel(orderHash=unknown))
    run.expect(delete, 100001, "neither hash nor client id", run.cancel)
    run.expect(delete, 104004, "no signature", lambda: run.client.delete(
        "/api/v3/order", {**mine, "orderHash": unknown}, signature=""))
    run.expect(delete, 104005, "a signature of something else", lambda: run.client.delete(
        "/api/v3/order", {**mine, "orderHash": unknown}, signature=run.exchange.signer.sign(1)))
    depth = lambda **params: get("/api/v3/depth", params)
    run.expect("GET /api/v3/depth", 108000, "unknown", lambda: depth(market="A-B", level=0))
    run.expect("GET /api/v3/depth", 108001, "level 9", lambda: depth(market="ETH-USDC", level=9))
    run.expect("GET /api/v3/depth", 108001, "no level", lambda: depth(market="ETH-USDC"))
    account = lambda owner: get("/api/v3/account", {"owner": owner})
    run.expect("GET /api/v3/account", 101001, "zero address", lambda: account("0x" + "0" * 40))
    run.expect("GET /api/v3/account", 101002, "nobody", lambda: account(NOBODY))
    run.expect("GET /api/v3/amm/user/transactions", 107001, "an account that is given and empty",
               lambda: get("/api/v3/amm/user/transactions", {"accountId": ""}))
    run.expect("GET /api/v3/amm/balance", 100001, "there is no pool",
               lambda: get("/api/v3/amm/balance", {"poolAddress": NOBODY}), "no such pool")


def moving(run):
    """Transfers, withdrawals, keys, joins and exits: what is wrong with their fields comes before their
    signatures, which are wrong too."""
    stand_in = "0x" + "12" * 65
    until = int(time.time()) + 3_600
    fee, volume = {"tokenId": USDC, "volume": "0"}, {"tokenId": USDC, "volume": "1"}
    common = {"exchange": CONTRACT, "maxFee": fee, "storageId": 1, "validUntil": until}
    pool = {"owner": OWNER, "poolAddress": NOBODY, "validUntil": until}
    pooled = [{"tokenId": ETH, "volume": "1"}, volume]
    good = {
        "POST /api/v3/transfer": {**common, "payerId": run.account, "payerAddr": OWNER, "payeeId": 0,
                                  "payeeAddr": NOBODY, "token": volume},
        "POST /api/v3/user/withdrawals": {**common, "accountId": run.account, "owner": OWNER,
                                          "token": volume, "minGas": 0, "to": OWNER},
        "POST /api/v3/account": {"exchange": CONTRACT, "owner": OWNER, "accountId": run.account,
                                 "publicKey": dict(zip("xy", map(hex, run.exchange.signer.public))),
                                 "maxFee": fee, "validUntil": until, "nonce": 1},
        "POST /api/v3/amm/join": {**pool, "joinTokens": {"pooled": pooled, "minimumLp": "1"},
                                  "storageIds": "1,3"},
        "POST /api/v3/amm/exit": {**pool, "exitTokens": {"unPooled": pooled, "burned": "1"},
                                  "storageId": 1, "maxFee": "0"},
    }
    zero = "0x" + "00" * 20
    other_fee = {"maxFee": {"tokenId": 9, "volume": "0"}}
    wrong = {
        "POST /api/v3/transfer": ((102001, {"exchange": NOBODY}), (102021, {"storageId": 2**32}),
                                  (102022, {"payerAddr": NOBODY}), (102023, {"payeeAddr": zero}),
                                  (102024, other_fee)),
        "POST /api/v3/user/withdrawals": ((102001, {"exchange": NOBODY}), (102021, {"storageId": 2**32}),
                                          (102022, {"owner": NOBODY}), (102023, {"to": zero}),
                                          (102024, other_fee)),
        "POST /api/v3/account": ((102001, {"exchange": NOBODY}), (102022, {"owner": NOBODY}),
                                 (102023, {"publicKey": "0x1"}), (102024, other_fee)),
        "POST /api/v3/amm/join": ((102001, {}), (102022, {"owner": NOBODY})),
        "POST /api/v3/amm/exit": ((102001, {}), (102022, {"owner": NOBODY})),
    }
    for place, cases in wrong.items():
        for code, change in cases:
            body = {**good[place], **change}
            run.expect(place, code, "a wrong field", lambda place=place, body=body: run.client.post(
                place.split()[1], body, signature=stand_in))
    for place in ("POST /api/v3/transfer", "POST /api/v3/user/withdrawals"):
        run.expect(place, 104005, "a wrong signature", lambda place=place: run.client.post(
            place.split()[1], good[place], signature=stand_in))


def key_codes(run):
    place, path = "POST /api/v3/apiKey", "/api/v3/apiKey"
    post = lambda body, **more: run.client.post(path, body, **more)
    mine = {"accountId": run.account}
    run.expect(place, 100001, "no account", lambda: post({}))
    run.expect(place, 101002, "nobody", lambda: post({"accountId": 77}))
    run.expect(place, 104001, "no key", lambda: post(mine, key=""))
    run.expect(place, 104002, "a wrong key", lambda: post(mine, key="x"))
    run.expect(place, 104003, "another account", lambda: post({"accountId": STRANGER}))
    run.expect(place, 104005, "a wrong signature", lambda: post(
        mine, signature=run.exchange.signer.sign(1)))

    def replace():
        old = run.client.api_key
        run.client.api_key = run.ok(post(mine), shapes.API_KEY)["apiKey"]
        run.ok(run.client.get("/api/v3/user/balances", mine), shapes.BALANCES)
        run.refused("GET /api/v3/user/balances", 104002,
                    run.client.get("/api/v3/user/balances", mine, key=old))

    run.step("the API key is replaced; the old one opens nothing", replace)


def signed_keys(run):
    """The exchange configured to want a signature there."""
    place, mine = "POST /api/v3/apiKey", {"accountId": run.account}
    body = '{"accountId":%d}' % run.account
    run.expect(place, 104004, "no signature", lambda: run.client.post("/api/v3/apiKey", mine))
    signature = run.exchange.signer.body("POST", run.exchange.url + "/api/v3/apiKey", body)
    run.step("the API key is replaced with a signature", lambda: run.ok(
        run.client.post("/api/v3/apiKey", body, signature=signature), shapes.API_KEY))


def many_orders(run):
    """As many open orders as an account may have, and one more."""
    def fill():
        for _ in range(OPEN_ORDERS_MAX):
            while (answer := run.submit(run.order("BUY", 1_000, 1)))[0] == 429:
                time.sleep(int(answer[2]["Retry-After"]))
            run.ok(answer, shapes.ORDER_RESULT)

    run.step(f"{OPEN_ORDERS_MAX} open orders", fill)
    run.expect("POST /api/v3/order", 102027, "one more", lambda: run.submit(run.order("BUY", 1_000, 1)))


def too_many(run):
    def flood():
        ask = lambda: run.client.get("/api/v3/user/balances", {"accountId": run.account})
        answers = [ask() for _ in range(40)]
        refused = [answer for answer in answers if answer[0] != 200]
        assert refused and len(refused) < len(answers), f"{len(refused)} of {len(answers)} refused"
        for status, body, headers in refused:
            assert status == 429, f"HTTP {status}: {body}"
            assert int(headers["Retry-After"]) >= 1, "nothing says how long to wait"
            shapes.check(body, {"resultInfo": {"code": int, "message": str}})

    run.step("five a second: HTTP 429 with Retry-After", flood)


def ended(code):
    assert code == 0, f"exit code {code}"


def main(binary, template):
    pairs, passed, failed = Pairs(), 0, 0
    fast = {"endpoint_per_s": "10000", "endpoint_burst": "10000"}
    parts = (reading, trading, order_codes, reading_codes, moving, key_codes, many_orders)
    for changes, parts in (
        (fast, parts),
        ({**fast, "require_api_key_signature": "true"}, (signed_keys,)),
        ({}, (too_many,)),
    ):
        with Exchange(binary, template, **changes) as exchange:
            run = Run(exchange, pairs)
            for part in parts:
                run.step(f"part {part.__name__} ran to its end", lambda part=part: part(run))
            run.step("the exchange ends cleanly, its books add up", lambda: ended(exchange.stop()))
            passed, failed = passed + run.passed, failed + run.failed
    lines, missing = pairs.table()
    print("\n".join(["", *lines]))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or missing or not passed else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
