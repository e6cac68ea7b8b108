"""Makes some of what the fuzzer draws meaningful: our account, listed tokens, signatures that are good.

What is drawn to be refused is left alone, and so is a part of the rest, so that both halves of the server
are asked. What is changed depends on the drawn case alone: the same seed is the same run.
"""

import atexit
import json
import os
import time
import zlib
from collections import Counter
from pathlib import Path

import moving
import requests
import schemathesis
from schemathesis.core.parameters import ParameterLocation
from signing import Signer, order_hash

CONTRACT = "0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e001"
OWNER = "0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e010"
OTHER = "0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e011"
POOL = "0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e004"
UNREADABLE = 100_001
# Keys and signatures, anywhere.
KEYS = {104_001, 104_002, 104_003, 104_004, 104_005}
TOKEN_UNITS = {"0": 10**15, "1": 2_500_000}

url = os.environ["FUZZ_URL"]
account = int(os.environ["FUZZ_ACCOUNT"])
key = os.environ["FUZZ_API_KEY"]
strict = os.environ["FUZZ_COMPAT"] == "strict"
signer = Signer(int(os.environ["FUZZ_SECRET"], 16))
hashes = []
storage = 0
seen = {}


@atexit.register
def _tell():
    Path(os.environ["FUZZ_SEEN"]).write_text(json.dumps(seen))


def _choice(case):
    """A number that is drawn with the case."""
    text = repr((case.method, case.path, case.query, case.body, sorted(case.headers.items())))
    return zlib.crc32(text.encode("utf-8", "replace"))


@schemathesis.hook
def before_call(context, case, kwargs):
    headers, choice = case.headers, _choice(case)
    meta = case.meta
    if choice % 16 and not (meta and meta.is_negative_at(ParameterLocation.HEADER)):
        # Not a constant: the fuzzer replaces it, as the document says it can.
        headers["X-API-KEY"] = key
    if meta is None or meta.generation.mode.value != "positive":
        return
    if choice % 4 == 0:
        return
    if isinstance(case.body, dict):
        _ground(case.body, choice)
        if choice % 8 != 1:
            _signed(case, choice)
    if case.query:
        _ground(case.query, choice)
        if "orderHash" in case.query and hashes and choice % 3:
            case.query["orderHash"] = hashes[choice % len(hashes)]
            case.query.pop("clientOrderId", None)
        # Drawn orders are few and soon gone: whether one is there to be cancelled must not be luck.
        if case.method == "DELETE" and choice % 2:
            case.query["orderHash"] = _rest() or "0x0"
            case.query.pop("clientOrderId", None)
    signed = case.method == "DELETE" or (case.method == "GET" and case.path == "/api/v3/apiKey")
    if signed and choice % 8 != 1 and all(_plain(value) for value in case.query.values()):
        headers["X-API-SIG"] = signer.request(case.method, url + case.path, case.query)


@schemathesis.hook
def after_call(context, case, response):
    global key
    outcomes = seen.setdefault(f"{case.method} {case.path}", Counter())
    try:
        outcomes[json.loads(response.content)["resultInfo"]["code"]] += 1
    except (ValueError, KeyError, TypeError):
        outcomes[response.status_code] += 1
    if response.status_code != 200:
        return
    try:
        answer = json.loads(response.content)
    except ValueError:
        return  # told by the checks
    if isinstance(answer, dict) and case.path == "/api/v3/apiKey":
        key = answer["apiKey"]
    if isinstance(answer, dict) and case.path == "/api/v3/order" and case.method == "POST":
        hashes.append(answer["hash"])
        del hashes[:-64]


@schemathesis.check
def refusal_says_why(context, response, case):
    """A refusal has a code that the document lists, or one for what cannot be read, and words."""
    if response.status_code == 400:
        refusal = json.loads(response.content)["resultInfo"]
        operation = case.operation.definition.raw
        listed = set(operation.get("x-status-codes", {}))
        known = str(refusal["code"]) in listed or refusal["code"] in KEYS
        if not strict or operation["x-outside-interface"]:
            known |= refusal["code"] == UNREADABLE or str(refusal["code"]) in operation.get("x-other-status-codes", {})
        assert known, f"{refusal['code']} is not listed for {case.method} {case.path}"
        assert refusal["message"], "a refusal without words"


@schemathesis.check
def key_is_asked_for(context, response, case):
    """Nothing that belongs to an account is done or shown without its key."""
    wanted = case.operation.definition.raw.get("security") == [{"apiKey": []}]
    if wanted and "X-API-KEY" not in response.request.headers:
        assert response.status_code != 200, "done without a key"


