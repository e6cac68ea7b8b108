"""ccxt, unmodified, trades on the exchange through its class for Kraken.

Every answer is validated against the published specification; every figure that the client shows is computed
again from the ledger, and held against what the first interface and the verified data folder show. Every request that
our own client can send (requests.txt) is validated too, and signed a second time.
Usage: python3 drive.py BINARY EXAMPLE-CONFIGURATION
"""

import base64
import hashlib
import hmac
import json
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from decimal import ROUND_DOWN, Decimal
from pathlib import Path

import ccxt

import specification
from exchange import Client, Exchange

MARKET = "ETH/USDC"
TAKER_FEE = Decimal("0.001")
# The example of the documents: https://docs.kraken.com/api/docs/guides/spot-rest-auth
EXAMPLE_SECRET = "kQH5HW/8p1uGOVjbgWA7FunAmGO8lsSUXNsu3eow76sz84Q18fWxnyRzBHCd3pd5nE9qa99HAZtuZuj6F1huXg=="
EXAMPLE_BODY = "nonce=1616492376594&ordertype=limit&pair=XBTUSD&price=37500&type=buy&volume=1.25"
EXAMPLE_SIGN = "4/dpxb3iT4tp/ZCVEwSnEsLxx0bqyhLpdfOpc6fn7OR8+UClSV5n9E6aSS8MPtnRfp32bAb0nmbRn6H8ndwLUQ=="
DUST = 0.0001
FILL_S = 60


def sign(secret, path, body):
    """HMAC-SHA512 of path and SHA256(nonce + body), as the documents define API-Sign."""
    nonce = dict(urllib.parse.parse_qsl(body))["nonce"]
    digest = hashlib.sha256((nonce + body).encode()).digest()
    return base64.b64encode(hmac.new(base64.b64decode(secret), path.encode() + digest, hashlib.sha512).digest()).decode()


class Run:
    """The client, and the count of steps."""

    def __init__(self, exchange):
        folder = exchange.folder / "keys" / "kraken" / "maker"
        self.exchange = exchange
        self.key, self.secret = ((folder / name).read_text().strip() for name in ("api_key", "secret"))
        self.passed = self.failed = self.answers = 0
        self.methods, self.wrong = set(), []
        self.client = ccxt.kraken({"apiKey": self.key, "secret": self.secret, "enableRateLimit": True})
        self.client.urls["api"].update(public=exchange.url, private=exchange.url)
        self.client.session.hooks["response"].append(lambda response, *_, **__: self.saw(response.url, response.json()))

    def saw(self, url, answer):
        method = "/".join(urllib.parse.urlsplit(url).path.split("/")[-2:])
        self.answers += 1
        self.methods.add(method)
        wrong = specification.check(method, answer)
        if wrong:
            self.wrong.append(wrong)

    def step(self, name, call):
        before = len(self.wrong)
        try:
            call()
            assert len(self.wrong) == before, "; ".join(self.wrong[before:])
        except Exception as error:  # every kind of failure is one line, and the rest goes on
            self.failed += 1
            print(f"failed  {name}: {type(error).__name__}: {error}"[:600])
        else:
            self.passed += 1
            print(f"passed  {name}")

    def raw(self, name, fields, secret=None):
        """A request of our own bytes, for what the client cannot be made to send."""
        path, body = f"/0/private/{name}", urllib.parse.urlencode(fields)
        headers = {"API-Key": self.key, "API-Sign": sign(secret or self.secret, path, body)}
        request = urllib.request.Request(self.exchange.url + path, body.encode(), headers)
        with urllib.request.urlopen(request, timeout=10) as response:
            answer = json.load(response)
        self.saw(path, answer)
        return answer

    def result(self, call, params=None):
        return getattr(self.client, call)(params or {})["result"]

    def bid(self):
        return Decimal(str(self.client.fetch_order_book(MARKET, 5)["bids"][0][0]))

    def far(self, percent=90):
        return float(round(self.bid() * percent / 100, 2))

    def rest(self, amount=0.5, **params):
        return self.client.create_order(MARKET, "limit", "buy", amount, self.far(), params)["id"]

    def status(self, order):
        return self.client.fetch_order(order, MARKET)["status"]


