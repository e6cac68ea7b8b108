"""The resources of the interface text, field by field. Fields beyond the text are let through."""


class Optional:
    """A field that may be absent."""

    def __init__(self, shape):
        self.shape = shape


class OneOf:
    """A string out of a closed list."""

    def __init__(self, *words):
        self.words = words


class Digits:
    """A decimal integer string."""


TOKEN_VOLUME = {"tokenId": Digits, "volume": Optional(Digits)}
ORDER_RESULT = {
    "hash": str,
    "clientOrderId": str,
    "status": OneOf("processing", "processed", "cancelling", "cancelled", "expired", "failed"),
    "isIdempotent": bool,
}
ORDER = {
    "hash": str,
    "clientOrderId": str,
    "side": OneOf("SELL", "BUY"),
    "market": str,
    "price": str,
    "volumes": {
        "baseAmount": Digits,
        "quoteAmount": Digits,
        "baseFilled": Digits,
        "quoteFilled": Digits,
        "fee": Digits,
    },
    "validity": {"start": int, "end": int},
    "orderType": OneOf("LIMIT_ORDER", "TAKER_ONLY", "MAKER_ONLY"),
    "status": OneOf("processing", "processed", "cancelling", "cancelled", "expired", "waiting"),
}
ORDERS = {"totalNum": int, "orders": Optional([ORDER])}
DEPTH = {"version": int, "timestamp": int, "bids": [[str]], "asks": [[str]]}
ACCOUNT = {
    "accountId": int,
    "owner": str,
    "frozen": bool,
    "publicKey": {"x": str, "y": str},
    "tags": Optional(str),
    "nonce": int,
}
BALANCES = [{
    "tokenId": int,
    "total": Digits,
    "locked": Digits,
    "pending": {"withdraw": Digits, "deposit": Digits},
}]
OFFCHAIN_FEES = [{"token": str, "fee": Digits}]
EXCHANGE_INFO = {
    "chainId": int,
    "exchangeAddress": str,
    "depositAddress": str,
    "onchainFees": [{"type": str, "fee": Digits}],
    "updateFees": OFFCHAIN_FEES,
    "transferFees": OFFCHAIN_FEES,
    "withdrawalFees": OFFCHAIN_FEES,
}
TOKENS = [{
    "type": OneOf("ERC20", "ETH"),
    "tokenId": int,
    "symbol": str,
    "name": str,
    "address": str,
    "decimals": int,
    "precision": int,
    "orderAmounts": {"minimum": Digits, "maximum": Digits, "dust": Digits},
    "fastWithdrawLimit": Digits,
    "enabled": bool,
}]
MARKETS = {"markets": [{
    "market": str,
    "baseTokenId": int,
    "quoteTokenId": int,
    "precisionForPrice": int,
    "orderbookAggLevels": int,
    "enabled": bool,
}]}
POOLS = {"pools": [{
    "name": str,
    "market": str,
    "address": str,
    "version": str,
    "tokens": {"pooled": [int], "lp": int},
    "feeBips": int,
    "precisions": {"price": int, "amount": int},
    "status": int,
}]}
_TRANSFER = {"tokenId": int, "amount": Digits, "actualAmount": Digits, "feeAmount": Digits}
TRANSACTIONS = {"totalNum": int, "transactions": [{
    "hash": str,
    "txType": OneOf("join", "exit"),
    "txStatus": OneOf("processing", "cancelled", "processed"),
    "ammPoolAddress": str,
    "ammLayerType": OneOf("layer_1", "layer_2"),
    "poolTokens": [_TRANSFER],
    "lpToken": _TRANSFER,
    "createdAt": int,
    "updatedAt": int,
}]}
API_KEY = {"apiKey": str}


def check(value, shape, at="answer"):
    """Fails where a value is not of a shape."""
    if isinstance(shape, dict):
        assert isinstance(value, dict), f"{at} is {value!r}, not an object"
        for name, inner in shape.items():
            if isinstance(inner, Optional):
                if name not in value:
                    continue
                inner = inner.shape
            assert name in value, f"{at} has no {name}"
            check(value[name], inner, f"{at}.{name}")
    elif isinstance(shape, list):
        assert isinstance(value, list), f"{at} is {value!r}, not a list"
        for index, item in enumerate(value):
            check(item, shape[0], f"{at}[{index}]")
    elif isinstance(shape, OneOf):
        assert value in shape.words, f"{at} is {value!r}, none of {shape.words}"
    elif shape is Digits:
        plain = isinstance(value, str) and value.isascii() and value.isdigit()
        assert plain and str(int(value)) == value, f"{at} is {value!r}, not a decimal integer string"
    else:
        # A boolean is an integer to this language, not to JSON.
        assert type(value) is shape, f"{at} is {value!r}, not of type {shape.__name__}"
