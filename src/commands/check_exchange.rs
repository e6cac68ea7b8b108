//! `cambist check` of an exchange's file: its markets, and settings that are not recommended.

use serde_json::{Value, json};

use cambist_exchange::config::Exchange;

/// The checked file as JSON.
pub(super) fn shown(file: &str, exchange: &Exchange) -> Value {
    json!({
        "ok": true,
        "file": file,
        "exchange": {"markets": markets(exchange)},
        "warnings": warnings(exchange),
    })
}

/// The checked file as text.
pub(super) fn text(file: &str, exchange: &Exchange) -> String {
    let markets = markets(exchange).join(", ");
    let mut text = format!("{file} is right: an exchange with the markets {markets}\n");
    for warning in warnings(exchange) {
        text.push_str("\nwarning: ");
        text.push_str(&warning);
        text.push('\n');
    }
    text
}

fn markets(exchange: &Exchange) -> Vec<&str> {
    let markets = exchange.markets.iter();
    markets.map(|market| market.name.as_str()).collect()
}

/// Allowed settings that weaken security: the key to change, and what an attacker could do.
fn warnings(exchange: &Exchange) -> Vec<String> {
    let listen = &exchange.listen;
    let is_remote = !listen.address.ip().is_loopback();
    let mut warnings = Vec::new();
    if !exchange.require_api_key_signature {
        warnings.push("exchange.require_api_key_signature = false: anyone with an account's API key can replace it and lock its owner out until the owner fetches the key with a signature; recommended: true".to_owned());
    }
    if !exchange.require_wallet_for_funds {
        warnings.push("exchange.require_wallet_for_funds = false: anyone with an account's layer-2 key can transfer and withdraw everything and replace that key; recommended: true".to_owned());
    }
    if listen.public_url.is_none() && (is_remote || !listen.trusted_proxies.is_empty()) {
        warnings.push("listen.public_url is missing although others reach this exchange: request signatures are accepted for any address that a client names, those made for another exchange included, and a recorded GET apiKey fetches the key for ever; recommended: the address that clients use".to_owned());
    }
    let is_hosted = is_remote || listen.public_url.is_some() || !listen.trusted_proxies.is_empty();
    if is_hosted && exchange.opening.fee.is_empty() {
        warnings.push("accounts.opening_fee is empty: anyone can open accounts for free by transfers between their own addresses, up to limits.accounts_max less accounts.reserved; recommended: a fee".to_owned());
    }
    if listen.public_url.is_some() {
        warnings.extend(of_public_exchange(exchange));
    }
    if is_remote {
        warnings.push(format!(
            "listen.address = \"{}\": API keys cross the network in the clear; recommended: 127.0.0.1 behind a proxy that speaks TLS, named in listen.trusted_proxies",
            listen.address
        ));
    }
    warnings
}