def refused(text, call):
    try:
        call()
    except ccxt.ExchangeError as error:
        assert text in str(error), f"{text} was expected: {error}"
    else:
        raise AssertionError(f"accepted, where {text} was expected")


def reading(run):
    client = run.client

    def signature():
        assert sign(EXAMPLE_SECRET, "/0/private/AddOrder", EXAMPLE_BODY) == EXAMPLE_SIGN

    def markets():
        market = client.load_markets()[MARKET]
        assert market["spot"] and market["active"] and not market["margin"], market
        assert market["precision"]["price"] == 0.01, market["precision"]
        assert Decimal(str(market["taker"])) == TAKER_FEE, market["taker"]

    def public():
        assert abs(client.fetch_time() - time.time() * 1000) < 60_000
        assert client.fetch_status()["status"] == "ok"
        book = client.fetch_order_book(MARKET, 10)
        assert book["bids"][0][0] < book["asks"][0][0], book
        for _ in range(20):
            if client.fetch_trades(MARKET):
                break
            time.sleep(1)
        ticker = client.fetch_ticker(MARKET)
        assert ticker["bid"] < ticker["ask"] and ticker["last"] > 0, ticker
        candle = client.fetch_ohlcv(MARKET)[-1]
        assert candle[3] <= candle[4] <= candle[2], candle
        spread = run.result("publicGetSpread", {"pair": "ETHUSDC"})
        assert spread["last"], spread

    def refuses_unknown():
        refused("EQuery:Unknown asset pair", lambda: client.publicGetDepth({"pair": "NOPEUSD"}))

    def own_requests():
        lines = (Path(__file__).parent / "requests.txt").read_text().splitlines()
        seen = set()
        for line in lines:
            path, form, signature = line.split(" ")
            form = "" if form == "-" else form
            method = "/".join(path.split("/")[-2:])
            wrong = specification.check_request(method, form)
            assert not wrong, f"{wrong}: {form}"
            assert signature == (sign(EXAMPLE_SECRET, path, form) if "private" in path else "-"), line
            seen.add(method)
        assert len(lines) >= 30 and len(seen) >= 15, (len(lines), seen)

    def wrong_requests():
        form = "nonce=1&ordertype=limit&type=buy&pair=XBTUSD&price=1&volume=1"
        assert specification.check_request("private/AddOrder", form) is None
        for old, new in (("nonce=1", "nonce=a"), ("nonce=1&", ""), ("nonce=1", "nonce=9223372036854775808"),
                         ("type=buy", "type=hold"), ("=limit", "=peg"), ("volume", "size"), ("&pair=XBTUSD", ""),
                         ("volume=1", "volume=1&validate=yes"), ("volume=1", "volume=1&timeinforce=FOK"),
                         ("volume=1", "volume=1&volume=1"), ("volume=1", "volume=1&stptype=none")):
            assert specification.check_request("private/AddOrder", form.replace(old, new, 1)), new
        for method, form in (("private/ClosedOrders", "nonce=1&start=1.5"), ("public/Depth", ""),
                             ("public/Depth", "pair=XBTUSD&count=501"), ("private/CancelAllOrdersAfter", "nonce=1")):
            assert specification.check_request(method, form), form

    def validator():
        right = {"error": [], "result": {"unixtime": 1, "rfc1123": "Thu, 06 Jul 23 18:50:48 +0000"}}
        assert specification.check("public/Time", right) is None
        for wrong in ({"unixtime": "1"}, {"unixtime": 1, "more": 1}):
            assert specification.check("public/Time", {"error": [], "result": wrong}), wrong
        assert specification.check("public/Time", {"error": ["EGeneral:Internal error"], "result": {}})

    run.step("the documented signature example", signature)
    run.step("wrong answers are found", validator)
    run.step("every request of our client is valid, and signed as by this program", own_requests)
    run.step("wrong requests are found", wrong_requests)
    run.step("markets, precisions and fees", markets)
    run.step("book, ticker, trades, candles, spread, status", public)
    run.step("an unknown pair is refused", refuses_unknown)


