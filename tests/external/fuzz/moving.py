"""What the signing key signs to move funds: transfers, withdrawals, joins and exits, written on its own."""

from signing import P, poseidon

MASK = (1 << 64) - 1


def _rotate(value, by):
    by %= 64
    return (value << by | value >> (64 - by)) & MASK


def _permute(lanes):
    register = 1
    for _ in range(24):
        columns = [lanes[x][0] ^ lanes[x][1] ^ lanes[x][2] ^ lanes[x][3] ^ lanes[x][4] for x in range(5)]
        effect = [columns[(x + 4) % 5] ^ _rotate(columns[(x + 1) % 5], 1) for x in range(5)]
        lanes = [[lanes[x][y] ^ effect[x] for y in range(5)] for x in range(5)]
        x, y, current = 1, 0, lanes[1][0]
        for step in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            current, lanes[x][y] = lanes[x][y], _rotate(current, (step + 1) * (step + 2) // 2)
        for y in range(5):
            row = [lanes[x][y] for x in range(5)]
            for x in range(5):
                lanes[x][y] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]) & MASK
        for bit in range(7):
            register = (register << 1 ^ (register >> 7) * 0x71) % 256
            if register & 2:
                lanes[0][0] ^= 1 << ((1 << bit) - 1)
    return lanes


def keccak(data):
    """The original padding, which the standard library does not have."""
    rate = 136
    padded = bytearray(data) + b"\x01" + bytes(-(len(data) + 1) % rate)
    padded[-1] |= 0x80
    lanes = [[0] * 5 for _ in range(5)]
    for start in range(0, len(padded), rate):
        for index in range(rate // 8):
            word = padded[start + 8 * index : start + 8 * index + 8]
            lanes[index % 5][index // 5] ^= int.from_bytes(word, "little")
        lanes = _permute(lanes)
    return b"".join(lanes[index % 5][index // 5].to_bytes(8, "little") for index in range(4))


def _words(*values):
    return b"".join(value if isinstance(value, bytes) else int(value).to_bytes(32, "big") for value in values)


def _list(values):
    return keccak(_words(*values))


def _pair(volume):
    return int(volume["tokenId"]), int(volume["volume"])


def transfer(body):
    return poseidon([
        int(body["exchange"], 16), body["payerId"], body["payeeId"], *_pair(body["token"]), *_pair(body["maxFee"]),
        int(body["payeeAddr"], 16), 0, 0, body["validUntil"], body["storageId"],
    ])


def withdrawal(body):
    """Without extra data."""
    onchain = keccak(_words(body["minGas"]) + bytes.fromhex(body["to"][2:]))[:20]
    return poseidon([
        int(body["exchange"], 16), body["accountId"], *_pair(body["token"]), *_pair(body["maxFee"]),
        int.from_bytes(onchain, "big"), body["validUntil"], body["storageId"],
    ])


def _typed(pool, name, chain, struct):
    kind = keccak(b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
    domain = keccak(_words(kind, keccak(name.encode()), keccak(b"1.0.0"), chain, int(pool, 16)))
    return int.from_bytes(keccak(b"\x19\x01" + domain + keccak(struct)), "big") // 8 % P


def join(body, name, chain=1):
    """In the form that names no fee."""
    kind = b"PoolJoin(address owner,uint96[] joinAmounts,uint32[] joinStorageIDs,uint96 mintMinAmount,uint32 validUntil)"
    tokens = body["joinTokens"]
    amounts = _list(int(each["volume"]) for each in tokens["pooled"])
    struct = _words(
        keccak(kind), int(body["owner"], 16), amounts, _list(body["storageIds"]), tokens["minimumLp"],
        body["validUntil"],
    )
    return _typed(body["poolAddress"], name, chain, struct)


def leave(body, name, chain=1):
    kind = (
        b"PoolExit(address owner,uint96 burnAmount,uint32 burnStorageID,uint96[] exitMinAmounts,uint96 fee,"
        b"uint32 validUntil)"
    )
    tokens = body["exitTokens"]
    minimums = _list(int(each["volume"]) for each in tokens["unPooled"])
    struct = _words(
        keccak(kind), int(body["owner"], 16), tokens["burned"], body["storageId"], minimums, body["maxFee"],
        body["validUntil"],
    )
    return _typed(body["poolAddress"], name, chain, struct)
