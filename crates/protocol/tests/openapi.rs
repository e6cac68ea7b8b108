//! The OpenAPI document has everything in the endpoint table, and its examples conform to it.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod schema;

use cambist_protocol::endpoint::{Place, TABLE};
use cambist_protocol::wire::{
    AccountUpdateRequest, ApiKeyRequest, ExitRequest, JoinRequest, SubmitOrder, TransferRequest,
    WithdrawalRequest,
};
use cambist_protocol::{Endpoint, FromWire, Method, code, openapi};
use serde_json::{Value, json};

use schema::problem;

fn operation<'a>(document: &'a Value, method: Method, path: &str) -> &'a Value {
    let found = &document["paths"][path][method.name().to_ascii_lowercase()];
    assert!(found.is_object(), "{} {path}", method.name());
    found
}

#[test]
fn the_document_has_exactly_the_endpoints_parameters_and_codes() {
    let document = openapi::document(None, true);
    assert_eq!(document["openapi"], "3.1.0");
    let mut operations = 0;
    for row in &TABLE {
        let operation = operation(&document, row.method, row.path);
        operations += 1;
        let query: Vec<_> = operation["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|parameter| parameter["in"] == "query")
            .map(|parameter| {
                (
                    parameter["name"].as_str().unwrap(),
                    parameter["required"] == true,
                )
            })
            .collect();
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        for parameter in row.parameters {
            let required = match parameter.place {
                Place::Query => query.contains(&(parameter.name, parameter.required)),
                Place::Body => {
                    assert!(body["properties"].get(parameter.name).is_some());
                    let names = body["required"].as_array().unwrap();
                    names.contains(&json!(parameter.name)) == parameter.required
                }
            };
            assert!(required, "{} {}", row.path, parameter.name);
        }
        let codes = operation["x-status-codes"].as_object().unwrap();
        assert_eq!(codes.len(), row.codes.len());
        for reason in row.codes {
            assert!(codes.contains_key(&code::number(*reason).to_string()));
        }
        assert_eq!(operation["x-outside-interface"], !row.in_interface);
    }
    let paths = document["paths"].as_object().unwrap();
    let shown: usize = paths
        .values()
        .map(|path| path.as_object().unwrap().len())
        .sum();
    // And the health check, and market data where it is served.
    assert_eq!(shown, operations + 5);
    let without = openapi::document(None, false);
    assert_eq!(without["paths"].as_object().unwrap().len(), paths.len() - 4);
    assert!(paths.contains_key("/health"));
    let at = openapi::document(Some("https://exchange.example"), true);
    assert_eq!(at["servers"][0]["url"], "https://exchange.example");
    assert_eq!(
        serde_json::from_slice::<Value>(&openapi::bytes(None, true)).unwrap(),
        document
    );
}

#[test]
fn every_example_conforms_to_its_schema() {
    let document = openapi::document(None, true);
    let check = |content: &Value, what: &str| {
        let content = &content["content"]["application/json"];
        let found = problem(&document, &content["schema"], &content["example"]);
        assert_eq!(found, None, "{what}");
        // A schema that accepts everything would be useless.
        assert!(problem(&document, &content["schema"], &json!("nonsense")).is_some());
        assert!(problem(&document, &content["schema"], &json!({"a": 1})).is_some());
    };
    for row in &TABLE {
        let operation = operation(&document, row.method, row.path);
        for (status, answer) in operation["responses"].as_object().unwrap() {
            check(answer, &format!("{} {status}", row.path));
        }
        if row.method == Method::Post {
            check(&operation["requestBody"], row.path);
        }
    }
    for name in ["trades", "ticker", "candles"] {
        let path = format!("/api/ext/v1/{name}");
        let operation = operation(&document, Method::Get, &path);
        for (status, answer) in operation["responses"].as_object().unwrap() {
            check(answer, &format!("{path} {status}"));
        }
    }
}

#[test]
fn every_example_of_a_request_is_read() {
    let document = openapi::document(None, true);
    for row in TABLE.iter().filter(|row| row.method == Method::Post) {
        let operation = operation(&document, row.method, row.path);
        let example = &operation["requestBody"]["content"]["application/json"]["example"];
        let bytes = example.to_string().into_bytes();
        let read = match row.endpoint {
            Endpoint::SubmitOrder => SubmitOrder::from_bytes(&bytes).map(drop),
            Endpoint::Transfer => TransferRequest::from_bytes(&bytes).map(drop),
            Endpoint::Withdraw => WithdrawalRequest::from_bytes(&bytes).map(drop),
            Endpoint::UpdateAccount => AccountUpdateRequest::from_bytes(&bytes).map(drop),
            Endpoint::ReplaceApiKey => ApiKeyRequest::from_bytes(&bytes).map(drop),
            Endpoint::JoinPool => JoinRequest::from_bytes(&bytes).map(drop),
            Endpoint::ExitPool => ExitRequest::from_bytes(&bytes).map(drop),
            other => panic!("{other:?}"),
        };
        // The example's signature has the right form and is not a valid point.
        let problem = read
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(problem.is_empty(), "{}: {problem}", row.path);
    }
}
