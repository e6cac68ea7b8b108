"""Answers and requests against the published specification, with what the specification itself gets wrong."""

import json
import re
import urllib.parse
from pathlib import Path

import jsonschema

SCHEMAS = json.loads((Path(__file__).parent / "specification.json").read_text())
REQUESTS = json.loads((Path(__file__).parent / "specification-requests.json").read_text())
ERRORS = {"type": "array", "items": {"type": "string"}}
REFUSAL = {"type": "object", "properties": {"error": {**ERRORS, "minItems": 1}},
           "required": ["error"], "additionalProperties": False}


def corrected():
    """The schemas of answers, with every place where the specification contradicts its own examples.

    Each correction is what the example of that operation shows; nothing else is excused.
    """
    schemas = SCHEMAS
    for answer in schemas.values():
        # Half of the operations refer to the list of errors as to one of its items.
        answer["properties"]["error"] = ERRORS
        answer["required"] = ["error", "result"]
    # A placeholder, "asset", where the example has names of assets.
    balances = schemas["private/BalanceEx"]["properties"]
    balances["result"] = {"type": "object", "additionalProperties": balances["result"]["properties"]["asset"]}
    # The orders themselves, where the example has them by id.
    orders = schemas["private/QueryOrders"]["properties"]
    orders["result"] = {"type": "object", "additionalProperties": {"anyOf": orders["result"]["oneOf"]}}
    # The reason of an order that was filled is null in the example.
    for order in (*orders["result"]["additionalProperties"]["anyOf"],
                  schemas["private/ClosedOrders"]["properties"]["result"]["properties"]["closed"]["additionalProperties"]):
        if "reason" in order["properties"]:
            order["properties"]["reason"]["type"] = ["string", "null"]
    # The example has minfee, where the schema has min_fee.
    volume = schemas["private/TradeVolume"]["properties"]["result"]["properties"]
    for name in ("fees", "fees_maker"):
        fees = volume[name]["additionalProperties"]
        fees["properties"] = {field.replace("_", ""): schema for field, schema in fees["properties"].items()}
    return schemas


VALIDATORS = {name: jsonschema.Draft202012Validator(schema) for name, schema in corrected().items()}
REFUSED = jsonschema.Draft202012Validator(REFUSAL)


def check(method, answer):
    """What about `answer` the specification does not allow, or None."""
    validator = REFUSED if answer.get("error") else VALIDATORS[method]
    error = jsonschema.exceptions.best_match(validator.iter_errors(answer))
    return error and f"{method}: {error.json_path}: {error.message}"[:300]


# Texts of a form that are a value of a type of the schema.
FORMS = {
    "string": (".*", str),
    "integer": ("0|-?[1-9][0-9]*", int),
    "boolean": ("true|false", lambda text: text == "true"),
}


def value(text, schema):
    """The value that a text of a form has in a schema; the text itself if it has none."""
    for each in schema.get("oneOf", [schema]):
        pattern, read = FORMS[each["type"]]
        if re.fullmatch(pattern, text):
            read = read(text)
            if each.get("format") == "int64" and read.bit_length() > 63:
                continue
            return read
    # A number of no such type is left as a text, which its schema refuses.
    return text


def check_request(method, form):
    """What about a form or a query the specification does not allow, or None."""
    schema, fields = REQUESTS[method], {}
    for name, text in urllib.parse.parse_qsl(form, keep_blank_values=True, strict_parsing=bool(form)):
        if name in fields:
            return f"{method}: {name} occurs twice"
        fields[name] = value(text, schema["properties"].get(name, {"type": "string"}))
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(fields))
    return error and f"{method}: {error.json_path}: {error.message}"[:300]