def _plain(value):
    """Whether every spelling of the value in a signed text is the same."""
    return isinstance(value, (str, int)) and all(c.isalnum() or c in "-_." for c in str(value)) and str(value).isascii()


def _named(choice):
    return {
        "accountId": account, "payerId": account, "payeeId": 0, "exchange": CONTRACT, "owner": OWNER,
        "payerAddr": OWNER, "payeeAddr": OTHER, "to": OWNER, "poolAddress": POOL, "ammPoolAddress": POOL,
        "market": "ETH-USDC", "level": choice % 4, "sellTokenId": choice % 2, "requestType": choice % 9,
    }


def _ground(fields, choice):
    """Names that exist, in the fields that are there."""
    for name, value in _named(choice).items():
        # One in sixteen stays as it was drawn.
        if name in fields and zlib.crc32(name.encode(), choice) % 16:
            fields[name] = value
    if "validUntil" in fields:
        fields["validUntil"] = int(time.time()) + 600
    for name in ("token", "maxFee"):
        if isinstance(fields.get(name), dict):
            fields[name] = {"tokenId": str(choice % 2), "volume": "0" if name == "maxFee" else "1000000"}
    pair = [{"tokenId": "0", "volume": str(10**15)}, {"tokenId": "1", "volume": "2500000"}]
    if isinstance(fields.get("joinTokens"), dict):
        fields["joinTokens"] = {"pooled": pair, "minimumLp": "0"}
    if isinstance(fields.get("exitTokens"), dict):
        fields["exitTokens"] = {"unPooled": [{**each, "volume": "0"} for each in pair], "burned": "100"}


def _signed(case, choice):
    """A body that the venue takes, unless what is left of the draw says otherwise."""
    global storage
    body = case.body
    ours = all(body[name] == value for name, value in _named(choice).items() if name in body)
    if not ours or case.path in ("/api/v3/account", "/api/v3/apiKey"):
        return
    storage += 2
    if case.path == "/api/v3/order":
        _order(body, choice)
        return
    for name in ("ecdsaSignature", "hashApproved", "extraData", "fee", "fastWithdrawalMode"):
        body.pop(name, None)
    case.headers.pop("X-API-SIG", None)
    # Odd, and of two tokens where two are needed.
    body |= {"storageIds": [storage + 1, storage + 1]} if "joinTokens" in body else {"storageId": storage + 1}
    if "minGas" in body:
        body["minGas"] = choice % 1_000
    if "exitTokens" in body:
        body["maxFee"] = "0"
    message = {
        "/api/v3/transfer": moving.transfer,
        "/api/v3/user/withdrawals": moving.withdrawal,
        "/api/v3/amm/join": lambda body: moving.join(body, "AMM-ETH-USDC"),
        "/api/v3/amm/exit": lambda body: moving.leave(body, "AMM-ETH-USDC"),
    }[case.path]
    body["eddsaSignature"] = signer.sign(message(body))


def _rest():
    """The hash of a new order at ten times what the market pays, which nothing fills. None if it is refused, as when all funds rest."""
    global storage
    storage += 2
    body = {
        "exchange": CONTRACT, "accountId": account, "storageId": storage, "maxFeeBips": 60,
        "sellToken": {"tokenId": "0", "volume": str(TOKEN_UNITS["0"])},
        "buyToken": {"tokenId": "1", "volume": str(10 * TOKEN_UNITS["1"])},
        "allOrNone": "false", "fillAmountBOrS": "false", "validUntil": int(time.time()) + 600,
    }
    body["eddsaSignature"] = signer.sign(order_hash({**body, "taker": "0x0"}))
    answer = requests.post(url + "/api/v3/order", json=body, headers={"X-API-KEY": key}, timeout=10)
    return answer.json().get("hash")


def _order(body, choice):
    sell, buy = ("0", "1") if choice % 2 else ("1", "0")
    if choice % 3:
        body.pop("clientOrderId", None)
    milli, percent = 1 + choice // 7 % 50, 90 + choice // 11 % 21
    body["sellToken"] = {"tokenId": sell, "volume": str(TOKEN_UNITS[sell] * milli)}
    body["buyToken"] = {"tokenId": buy, "volume": str(TOKEN_UNITS[buy] * milli * percent // 100)}
    body |= {"storageId": storage, "maxFeeBips": 60, "fillAmountBOrS": "false", "allOrNone": "false"}
    # Absent, empty and zero mean the same.
    if body.get("taker") not in (None, "", "0x" + "0" * 40):
        del body["taker"]
    body["eddsaSignature"] = signer.sign(order_hash({**body, "taker": "0x0"}))