def trading(run):
    client = run.client

    def lifecycle():
        order = run.rest(postOnly=True, clientOrderId="first-1")
        shown = client.fetch_order(order, MARKET)
        assert (shown["status"], shown["clientOrderId"], shown["amount"]) == ("open", "first-1", 0.5), shown
        assert order in [each["id"] for each in client.fetch_open_orders(MARKET)]
        held = client.fetch_balance()["USDC"]["used"]
        assert held >= 0.5 * shown["price"], held
        client.edit_order(order, MARKET, "limit", "buy", 0.4, run.far(91))
        shown = client.fetch_order(order, MARKET)
        assert (shown["status"], shown["amount"]) == ("open", 0.4), shown
        client.cancel_order(order, MARKET)
        assert run.status(order) == "canceled"
        refused("EOrder:Unknown order", lambda: client.cancel_order(order, MARKET))

    def taking():
        before = client.fetch_balance()["total"]
        bought = client.create_order(MARKET, "market", "buy", 0.3)["id"]
        sold = client.create_order(MARKET, "limit", "sell", 0.2, run.far(99), {"timeInForce": "IOC"})["id"]
        trades = [each for each in client.fetch_my_trades(MARKET) if each["order"] in (bought, sold)]
        signed = sum(Decimal(str(each["amount"])) * (1 if each["side"] == "buy" else -1) for each in trades)
        change = Decimal(str(client.fetch_balance()["total"]["ETH"])) - Decimal(str(before["ETH"]))
        assert {each["order"] for each in trades} == {bought, sold}, trades
        assert signed == change != 0, (signed, change)
        for each in trades:
            raw = {name: Decimal(each["info"][name]) for name in ("price", "vol", "cost", "fee")}
            assert raw["cost"] == (raw["price"] * raw["vol"]).quantize(raw["cost"], ROUND_DOWN), raw
            assert abs(raw["fee"] - raw["cost"] * TAKER_FEE) <= Decimal("0.00001"), raw
        shown = client.fetch_order(bought, MARKET)
        # A remainder below the token's dust ends the order.
        assert shown["status"] == "closed" and 0 <= shown["remaining"] < DUST, shown

    def post_only_that_takes():
        book = client.fetch_order_book(MARKET, 1)
        price = book["asks"][0][0] * 1.01
        refused("EOrder:Post only order", lambda: client.create_order(
            MARKET, "limit", "buy", 0.1, round(price, 2), {"postOnly": True}))

    def resting_fill():
        deadline = time.monotonic() + FILL_S
        order, price = None, None
        while time.monotonic() < deadline:
            best = run.client.fetch_order_book(MARKET, 1)["bids"][0][0]
            if order is None:
                price = round(best + 0.01, 2)
                order = client.create_order(MARKET, "limit", "buy", 0.02, price, {"postOnly": True})["id"]
            shown = client.fetch_order(order, MARKET)
            if shown["status"] == "closed":
                break
            if best > price + 0.01 and shown["filled"] == 0:
                client.cancel_order(order, MARKET)
                order = None
            time.sleep(0.5)
        assert order and run.status(order) == "closed", f"nothing was sold to the best bid in {FILL_S} s"
        (trade, *_) = [each for each in client.fetch_my_trades(MARKET) if each["order"] == order]
        assert trade["takerOrMaker"] == "maker" and trade["price"] == price, trade
        # The maker's fee of the example is 0.
        assert trade["fee"]["cost"] == 0, trade

    def expiring():
        order = run.rest(timeInForce="GTD", expiretm="+5")
        assert run.status(order) == "open"
        time.sleep(6.5)
        assert run.status(order) == "expired"

    def batches():
        row = {"ordertype": "limit", "type": "buy", "volume": "0.1", "price": str(run.far()), "oflags": "post"}
        made = run.result("privatePostAddOrderBatch", {"pair": "ETHUSDC", "orders": [row, {**row, "volume": "0.2"}]})
        orders = [each["txid"] for each in made["orders"]]
        assert len(orders) == 2, made
        assert run.result("privatePostCancelOrderBatch", {"orders": orders})["count"] in (2, "2")

    def after():
        order = run.rest()
        answer = run.result("privatePostCancelAllOrdersAfter", {"timeout": 2})
        assert answer["triggerTime"] > answer["currentTime"], answer
        time.sleep(3.5)
        assert run.status(order) == "canceled"
        run.result("privatePostCancelAllOrdersAfter", {"timeout": 0})

    def all_of_them():
        orders = [run.rest(), run.rest()]
        client.cancel_all_orders()
        assert [run.status(order) for order in orders] == ["canceled", "canceled"]
        assert client.fetch_open_orders(MARKET) == []

    run.step("an order is made, amended and cancelled", lifecycle)
    run.step("market and IOC orders, their trades and fees", taking)
    run.step("a post-only order that would take is refused", post_only_that_takes)
    run.step("a resting order is filled as the maker's", resting_fill)
    run.step("an order expires", expiring)
    run.step("batches of orders and cancels", batches)
    run.step("cancel-all-after cancels once", after)
    run.step("everything is cancelled", all_of_them)


