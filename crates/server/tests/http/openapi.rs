//! The OpenAPI document, and whether the exchange's answers conform to it.

use cambist_protocol::Endpoint;
use cambist_protocol::endpoint::TABLE;
use cambist_venue::Compat;
use serde_json::Value;

use crate::pairs::World;
use crate::support::{Call, Exchange, config};

#[path = "../../../protocol/tests/schema/mod.rs"]
pub mod schema;

#[test]
fn the_openapi_document_is_public_and_has_the_public_url() {
    let mut config = config();
    config.public_url = Some("https://exchange.example/".to_owned());
    let exchange = Exchange::with(&config);
    let document = exchange.ask(&Call::get("/openapi.json"));
    assert_eq!(document.good()["openapi"], "3.1.0");
    assert_eq!(
        document.body["servers"][0]["url"],
        "https://exchange.example"
    );
    let post = exchange.ask(&Call::new("POST", "/openapi.json"));
    assert_eq!(post.status, 405);
}

#[test]
fn answers_conform_to_the_openapi_document() {
    let mut world = World::new(Compat::Both);
    let document = world
        .exchange
        .ask(&Call::get("/openapi.json"))
        .good()
        .clone();
    let mut checked = 0;
    for row in TABLE.iter().filter(|row| row.in_interface) {
        // Requests that change keys use an exchange of their own.
        let mut other = World::new(Compat::Both);
        let world = match row.endpoint {
            Endpoint::UpdateAccount | Endpoint::ReplaceApiKey => &mut other,
            _ => &mut world,
        };
        let (_, call) = world.good(row.endpoint);
        let reply = world.exchange.ask(&call);
        let path = row.path.replace('/', "~1");
        let method = row.method.name().to_ascii_lowercase();
        let schema = |status: u16| {
            let pointer = format!(
                "/paths/{path}/{method}/responses/{status}/content/application~1json/schema"
            );
            document.pointer(&pointer).cloned().unwrap_or(Value::Null)
        };
        let found = schema::problem(&document, &schema(reply.status), &reply.body);
        assert_eq!(found, None, "{} {}: {}", row.path, reply.status, reply.text);
        checked += usize::from(reply.status == 200);
        if row.endpoint == Endpoint::SubmitOrder {
            let hash = reply.body["hash"].as_str().unwrap();
            let list = Call::get(format!("/api/v3/order?accountId=10000&orderHash={hash}"));
            let one = world.exchange.ask(&list.header("X-API-KEY", "key-of-1"));
            let pointer = "/components/schemas/OrderDetail";
            let detail = document.pointer(pointer).unwrap();
            assert_eq!(schema::problem(&document, detail, one.good()), None);
        }
    }
    // Order and cancel refer to an order that does not exist.
    assert_eq!(checked, 17);
}
