#!/usr/bin/env python3
"""Test vectors of transactions and calls, made with eth-account and eth-abi.

    tests/external/evm/vectors.py COUNT SEED > FILE

The committed file crates/evm/tests/vectors/eth_account.json is that of COUNT 12 and SEED 1.
"""

import json
import random
import sys

from eth_abi import encode
from eth_account import Account
from eth_utils import function_signature_to_4byte_selector, keccak, to_checksum_address

CALLS = [
    ("approve(address,uint256)", ["address", "uint256"]),
    ("allowance(address,address)", ["address", "address"]),
    ("balanceOf(address)", ["address"]),
    ("totalSupply()", []),
    ("decimals()", []),
    ("symbol()", []),
    ("transfer(address,uint256)", ["address", "uint256"]),
    ("getPair(address,address)", ["address", "address"]),
    ("feeTo()", []),
    ("factory()", []),
    ("token0()", []),
    ("token1()", []),
    ("getReserves()", []),
    ("kLast()", []),
    (
        "addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)",
        ["address", "address"] + ["uint256"] * 4 + ["address", "uint256"],
    ),
    (
        "removeLiquidity(address,address,uint256,uint256,uint256,address,uint256)",
        ["address", "address"] + ["uint256"] * 3 + ["address", "uint256"],
    ),
    (
        "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)",
        ["uint256", "uint256", "address[]", "address", "uint256"],
    ),
]


def number(rng, bits):
    """Any size up to so many bits, the bounds more often than by chance."""
    return rng.choice([0, 1, 127, 128, 2**bits - 1, rng.getrandbits(rng.randint(1, bits))])


def address(rng):
    return to_checksum_address(bytes(rng.getrandbits(8) for _ in range(20)))


def transaction(rng):
    key = rng.randrange(1, 2**255).to_bytes(32, "big")
    fee = number(rng, 90)
    fields = {
        "type": 2,
        "chainId": max(1, number(rng, 50)),
        "nonce": number(rng, 60),
        "maxFeePerGas": fee,
        "maxPriorityFeePerGas": rng.choice([0, fee, rng.randint(0, fee)]),
        "gas": 21_000 + number(rng, 30),
        "value": number(rng, 128),
        "data": "0x" + bytes(rng.getrandbits(8) for _ in range(rng.choice([0, 1, 55, 56, 68, 300]))).hex(),
    }
    if fields["data"] == "0x" or rng.random() < 0.9:
        fields["to"] = address(rng)
    signed = Account.sign_transaction(fields, key)
    text = {name: str(value) if isinstance(value, int) else value for name, value in fields.items()}
    del text["type"]
    return text | {
        "key": "0x" + key.hex(),
        "sender": Account.from_key(key).address,
        "bytes": "0x" + bytes(signed.raw_transaction).hex(),
        "hash": "0x" + bytes(signed.hash).hex(),
    }


def call(rng, signature, types):
    values = []
    for kind in types:
        if kind == "address":
            values.append(address(rng))
        elif kind == "address[]":
            values.append([address(rng), address(rng)])
        else:
            values.append(number(rng, 256))
    data = function_signature_to_4byte_selector(signature) + encode(types, values)
    text = [str(value) if isinstance(value, int) else value for value in values]
    return {"signature": signature, "arguments": text, "data": "0x" + data.hex()}


def main():
    count, rng = int(sys.argv[1]), random.Random(int(sys.argv[2]))
    transactions = [transaction(rng) for _ in range(count)]
    calls = [call(rng, *CALLS[at % len(CALLS)]) for at in range(max(count, len(CALLS)))]
    topics = {
        signature: "0x" + keccak(text=signature).hex()
        for signature in ["Transfer(address,address,uint256)", "Sync(uint112,uint112)"]
    }
    json.dump({"transactions": transactions, "calls": calls, "topics": topics}, sys.stdout, indent=1)
    print()


main()