/// What an exchange of others' money should have and not have.
fn of_public_exchange(exchange: &Exchange) -> Vec<String> {
    let mut warnings = Vec::new();
    if exchange.data_dir.is_none() {
        warnings.push("data.dir is missing although listen.public_url is set: everything is kept in memory, and every account, balance and order is lost when the exchange stops; recommended: a data folder".to_owned());
    }
    if exchange.admin.is_none() {
        warnings.push("admin.token_file is missing although listen.public_url is set: the exchange has no operator listener, so that no deposit can be booked, no account frozen and no mode set; recommended: a token file".to_owned());
    }
    if !exchange.traders.is_empty() {
        warnings.push("traders: simulated traders (or a scenario) trade with funds that were never deposited, and customers can win and withdraw them; recommended: no [[traders]] and no scenario.play".to_owned());
    }
    warnings
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;
    use cambist_config::reader::Source;

    fn warned(edits: &[(&str, &str)]) -> Vec<String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/config/venue.toml");
        let mut source = Source::read(path.as_ref()).unwrap();
        for (from, to) in edits {
            assert!(source.text.contains(from), "{from}");
            source.text = source.text.replacen(from, to, 1);
        }
        let exchange = Exchange::parse(&source).unwrap();
        let warnings = warnings(&exchange);
        let shown = shown("f.toml", &exchange);
        assert_eq!(shown["warnings"], json!(warnings));
        let text = text("f.toml", &exchange);
        assert!(warnings.iter().all(|warning| text.contains(warning)));
        let key = |warning: &String| warning.split([' ', ':']).next().unwrap().to_owned();
        warnings.iter().map(key).collect()
    }

    /// The settings of docs/hosting.md give no warnings.
    #[test]
    fn the_hosting_guide_leaves_nothing_to_warn_of() {
        let root = env!("CARGO_MANIFEST_DIR");
        let guide = std::fs::read_to_string(format!("{root}/docs/hosting.md")).unwrap();
        let block = guide.split("```toml").nth(1).unwrap();
        let block = block.split("```").next().unwrap();
        let stated: toml::Table = block.parse().unwrap();
        let mut source = Source::read(format!("{root}/config/venue.toml").as_ref()).unwrap();
        let mut whole: toml::Table = source.text.parse().unwrap();
        for (section, keys) in stated {
            let known = whole
                .entry(section)
                .or_insert_with(|| toml::Table::new().into());
            let known = known.as_table_mut().unwrap();
            for (key, value) in keys.as_table().unwrap() {
                match (known.get_mut(key), value) {
                    (Some(toml::Value::Table(inner)), toml::Value::Table(stated)) => {
                        inner.extend(stated.clone());
                    }
                    _ => drop(known.insert(key.clone(), value.clone())),
                }
            }
        }
        // As the guide states.
        assert!(guide.contains("remove `[[traders]]`"));
        whole.remove("traders");
        source.text = whole.to_string();
        let exchange = Exchange::parse(&source).unwrap();
        assert_eq!(warnings(&exchange), Vec::<String>::new());
        assert_eq!(exchange.listen.further_urls, ["http://127.0.0.1:8787"]);
    }

    #[test]
    fn what_is_not_recommended_is_named_with_its_key() {
        let signature = (
            "require_api_key_signature = false",
            "require_api_key_signature = true",
        );
        let wallet = (
            "require_wallet_for_funds = true",
            "require_wallet_for_funds = false",
        );
        let public = ("# public_url", "public_url");
        let proxies = ("# trusted_proxies", "trusted_proxies");
        assert_eq!(warned(&[]), ["exchange.require_api_key_signature"]);
        assert!(warned(&[signature]).is_empty());
        assert_eq!(
            warned(&[signature, wallet]),
            ["exchange.require_wallet_for_funds"]
        );
        let fee = ("# USDC = \"1\"", "USDC = \"1\"");
        assert_eq!(
            warned(&[signature, proxies]),
            ["listen.public_url", "accounts.opening_fee"]
        );
        let unsafe_for_others = ["data.dir", "admin.token_file", "traders"];
        assert_eq!(
            warned(&[signature, public]),
            [&["accounts.opening_fee"], &unsafe_for_others[..]].concat()
        );
        assert_eq!(
            warned(&[signature, proxies, public, fee]),
            unsafe_for_others
        );
        let kept = [("# dir =", "dir ="), ("# token_file", "token_file")];
        let edits = [signature, proxies, public, fee, kept[0], kept[1]];
        assert_eq!(warned(&edits), ["traders"]);
        let remote = [
            ("address = \"127.0.0.1:8787\"", "address = \"0.0.0.0:8787\""),
            ("allow_remote = false", "allow_remote = true"),
        ];
        let edits = [signature, remote[0], remote[1], fee];
        assert_eq!(warned(&edits), ["listen.public_url", "listen.address"]);
        let edits = [signature, remote[0], remote[1], public, fee];
        assert_eq!(
            warned(&edits),
            [&unsafe_for_others[..], &["listen.address"]].concat()
        );
    }
}
