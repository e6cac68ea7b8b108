"""Hashing and signing for this exchange in plain integers: slow, short, and written on its own.

Twisted Edwards curve a*x^2 + y^2 = 1 + d*x^2*y^2, Poseidon with one constant per round, and the
signature of requests in the form that percent-encodes values first and the joined string again.
"""

import hashlib
from functools import cache
from urllib.parse import quote

P = 21888242871839275222246405745257275088548364400416034343698204186575808495617
A, D = 168700, 168696
ORDER = 2736030358979909402780800718157159386076813972158567259200215660948447373041
BASE = (
    16540640123574156134436876038791482806971768689494387082833631921987005038935,
    20819045374670962167435360035096875258406992893633759881276124905556507972311,
)
FULL_ROUNDS, PARTIAL_ROUNDS = 6, {6: 52, 9: 53, 10: 53, 12: 53, 13: 53}


def _blake(data):
    return int.from_bytes(hashlib.blake2b(data, digest_size=32).digest(), "little")


def _chain(seed, count):
    """The chain runs over the unreduced hashes; what is used is reduced."""
    value, found = _blake(seed), []
    for _ in range(count):
        found.append(value % P)
        value = _blake(value.to_bytes(32, "little"))
    return found


@cache
def _parameters(width):
    constants = _chain(b"poseidon_constants", FULL_ROUNDS + PARTIAL_ROUNDS[width])
    cauchy = _chain(b"poseidon_matrix_0000", 2 * width)
    matrix = [
        [pow(cauchy[row] - cauchy[width + column], -1, P) for column in range(width)]
        for row in range(width)
    ]
    return constants, matrix


def poseidon(inputs):
    """Poseidon of as many inputs as the state is wide, less one."""
    width = len(inputs) + 1
    constants, matrix = _parameters(width)
    half = FULL_ROUNDS // 2
    state = [value % P for value in inputs] + [0]
    for index, constant in enumerate(constants):
        state = [cell + constant for cell in state]
        full = index < half or index >= half + PARTIAL_ROUNDS[width]
        for cell in range(width if full else 1):
            state[cell] = pow(state[cell], 5, P)
        state = [sum(m * cell for m, cell in zip(row, state)) % P for row in matrix]
    return state[0]


def _add(one, two):
    """Projective, complete: doubling needs no case of its own."""
    x1, y1, z1 = one
    x2, y2, z2 = two
    z = z1 * z2 % P
    x, y = x1 * x2 % P, y1 * y2 % P
    cross = D * x * y % P
    below, above = (z * z - cross) % P, (z * z + cross) % P
    return (
        z * below * ((x1 + y1) * (x2 + y2) - x - y) % P,
        z * above * (y - A * x) % P,
        below * above % P,
    )


def multiply(scalar, point=BASE):
    """A multiple of a point, as x and y."""
    total, step = (0, 1, 1), (*point, 1)
    while scalar:
        if scalar & 1:
            total = _add(total, step)
        step = _add(step, step)
        scalar >>= 1
    x, y, z = total
    inverse = pow(z, -1, P)
    return x * inverse % P, y * inverse % P


class Signer:
    """A secret key and what it signs."""

    def __init__(self, secret):
        self.secret = secret
        self.public = multiply(secret)

    def sign(self, message):
        little = self.secret.to_bytes(32, "little") + message.to_bytes(32, "little")
        nonce = int.from_bytes(hashlib.sha512(little).digest(), "little") % ORDER
        point = multiply(nonce)
        challenge = poseidon([*point, *self.public, message])
        scalar = (nonce + self.secret * challenge) % (8 * ORDER)
        return "0x" + "".join(f"{part:064x}" for part in (*point, scalar))

    def request(self, method, url, params):
        """The header X-API-SIG of a request with query parameters."""
        parts = "&".join(f"{name}={_percent(params[name])}" for name in sorted(params))
        return self._text(f"{method}&{_percent(url)}&{_percent(parts)}")

    def body(self, method, url, body):
        """The header X-API-SIG of a request with a body."""
        return self._text(f"{method}&{_percent(url)}&{_percent(body)}")

    def _text(self, text):
        digest = hashlib.sha256(text.encode()).digest()
        return self.sign(int.from_bytes(digest, "big") % P)


def _percent(text):
    return quote(str(text), safe="-_.~")


def order_hash(order):
    """What the signature of an order covers, and its name."""
    return poseidon([
        int(order["exchange"], 16),
        order["storageId"],
        order["accountId"],
        int(order["sellToken"]["tokenId"]),
        int(order["buyToken"]["tokenId"]),
        int(order["sellToken"]["volume"]),
        int(order["buyToken"]["volume"]),
        order["validUntil"],
        order["maxFeeBips"],
        1 if order["fillAmountBOrS"] == "true" else 0,
        int(order.get("taker", "0x0"), 16),
    ])
