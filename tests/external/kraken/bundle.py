"""One file of the schemas of answers that the exchange gives, or of requests that the client sends, made from Kraken's
published specification.

Usage: python3 bundle.py FOLDER answers > specification.json
       python3 bundle.py FOLDER requests > specification-requests.json
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


def answer(operation, name, root):
    """The schema of an answer."""
    answer = resolved(operation["responses"]["200"], root)["content"]["application/json"]
    return answer.get("schema") or resolved({"$ref": UNLINKED[name]}, root)


def request(operation, _, root):
    """The schema of a request: of its body, or of the parameters of its query."""
    if "requestBody" in operation:
        return resolved(operation["requestBody"], root)["content"]["application/json"]["schema"]
    parameters = [resolved(parameter, root) for parameter in operation.get("parameters", ())]
    return {
        "type": "object",
        "properties": {parameter["name"]: parameter["schema"] for parameter in parameters},
        "required": [parameter["name"] for parameter in parameters if parameter.get("required")],
    }


def main():
    root, schema = Path(sys.argv[1]), {"answers": answer, "requests": request}[sys.argv[2]]
    paths = load(root / "openapi_v3.yaml")["paths"]
    methods = {}
    for line in SERVED.strip().splitlines():
        kind, names = line.split(": ")
        for name in names.split():
            (operation,) = paths[f"/{kind}/{name}"].values()
            methods[f"{kind}/{name}"] = closed(schema(operation, name, root))
    json.dump(methods, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
