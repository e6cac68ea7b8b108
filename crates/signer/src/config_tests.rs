#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::*;

const FILE: &str = r#"
config_version = 1

[signer]
socket = "signer.sock"
state_dir = "/var/lib/cambist-signer/eth"
users = ["0", "1234"]

[keys]
eddsa_key_file = "eddsa_key"

[account]
base_url = "https://venue.example/"
exchange = "0x0101010101010101010101010101010101010101"
chain_id = 1
account_id = 10001
owner = "0x0202020202020202020202020202020202020202"

[limits]
ttl_max_s = 120
max_fee_bips = 20
window_s = 6400

[[token]]
symbol = "ETH"
id = 1
decimals = 18
signed_unexpired_max = "10 ETH"
window_max = "100"

[[token]]
symbol = "USDC"
id = 2
decimals = 6
signed_unexpired_max = "20000"
window_max = "200000"

[[token]]
symbol = "LP"
id = 3
decimals = 18
signed_unexpired_max = "10"
window_max = "100"

[[market]]
name = "ETH-USDC"
base = "ETH"
quote = "USDC"
sell_price_min = "1000.5 USDC"
buy_price_max = "3000"

[[pool]]
name = "AMM-ETH-USDC"
address = "0x0505050505050505050505050505050505050505"
tokens = ["ETH", "USDC"]
share = "LP"
exit_min = ["0.5", "1000 USDC"]
join_max = ["2", "4000"]
fee_max = "1"
"#;

fn read_text(text: &str) -> Result<Config, ConfigError> {
    let source = Source {
        path: PathBuf::from("signer.toml"),
        text: text.to_owned(),
    };
    parse(&source, Path::new("/etc/cambist"))
}

#[test]
fn a_file_is_read_in_base_units() {
    let config = read_text(FILE).unwrap();
    assert_eq!(config.socket, Path::new("/etc/cambist/signer.sock"));
    assert_eq!(config.state_dir, Path::new("/var/lib/cambist-signer/eth"));
    assert_eq!(config.users, [0, 1234]);
    assert_eq!(
        config.key,
        KeyPlace::File(PathBuf::from("/etc/cambist/eddsa_key"))
    );
    let rules = config.rules;
    assert_eq!(rules.base_url, "https://venue.example");
    assert_eq!(rules.tokens[0].unexpired_max, 10 * 10_u128.pow(18));
    assert_eq!(rules.tokens[1].window_max, 200_000_000_000);
    let market = &rules.markets[0];
    // 1000.5 USDC are 1,000,500,000 units for 10^18.
    let exact = |ratio: &Ratio, units: u128, per: u128| ratio.units * per == units * ratio.per;
    assert!(exact(&market.sell_min, 1_000_500_000, 10_u128.pow(18)));
    assert!(exact(&market.buy_max, 3_000_000_000, 10_u128.pow(18)));
    let pool = &rules.pools[0];
    assert_eq!(
        (pool.tokens, pool.share, pool.fee_max),
        ([1, 2], 3, 1_000_000)
    );
    assert!(exact(&pool.exit_min[0], 1, 2));
    assert!(exact(&pool.join_max[1], 4_000_000_000, 10_u128.pow(18)));
}

#[test]
fn mistakes_are_reported_with_their_place() {
    for (from, to, what) in [
        ("config_version = 1", "config_version = 2", "not supported"),
        ("chain_id = 1\n", "", "account.chain_id is missing"),
        ("exchange = \"0x01", "exchange = \"0x", "40 hexadecimal"),
        (
            "users = [\"0\"",
            "users = [\"no-such-user\"",
            "there is no user no-such-user",
        ),
        (
            "eddsa_key_file = \"eddsa_key\"",
            "",
            "keys.eddsa_key_file, or keys.credentials",
        ),
        ("[keys]", "[keys]\ncredentials = true", "and not both"),
        ("ttl_max_s = 120", "ttl_max_s = 0", "outside 1 to"),
        ("max_fee_bips = 20", "max_fee_bips = 64", "outside 1 to 63"),
        ("window_s = 6400", "window_s = 59", "outside 60 to"),
        ("window_s = 6400", "windows = 1", "did you mean"),
        ("\"10 ETH\"", "\"10 USDC\"", "is in USDC"),
        ("\"20000\"", "\"0.0000001\"", "more than 6 decimals"),
        ("symbol = \"USDC\"", "symbol = \"ETH\"", "comes before"),
        ("id = 2", "id = 1", "comes before"),
        (
            "base = \"ETH\"",
            "base = \"BTC\"",
            "no [[token]] with symbol",
        ),
        (
            "base = \"ETH\"",
            "base = \"USDC\"",
            "two tokens are the same",
        ),
        (
            "sell_price_min = \"1000.5 USDC\"",
            "sell_price_min = \"-1\"",
            "market.sell_price_min",
        ),
        (
            "tokens = [\"ETH\", \"USDC\"]",
            "tokens = [\"ETH\"]",
            "two tokens",
        ),
        (
            "exit_min = [\"0.5\", \"1000 USDC\"]",
            "exit_min = [\"0.5\"]",
            "two amounts",
        ),
        ("fee_max = \"1\"", "fee_max = \"0.0000001\"", "pool.fee_max"),
    ] {
        assert!(FILE.contains(from), "{from}");
        let text = FILE.replacen(from, to, 1);
        let error = read_text(&text).unwrap_err().to_string();
        assert!(error.contains(what), "{to}: {error}");
        assert!(error.starts_with("signer.toml:"), "{error}");
    }
}

#[test]
fn a_pair_of_tokens_has_one_market_and_a_pool_one_section() {
    let again = |section: &str, change: &str| {
        let from = FILE.find(section).unwrap();
        let rest = &FILE[from..];
        let end = rest[2..].find("[[").map_or(rest.len(), |end| end + 2);
        let text = format!("{FILE}\n{}", rest[..end].replace(change, ""));
        read_text(&text).unwrap_err().to_string()
    };
    assert!(again("[[market]]", "").contains("another market has them"));
    assert!(again("[[pool]]", "").contains("described twice"));
    let none = FILE[..FILE.find("[[market]]").unwrap()].to_owned();
    let error = read_text(&none).unwrap_err().to_string();
    assert!(error.contains("nothing could be signed"), "{error}");
}