def misuse(run):
    far = {"pair": "ETHUSDC", "type": "buy", "ordertype": "limit", "price": "1000", "volume": "0.1"}

    def clock():
        # The unit of the client's nonces; it waits as long as the client would before its next request.
        time.sleep(1)
        return str(time.time_ns() // 1_000_000)

    def replay():
        nonce = clock()
        assert not run.raw("AddOrder", {"nonce": nonce, **far})["error"]
        assert run.raw("AddOrder", {"nonce": nonce, **far})["error"] == ["EAPI:Invalid nonce"]
        assert run.raw("AddOrder", {"nonce": str(int(nonce) - 1), **far})["error"] == ["EAPI:Invalid nonce"]
        assert len(run.raw("OpenOrders", {"nonce": clock()})["result"]["open"]) == 1
        run.raw("CancelAll", {"nonce": clock()})

    def signature():
        answer = run.raw("Balance", {"nonce": clock()}, secret=EXAMPLE_SECRET)
        assert answer["error"] == ["EAPI:Invalid signature"], answer

    def deadline():
        passed = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 5))
        answer = run.raw("AddOrder", {"nonce": clock(), "deadline": passed, **far})
        assert answer["error"] == ["EService:Deadline elapsed"], answer
        assert run.raw("OpenOrders", {"nonce": clock()})["result"]["open"] == {}

    def unsupported():
        answer = run.raw("AddOrder", {"nonce": clock(), "leverage": "5", **far})
        assert answer["error"] == ["EGeneral:Invalid arguments:leverage"], answer

    def validate():
        answer = run.raw("AddOrder", {"nonce": clock(), "validate": "true", **far})
        assert not answer["error"] and "txid" not in answer["result"], answer
        assert run.raw("OpenOrders", {"nonce": clock()})["result"]["open"] == {}

    run.step("the same bytes again, and an older nonce, are refused and make nothing", replay)
    run.step("a signature of another secret is refused", signature)
    run.step("a deadline that has passed makes nothing", deadline)
    run.step("a parameter that is not served is refused by name", unsupported)
    run.step("validate makes nothing", validate)


def pages(run, call, name):
    """Every entry of a paged list, by id."""
    entries = {}
    while True:
        page = run.result(call, {"ofs": len(entries)})
        if not page[name]:
            assert len(entries) == int(page["count"]), (len(entries), page["count"])
            return entries
        entries.update(page[name])


