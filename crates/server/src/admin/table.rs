//! The operator's requests as a table: names, fields, descriptions and examples. The JSON API, the command line and its
//! help are generated from it; `request_fields` parses the bodies.

/// Type of a field. Values are JSON strings or numbers; amounts are base units, or whole tokens with their symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A whole number; also account numbers.
    Number,
    /// A token by symbol or number.
    Token,
    /// Base units, up to 96 bits, or whole tokens with their symbol.
    Amount,
    /// 0x and 40 hexadecimal digits.
    Address,
    /// 0x and up to 64 hexadecimal digits.
    Hash,
    /// Text.
    Text,
    /// A secret: not accepted as a command line argument, which other users could see.
    Secret,
    /// true or false.
    Flag,
    /// One of these keywords.
    Word(&'static [&'static str]),
    /// Amounts by name of a token or a fee: an object, or NAME=AMOUNT several times.
    Amounts,
}

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name in the body; on the command line with dashes.
    pub name: &'static str,
    /// Type of the value.
    pub kind: FieldKind,
    /// Whether the field is required.
    pub required: bool,
    /// Short description.
    pub about: &'static str,
}

/// One operator request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorRequest {
    /// Name, the last part of the path.
    pub name: &'static str,
    /// Short description.
    pub about: &'static str,
    /// Whether it only reads: GET instead of POST.
    pub looks: bool,
    /// Its fields.
    pub fields: &'static [Field],
    /// An example's command line.
    pub example: &'static str,
}

/// The request with this name.
pub fn find(name: &str) -> Option<&'static OperatorRequest> {
    WISHES.iter().find(|wish| wish.name == name)
}

const fn need(name: &'static str, kind: FieldKind, about: &'static str) -> Field {
    Field {
        name,
        kind,
        required: true,
        about,
    }
}

const fn may(name: &'static str, kind: FieldKind, about: &'static str) -> Field {
    Field {
        name,
        kind,
        required: false,
        about,
    }
}

const fn wish(
    name: &'static str,
    about: &'static str,
    fields: &'static [Field],
    example: &'static str,
) -> OperatorRequest {
    OperatorRequest {
        name,
        about,
        looks: false,
        fields,
        example,
    }
}

const fn look(
    name: &'static str,
    about: &'static str,
    fields: &'static [Field],
    example: &'static str,
) -> OperatorRequest {
    OperatorRequest {
        looks: true,
        ..wish(name, about, fields, example)
    }
}

use FieldKind::{Address, Amount, Amounts, Flag, Hash, Number, Secret, Text, Token, Word};

const ACCOUNT: Field = need("account", Number, "account number");
const TOKEN: Field = need("token", Token, "token by symbol or number");
const AMOUNT: Field = need(
    "amount",
    Amount,
    "base units, or whole tokens with their symbol: \"1.5 ETH\"",
);
const MARKET: Field = need("market", Text, "market name");
const POOL: Field = need("pool", Address, "address of the pool");
const HASH: Field = need("hash", Hash, "hash of the request");
const REQUEST: Field = need(
    "request",
    Word(&crate::admin::request_fields::KINDS),
    "kind of request",
);
const COUNT: Field = may("count", Number, "how many of them; 1 by default");

/// An amount of an account's funds.
const FUNDS: &[Field] = &[ACCOUNT, TOKEN, AMOUNT];

