"""Every pair of endpoint and status code that the interface text lists, and what became of it."""

_SUBMISSION = (100000, 102001, 102021, 102022, 102023, 102024, 102025)

LISTED = {
    "POST /api/v3/order": (
        100000, 102001, 102002, 102003, 102004, 102005, 102006, 102007, 102008, 102010, 102011,
        102012, 102014, 102020, 102027, 102120, 104001, 104002, 104003, 104004, 104005,
    ),
    "GET /api/v3/order": (100000, 107001, 107002, 107003, 104001, 104002, 104003),
    "DELETE /api/v3/order": (100000, 104001, 102117, 102118, 104002, 104003),
    "GET /api/v3/orders": (100000, 107001, 104001, 104002, 104003),
    "GET /api/v3/depth": (100000, 108000, 108001),
    "POST /api/v3/transfer": _SUBMISSION,
    "POST /api/v3/user/withdrawals": _SUBMISSION,
    "POST /api/v3/account": _SUBMISSION,
    "GET /api/v3/account": (100000, 101001, 101002),
    "POST /api/v3/apiKey": (100000, 101002, 100001, 104001, 104002, 104003, 104004, 104005),
    "GET /api/v3/user/balances": (100000, 104001, 104002, 104003),
    "GET /api/v3/exchange/info": (100000,),
    "GET /api/v3/exchange/tokens": (100000,),
    "GET /api/v3/exchange/markets": (100000,),
    "GET /api/v3/amm/pools": (100000,),
    "GET /api/v3/amm/balance": (100000,),
    "POST /api/v3/amm/join": _SUBMISSION,
    "POST /api/v3/amm/exit": _SUBMISSION,
    "GET /api/v3/amm/user/transactions": (100000, 107001, 104001, 104002, 104003),
}

_FAILURE = "only when the exchange itself fails"
UNREACHABLE = {
    ("POST /api/v3/order", 102014): "locking never fails for a while: balance and book are one",
    ("POST /api/v3/order", 104004): "a missing signature is 102010, which says more",
    ("DELETE /api/v3/order", 102118): "only while the operator has halted the exchange",
    ("POST /api/v3/account", 102021): "the nonce is looked at after the signature, which the text does not describe",
    **{(f"POST /api/v3/amm/{way}", code): "joins and exits here name a pool that is not there"
       for way in ("join", "exit") for code in (102021, 102023, 102024, 102025)},
    **{(f"POST /api/v3/{path}", 102025): "nothing costs anything until the operator sets fees"
       for path in ("transfer", "user/withdrawals", "account")},
}

# Codes beyond the text's list of an endpoint, which the text has elsewhere.
BEYOND = {100001, 104001, 104002, 104003, 104004, 104005, 107001, 102001}


class Pairs:
    """What was seen."""

    def __init__(self):
        self.seen = set()

    def saw(self, endpoint, code):
        known = code in LISTED[endpoint] or code in BEYOND or code == 429
        assert known, f"{endpoint} answered {code}, which the text lists nowhere near"
        self.seen.add((endpoint, code))

    def table(self):
        """Lines to print, and the pairs that ought to have been provoked and were not."""
        lines, missing = [], []
        provoked = listed = 0
        for endpoint, codes in LISTED.items():
            listed += len(codes)
            hit = [code for code in codes if (endpoint, code) in self.seen]
            provoked += len(hit)
            lines.append(f"{endpoint:34} {' '.join(map(str, hit)) or '-'}")
            reasons = {}
            for code in codes:
                if code in hit:
                    continue
                reason = self._reason(endpoint, code)
                reasons.setdefault(reason, []).append(str(code))
                if reason is None:
                    missing.append((endpoint, code))
            for reason, which in reasons.items():
                lines.append(f"{'':34} not {' '.join(which)}: {reason or 'NOT PROVOKED'}")
        lines.append(f"{provoked} of {listed} listed pairs provoked")
        return lines, missing

    @staticmethod
    def _reason(endpoint, code):
        if (endpoint, code) in UNREACHABLE:
            return UNREACHABLE[endpoint, code]
        return _FAILURE if code == 100000 else None