def books(run):
    client = run.client

    def ledger():
        # Nothing is open, and nobody else trades for this account: the books hold still.
        entries = pages(run, "privatePostLedgers", "ledger")
        trades = pages(run, "privatePostTradesHistory", "trades")
        balances = run.result("privatePostBalance")
        for asset, balance in balances.items():
            mine = sorted((each for each in entries.items() if each[1]["asset"] == asset), key=lambda each: float(each[1]["time"]))
            total = sum(Decimal(each["amount"]) - Decimal(each["fee"]) for _, each in mine)
            assert total == Decimal(balance), (asset, total, balance)
        for trade, shown in trades.items():
            (base,) = [each for each in entries.values() if each["refid"] == trade and each["asset"] == "XETH"]
            (quote,) = [each for each in entries.values() if each["refid"] == trade and each["asset"] == "USDC"]
            assert abs(Decimal(base["amount"])) == Decimal(shown["vol"]), (shown, base)
            # Costs of trades are cut to the decimals of the pair; the ledger is exact.
            assert abs(abs(Decimal(quote["amount"])) - Decimal(shown["cost"])) < Decimal("0.00001"), (shown, quote)
            assert abs(Decimal(quote["fee"]) - Decimal(shown["fee"])) < Decimal("0.00001"), (shown, quote)
        assert trades, "no trade"
        one = next(iter(trades))
        assert run.result("privatePostQueryTrades", {"txid": one})[one]["vol"] == trades[one]["vol"]
        one = next(iter(entries))
        assert run.result("privatePostQueryLedgers", {"id": one})[one]["amount"] == entries[one]["amount"]

    def first_interface():
        status, shown, _ = Client(run.exchange).get("/api/v3/user/balances", {"accountId": run.exchange.account_id})
        assert status == 200, shown
        by_token = {each["tokenId"]: int(each["total"]) for each in shown}
        kraken = run.result("privatePostBalance")
        assert by_token[0] == Decimal(kraken["XETH"]).scaleb(18), (by_token, kraken)
        assert by_token[1] == Decimal(kraken["USDC"]).scaleb(6), (by_token, kraken)

    def others():
        closed = client.fetch_closed_orders(MARKET)
        assert closed and all(each["status"] != "open" for each in closed), closed
        assert Decimal(str(client.fetch_trading_fee(MARKET)["taker"])) == TAKER_FEE
        assert run.result("privatePostBalanceEx")["XETH"]["hold_trade"].strip("0.") == ""
        refused("EGeneral:Permission denied", lambda: client.privatePostWithdrawMethods())

    run.step("balances are the sum of the ledger, trades are in it to the unit", ledger)
    run.step("the first interface shows the same balances", first_interface)
    run.step("closed orders, fees, holds; a key that may not withdraw", others)


def main():
    binary, template = sys.argv[1:]
    generous = {"# address_per_s": "2000", "# address_burst": "4000"}
    with Exchange(binary, template, dialect='"kraken"', tier='"pro"', **{"# dir": '"data"'}, **generous) as exchange:
        run = Run(exchange)
        for part in (reading, trading, misuse, books):
            part(run)

        def every_method():
            missing = set(specification.SCHEMAS) - run.methods
            assert not missing, f"never asked: {sorted(missing)}"

        def verified():
            assert exchange.stop() == 0
            verify = subprocess.run([binary, "venue", "verify", "--data", exchange.folder / "data"],
                                    capture_output=True, text=True, timeout=60)
            assert verify.returncode == 0, verify.stdout + verify.stderr

        run.step("every method of the specification that is served was asked", every_method)
        run.step("the data folder is verified after the end", verified)
    print(f"ccxt {ccxt.__version__}, {run.answers} answers validated: {run.passed} passed, {run.failed} failed")
    sys.exit(run.failed != 0)


if __name__ == "__main__":
    main()
