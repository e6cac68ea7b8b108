"""One file of the schemas of the answers that the exchange gives, made from Kraken's published specification.

Usage: python3 bundle.py FOLDER > specification.json
FOLDER is the folder of openapi_v3.yaml in the specification that Kraken publishes (MIT, see LICENSE). Needs PyYAML.

References are resolved, examples and descriptions left out, `nullable` is written as a type. Objects are closed: a
field without a property of its own in the specification is an error, which the specification's own schemas would
let pass.
"""

import json
import sys
from pathlib import Path

import yaml

SERVED = """
public: Time SystemStatus Assets AssetPairs Ticker OHLC Depth Trades Spread
private: Balance BalanceEx OpenOrders ClosedOrders QueryOrders TradesHistory QueryTrades Ledgers QueryLedgers
private: TradeVolume WithdrawMethods
private: AddOrder AddOrderBatch AmendOrder CancelOrder CancelOrderBatch CancelAll CancelAllOrdersAfter
"""
# Schemas that are in the folder, without a reference to them in the operation.
UNLINKED = {"CancelOrderBatch": "schemas/responses/trading/orders/batchcancel.yaml"}
LEFT_OUT = ("description", "example", "examples", "title", "x-additionalPropertiesName", "x-tags")


def load(path):
    return yaml.safe_load(path.read_text())


def resolved(node, folder):
    """The node with its references replaced, without what is for readers."""
    if isinstance(node, list):
        return [resolved(item, folder) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name, _, pointer = node["$ref"].partition("#")
        path = (folder / name).resolve()
        target = load(path)
        for step in filter(None, pointer.split("/")):
            target = target[step]
        return resolved(target, path.parent)
    result = {}
    for name, value in node.items():
        if name in LEFT_OUT:
            continue
        if name == "properties":
            value = {field: resolved(schema, folder) for field, schema in value.items()}
        else:
            value = resolved(value, folder)
        result[name] = value
    return result


def closed(schema):
    """Objects with named properties take no others, unless the schema says which."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {name: closed(value) for name, value in schema.items()}
    if result.pop("nullable", False):
        result["type"] = [result["type"], "null"]
    if isinstance(schema.get("properties"), dict):
        result.setdefault("additionalProperties", False)
    return result


def main():
    root = Path(sys.argv[1])
    paths = load(root / "openapi_v3.yaml")["paths"]
    methods = {}
    for line in SERVED.strip().splitlines():
        kind, names = line.split(": ")
        for name in names.split():
            (operation,) = paths[f"/{kind}/{name}"].values()
            answer = operation["responses"]["200"]
            answer = resolved(answer, root)["content"]["application/json"]
            answer = answer.get("schema") or resolved({"$ref": UNLINKED[name]}, root)
            methods[f"{kind}/{name}"] = closed(answer)
    json.dump(methods, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