/// Everything.
pub static WISHES: [OperatorRequest; 40] = [
    wish(
        "create-account",
        "Open an account",
        &[
            need("owner", Address, "its owner; one account per owner"),
            may(
                "account",
                Number,
                "its number; the next free one by default",
            ),
            may("public_key_x", Hash, "its signing key; none by default"),
            may("public_key_y", Hash, "the other coordinate"),
            may(
                "api_key",
                Secret,
                "its API key, 32 characters at least; asked for with a signature by default",
            ),
        ],
        "create-account --owner 0x00000000000000000000000000000000000000aa",
    ),
    wish(
        "deposit",
        "Book a deposit at once",
        FUNDS,
        "deposit --account 10000 --token ETH --amount \"1.5 ETH\"",
    ),
    wish(
        "announce-deposit",
        "Announce a deposit that the chain has not confirmed",
        FUNDS,
        "announce-deposit --account 10000 --token ETH --amount \"1.5 ETH\"",
    ),
    wish(
        "confirm-deposit",
        "Book what was announced",
        FUNDS,
        "confirm-deposit --account 10000 --token ETH --amount \"1.5 ETH\"",
    ),
    wish(
        "withdraw",
        "Book a withdrawal of free funds at once",
        FUNDS,
        "withdraw --account 10000 --token ETH --amount \"1.5 ETH\"",
    ),
    wish(
        "settle-withdrawal",
        "A pending withdrawal has arrived on the chain",
        &[HASH],
        "settle-withdrawal --hash 0x1b",
    ),
    wish(
        "settle-withdrawals",
        "Every pending withdrawal has arrived on the chain",
        &[],
        "settle-withdrawals",
    ),
    wish(
        "return-withdrawal",
        "Give a pending withdrawal back to its account",
        &[HASH],
        "return-withdrawal --hash 0x1b",
    ),
    wish(
        "approve-hash",
        "Register a hash that an owner approved on the chain",
        &[ACCOUNT, HASH],
        "approve-hash --account 10000 --hash 0x1b",
    ),
    wish(
        "freeze",
        "Freeze an account: it cancels, and nothing else",
        &[ACCOUNT],
        "freeze --account 10000",
    ),
    wish(
        "thaw",
        "Thaw an account",
        &[ACCOUNT],
        "thaw --account 10000",
    ),
    wish(
        "list-token",
        "List a token, or a delisted one again",
        &[
            need("token", Number, "its number"),
            need("symbol", Text, "its symbol"),
            may("name", Text, "its name; the symbol by default"),
            need(
                "address",
                Address,
                "its contract; zero for the chain's own coin",
            ),
            need("decimals", Number, "decimals of the base unit"),
            may("precision", Number, "decimals that count; all by default"),
            need("minimum", Amount, "smallest order"),
            need("maximum", Amount, "largest order"),
            need("dust", Amount, "a smaller rest counts as filled"),
            may(
                "fast_withdraw_limit",
                Amount,
                "most of a fast withdrawal; the largest order by default",
            ),
        ],
        "list-token --token 5 --symbol XYZ --address 0x00000000000000000000000000000000000000a5 --decimals 6 --minimum \"0.001 XYZ\" --maximum \"1000000 XYZ\" --dust \"0.0001 XYZ\"",
    ),
    wish(
        "delist-token",
        "Delist a token that no market and no pool uses",
        &[TOKEN],
        "delist-token --token XYZ",
    ),
    wish(
        "open-token",
        "Open a token for new orders",
        &[TOKEN],
        "open-token --token ETH",
    ),
    wish(
        "close-token",
        "Close a token for new orders",
        &[TOKEN],
        "close-token --token ETH",
    ),
    wish(
        "list-market",
        "List a market, or a delisted one again",
        &[
            MARKET,
            need("base", Token, "its base token"),
            need("quote", Token, "its quote token"),
            may(
                "price_decimals",
                Number,
                "decimals of the price; 2 by default",
            ),
            may(
                "aggregation_levels",
                Number,
                "coarsest level of depth; 3 by default",
            ),
            may(
                "maker_fee_bips",
                Number,
                "fee of the resting side; 0 by default",
            ),
            may(
                "taker_fee_bips",
                Number,
                "fee of the incoming side; 10 by default",
            ),
        ],
        "list-market --market XYZ-USDC --base XYZ --quote USDC --price-decimals 4",
    ),
    wish(
        "delist-market",
        "Delist a market that no pool uses: its orders are cancelled",
        &[MARKET],
        "delist-market --market XYZ-USDC",
    ),
    wish(
        "open-market",
        "Open a market for new orders",
        &[MARKET],
        "open-market --market ETH-USDC",
    ),
    wish(
        "close-market",
        "Close a market for new orders",
        &[MARKET],
        "close-market --market ETH-USDC",
    ),
    wish(
        "set-fees",
        "Change the fees of a market",
        &[
            MARKET,
            need(
                "maker_fee_bips",
                Number,
                "fee of the resting side, ten-thousandths",
            ),
            need(
                "taker_fee_bips",
                Number,
                "fee of the incoming side, ten-thousandths",
            ),
        ],
        "set-fees --market ETH-USDC --maker-fee-bips 0 --taker-fee-bips 10",
    ),
    wish(
        "list-pool",
        "List a pool, and its LP token with it",
        &[
            need("name", Text, "AMM-BASE-QUOTE; wallets sign it"),
            POOL,
            need("base", Token, "its base token"),
            need("quote", Token, "its quote token"),
            need("lp", Number, "number of its LP token"),
            may(
                "lp_symbol",
                Text,
                "symbol of its LP token; LP-BASE-QUOTE by default",
            ),
            may(
                "fee_bips",
                Number,
                "fee inside the curve, ten-thousandths; 20 by default",
            ),
            may(
                "price_precision",
                Number,
                "decimals of shown prices; 6 by default",
            ),
            may(
                "amount_precision",
                Number,
                "decimals of shown amounts; 6 by default",
            ),
            may(
                "join_fee",
                Amount,
                "fee of a join in the quote token; 0 by default",
            ),
            may(
                "exit_fee",
                Amount,
                "fee of an exit in the quote token; 0 by default",
            ),
        ],
        "list-pool --name AMM-ETH-USDC --pool 0x00000000000000000000000000000000000000bb --base ETH --quote USDC --lp 9",
    ),
    wish(
        "delist-pool",
        "Delist a pool: it takes exits only",
        &[POOL],
        "delist-pool --pool 0x00000000000000000000000000000000000000bb",
    ),
    wish(
        "set-pool",
        "Change what may be done with a pool and what it costs; the rest stays",
        &[
            POOL,
            may("exits", Flag, "whether it takes exits"),
            may("joins", Flag, "whether it takes joins"),
            may("swaps", Flag, "whether it takes swaps"),
            may("shown", Flag, "whether it stands in the list"),
            may("fee_bips", Number, "fee inside the curve, ten-thousandths"),
            may("join_fee", Amount, "fee of a join in the quote token"),
            may("exit_fee", Amount, "fee of an exit in the quote token"),
        ],
        "set-pool --pool 0x00000000000000000000000000000000000000bb --swaps false",
    ),
    wish(
        "join-pool",
        "Book a join that came from the chain",
        &[
            HASH,
            ACCOUNT,
            POOL,
            need("base_amount", Amount, "most of the base token"),
            need("quote_amount", Amount, "most of the quote token"),
        ],
        "join-pool --hash 0x1b --account 10000 --pool 0x00000000000000000000000000000000000000bb --base-amount \"1 ETH\" --quote-amount \"2500 USDC\"",
    ),
    wish(
        "set-service-fees",
        "Change the fees of transfers, withdrawals and key updates; a table that is not given stays",
        &[
            may(
                "transfer",
                Amounts,
                "TOKEN=AMOUNT for each token that pays for transfers",
            ),
            may("withdrawal", Amounts, "the same for withdrawals"),
            may("update", Amounts, "the same for key updates"),
            may(
                "onchain",
                Amounts,
                "NAME=AMOUNT for each fee of the chain; only shown",
            ),
            may(
                "same_token",
                Flag,
                "whether a fee is paid in the token that moves",
            ),
        ],
        "set-service-fees --transfer \"USDC=0.1 USDC\" --transfer \"ETH=0.00004 ETH\"",
    ),
    wish(
        "set-account-opening",
        "Change what a transfer to an address without an account must bring; what is not given stays",
        &[
            may(
                "order_minimum",
                Flag,
                "whether it must reach the smallest order of a traded token",
            ),
            may(
                "fee",
                Amounts,
                "TOKEN=AMOUNT for each token that pays, beside the transfer's own fee",
            ),
            may(
                "reserved",
                Number,
                "accounts below accounts_max that are left to the operator",
            ),
        ],
        "set-account-opening --order-minimum true --fee \"USDC=1 USDC\" --reserved 5000",
    ),
    wish(
        "set-price-band",
        "Bound how far from a reference the orders of a market may be willing to trade",
        &[
            MARKET,
            need(
                "bips",
                Number,
                "half the band's width in ten-thousandths of the reference; 0 for none",
            ),
            may(
                "window_s",
                Number,
                "the reference follows the book at most once in so many seconds; 300 by default",
            ),
            may(
                "reference",
                Text,
                "the first reference, a price; needed unless bips is 0",
            ),
        ],
        "set-price-band --market ETH-USDC --bips 1000 --reference 2500.00",
    ),
    wish(
        "set-limits",
        "Change limits; what is not given stays",
        &[
            may("open_orders_max", Number, "open orders of one account"),
            may(
                "history_orders_max",
                Number,
                "finished orders kept per account",
            ),
            may(
                "internal_history_orders_max",
                Number,
                "as above for background traders",
            ),
            may("orders_page", Number, "entries of a page of lists"),
            may("orders_page_max", Number, "most entries of a page of lists"),
            may("depth_levels", Number, "levels per side of a depth"),
            may(
                "depth_levels_max",
                Number,
                "most levels per side of a depth",
            ),
            may(
                "open_submissions_max",
                Number,
                "unsettled submissions of one account",
            ),
            may(
                "history_submissions_max",
                Number,
                "finished submissions kept per account",
            ),
            may("accounts_max", Number, "accounts"),
            may("log_max", Number, "entries of this log"),
            may("approved_hashes_max", Number, "approved hashes that wait"),
        ],
        "set-limits --open-orders-max 200",
    ),
    wish(
        "set-delays",
        "Change how long things take; what is not given stays",
        &[
            may(
                "order_ms",
                Number,
                "an order waits this long before it meets its book",
            ),
            may(
                "cancel_ms",
                Number,
                "a cancel takes effect this long after it was taken",
            ),
            may("received_ms", Number, "a submission is received this long"),
            may("processing_ms", Number, "and then processing this long"),
            may(
                "late_failures_permille",
                Number,
                "of a thousand that wait, so many fail",
            ),
            may("seed", Number, "seed of that draw"),
        ],
        "set-delays --order-ms 500 --late-failures-permille 10",
    ),
    wish(
        "set-mode",
        "Open, restrict or halt the exchange",
        &[need(
            "mode",
            Word(&crate::admin::request_fields::MODES),
            "what may be done",
        )],
        "set-mode --mode cancel-only",
    ),
    wish(
        "fault-answer",
        "The next requests of a kind are refused with a code",
        &[REQUEST, need("code", Number, "the code"), COUNT],
        "fault-answer --request submit --code 102014 --count 3",
    ),
    wish(
        "fault-late",
        "The next requests of a kind are taken and fail later",
        &[
            REQUEST,
            may("after_ms", Number, "how long after; 0 by default"),
            COUNT,
        ],
        "fault-late --request withdraw --after-ms 2000",
    ),
    wish(
        "clear-faults",
        "Forget the faults that wait",
        &[],
        "clear-faults",
    ),
    look(
        "status",
        "Mode, fees and sizes of the exchange",
        &[],
        "status",
    ),
    look(
        "account",
        "An account and its balances",
        &[ACCOUNT],
        "account --account 10000",
    ),
    look(
        "submission",
        "State of a transfer, withdrawal, key update, join or exit",
        &[ACCOUNT, HASH],
        "submission --account 10000 --hash 0x1b",
    ),
    look("tokens", "Every listed token", &[], "tokens"),
    look("pools", "Every shown pool", &[], "pools"),
    look("audit", "Check that the books add up", &[], "audit"),
    look(
        "log",
        "What the operator asked, newest first",
        &[
            may("limit", Number, "entries; 50 by default"),
            may("offset", Number, "entries skipped"),
        ],
        "log --limit 10",
    ),
];
