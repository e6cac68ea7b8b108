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
    pub is_read: bool,
    /// Its fields.
    pub fields: &'static [Field],
    /// An example's command line.
    pub example: &'static str,
}

/// Requests that change what is given: absent fields keep their values.
const CHANGE_WHAT_IS_GIVEN: [&str; 5] = [
    "set-pool",
    "set-service-fees",
    "set-account-opening",
    "set-limits",
    "set-delays",
];

impl OperatorRequest {
    /// Whether absent fields keep their values. Without any optional field such a request would change nothing and be
    /// reported as done.
    pub fn changes_what_is_given(&self) -> bool {
        CHANGE_WHAT_IS_GIVEN.contains(&self.name)
    }

    /// The fields that need not be given.
    pub fn optional_fields(&self) -> impl Iterator<Item = &'static Field> {
        self.fields.iter().filter(|field| !field.required)
    }
}

/// The request with this name.
pub fn find(name: &str) -> Option<&'static OperatorRequest> {
    OPERATOR_REQUESTS
        .iter()
        .find(|request| request.name == name)
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

const fn request(
    name: &'static str,
    about: &'static str,
    fields: &'static [Field],
    example: &'static str,
) -> OperatorRequest {
    OperatorRequest {
        name,
        about,
        is_read: false,
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
        is_read: true,
        ..request(name, about, fields, example)
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
const COUNT: Field = may("count", Number, "number of requests; 1 by default");

/// The name of the request that settles each pending withdrawal with a request of its own.
pub(super) const SETTLE_ALL: &str = "settle-withdrawals";

/// The name of the only request that the exchange sends as one of its own accounts.
pub(super) const EXIT_POOL: &str = "exit-pool";

/// An amount of an account's funds.
const FUNDS: &[Field] = &[ACCOUNT, TOKEN, AMOUNT];

/// All operator requests.
pub static OPERATOR_REQUESTS: [OperatorRequest; 42] = [
    request(
        "create-account",
        "Open an account",
        &[
            need(
                "owner",
                Address,
                "address of the owner; one account per owner",
            ),
            may(
                "account",
                Number,
                "account number; the next free one by default",
            ),
            may(
                "public_key_x",
                Hash,
                "x coordinate of the signing key; no key by default",
            ),
            may("public_key_y", Hash, "y coordinate of the signing key"),
            may(
                "api_key",
                Secret,
                "API key of at least 32 characters; by default the owner fetches one with a signed request",
            ),
        ],
        "create-account --owner 0x00000000000000000000000000000000000000aa",
    ),
    request(
        "deposit",
        "Book a deposit immediately; with a number it can be repeated after an answer was lost",
        &[
            ACCOUNT,
            TOKEN,
            AMOUNT,
            may(
                "number",
                Number,
                "number of the deposit, above those of the account before it: one that is booked already is refused",
            ),
        ],
        "deposit --account 10000 --token ETH --amount \"1.5 ETH\" --number 1",
    ),
    request(
        "announce-deposit",
        "Announce a deposit that the chain has not confirmed",
        FUNDS,
        "announce-deposit --account 10000 --token ETH --amount \"1.5 ETH\"",
    ),
    request(
        "confirm-deposit",
        "Book an announced deposit",
        FUNDS,
        "confirm-deposit --account 10000 --token ETH --amount \"1.5 ETH\"",
    ),
    request(
        "withdraw",
        "Book a withdrawal of free funds immediately",
        FUNDS,
        "withdraw --account 10000 --token ETH --amount \"1.5 ETH\"",
    ),
    request(
        "settle-withdrawal",
        "Settle a pending withdrawal: it has arrived on the chain",
        &[HASH],
        "settle-withdrawal --hash 0x1b",
    ),
    request(
        SETTLE_ALL,
        "Settle the pending withdrawals, each by itself, and list them",
        &[may(
            "until_ms",
            Number,
            "only those that were pending at this time, as asOfMs of withdrawals; all by default",
        )],
        SETTLE_ALL,
    ),
    request(
        "return-withdrawal",
        "Return a pending withdrawal to its account",
        &[HASH],
        "return-withdrawal --hash 0x1b",
    ),
    request(
        "approve-hash",
        "Register a hash that an owner approved on the chain",
        &[ACCOUNT, HASH],
        "approve-hash --account 10000 --hash 0x1b",
    ),
    request(
        "freeze",
        "Freeze an account: it can only cancel orders",
        &[ACCOUNT],
        "freeze --account 10000",
    ),
    request(
        "thaw",
        "Unfreeze an account",
        &[ACCOUNT],
        "thaw --account 10000",
    ),
    request(
        "list-token",
        "List a token, or a delisted one again",
        &[
            need("token", Number, "its number"),
            need("symbol", Text, "its symbol"),
            may("name", Text, "name of the token; the symbol by default"),
            need(
                "address",
                Address,
                "address of the contract; zero for the chain's native coin",
            ),
            need("decimals", Number, "decimals of the base unit"),
            may("precision", Number, "significant decimals; all by default"),
            need("minimum", Amount, "smallest order"),
            need("maximum", Amount, "largest order"),
            need(
                "dust",
                Amount,
                "an order with a smaller remainder counts as filled",
            ),
            may(
                "fast_withdraw_limit",
                Amount,
                "largest fast withdrawal; the largest order by default",
            ),
        ],
        "list-token --token 5 --symbol XYZ --address 0x00000000000000000000000000000000000000a5 --decimals 6 --minimum \"0.001 XYZ\" --maximum \"1000000 XYZ\" --dust \"0.0001 XYZ\"",
    ),
    request(
        "delist-token",
        "Delist a token that no market and no pool uses",
        &[TOKEN],
        "delist-token --token XYZ",
    ),
    request(
        "open-token",
        "Open a token for new orders",
        &[TOKEN],
        "open-token --token ETH",
    ),
    request(
        "close-token",
        "Close a token for new orders",
        &[TOKEN],
        "close-token --token ETH",
    ),
    request(
        "list-market",
        "List a market, or a delisted one again",
        &[
            MARKET,
            need("base", Token, "base token"),
            need("quote", Token, "quote token"),
            may("price_decimals", Number, "decimals of prices; 2 by default"),
            may(
                "aggregation_levels",
                Number,
                "coarsest level of depth; 3 by default",
            ),
            may(
                "maker_fee_bips",
                Number,
                "maker fee in ten-thousandths; 0 by default",
            ),
            may(
                "taker_fee_bips",
                Number,
                "taker fee in ten-thousandths; 10 by default",
            ),
        ],
        "list-market --market XYZ-USDC --base XYZ --quote USDC --price-decimals 4",
    ),
    request(
        "delist-market",
        "Delist a market that no pool uses: its orders are cancelled",
        &[MARKET],
        "delist-market --market XYZ-USDC",
    ),
    request(
        "open-market",
        "Open a market for new orders",
        &[MARKET],
        "open-market --market ETH-USDC",
    ),
    request(
        "close-market",
        "Close a market for new orders",
        &[MARKET],
        "close-market --market ETH-USDC",
    ),
    request(
        "set-fees",
        "Change the fees of a market",
        &[
            MARKET,
            need("maker_fee_bips", Number, "maker fee in ten-thousandths"),
            need("taker_fee_bips", Number, "taker fee in ten-thousandths"),
        ],
        "set-fees --market ETH-USDC --maker-fee-bips 0 --taker-fee-bips 10",
    ),
    request(
        "list-pool",
        "List a pool and its LP token",
        &[
            need(
                "name",
                Text,
                "name such as AMM-BASE-QUOTE; part of what wallets sign",
            ),
            POOL,
            need("base", Token, "base token"),
            need("quote", Token, "quote token"),
            need("lp", Number, "number of the LP token"),
            may(
                "lp_symbol",
                Text,
                "symbol of the LP token; LP-BASE-QUOTE by default",
            ),
            may(
                "fee_bips",
                Number,
                "swap fee in ten-thousandths; 20 by default",
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
    request(
        "delist-pool",
        "Delist a pool: it accepts exits only",
        &[POOL],
        "delist-pool --pool 0x00000000000000000000000000000000000000bb",
    ),
    request(
        "set-pool",
        "Change what a pool accepts and its fees; absent fields keep their values",
        &[
            POOL,
            may("exits", Flag, "whether the pool accepts exits"),
            may("joins", Flag, "whether the pool accepts joins"),
            may("swaps", Flag, "whether the pool accepts swaps"),
            may("shown", Flag, "whether the pool is in the list of pools"),
            may("fee_bips", Number, "swap fee in ten-thousandths"),
            may("join_fee", Amount, "fee of a join in the quote token"),
            may("exit_fee", Amount, "fee of an exit in the quote token"),
        ],
        "set-pool --pool 0x00000000000000000000000000000000000000bb --swaps false",
    ),
    request(
        "join-pool",
        "Book a join that was made on the chain",
        &[
            HASH,
            ACCOUNT,
            POOL,
            need("base_amount", Amount, "most base tokens to join"),
            need("quote_amount", Amount, "most quote tokens to join"),
        ],
        "join-pool --hash 0x1b --account 10000 --pool 0x00000000000000000000000000000000000000bb --base-amount \"1 ETH\" --quote-amount \"2500 USDC\"",
    ),
    request(
        EXIT_POOL,
        "Redeem a part of the pool shares that belong to the exchange; its tokens go to the account that founded the pool",
        &[
            ACCOUNT,
            POOL,
            need(
                "percent",
                Number,
                "how many of a hundred of the shares, 1 to 100",
            ),
        ],
        "exit-pool --account 900000 --pool 0x00000000000000000000000000000000000000bb --percent 90",
    ),
    request(
        "set-service-fees",
        "Change the fees of transfers, withdrawals and key updates; absent tables keep their values",
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
                "NAME=AMOUNT for each fee of the chain; for display only",
            ),
            may(
                "same_token",
                Flag,
                "whether fees are paid in the transferred token",
            ),
        ],
        "set-service-fees --transfer \"USDC=0.1 USDC\" --transfer \"ETH=0.00004 ETH\"",
    ),
    request(
        "set-account-opening",
        "Change the minimum of transfers that open an account; absent fields keep their values",
        &[
            may(
                "order_minimum",
                Flag,
                "whether the amount must reach the minimum order of a traded token",
            ),
            may(
                "fee",
                Amounts,
                "TOKEN=AMOUNT for each token that pays, in addition to the transfer's own fee",
            ),
            may(
                "reserved",
                Number,
                "accounts below accounts_max that are reserved for the operator",
            ),
        ],
        "set-account-opening --order-minimum true --fee \"USDC=1 USDC\" --reserved 5000",
    ),
    request(
        "set-price-band",
        "Set a market's price band around a reference price",
        &[
            MARKET,
            need(
                "bips",
                Number,
                "half the band's width in ten-thousandths of the reference; 0 removes the band",
            ),
            may(
                "window_s",
                Number,
                "shortest time between two updates of the reference from the book, in seconds; 300 by default",
            ),
            may(
                "reference",
                Text,
                "first reference price; required unless bips is 0",
            ),
        ],
        "set-price-band --market ETH-USDC --bips 1000 --reference 2500.00",
    ),
    request(
        "set-limits",
        "Change limits; absent fields keep their values",
        &[
            may("open_orders_max", Number, "most open orders of one account"),
            may(
                "history_orders_max",
                Number,
                "most finished orders kept for each account",
            ),
            may(
                "internal_history_orders_max",
                Number,
                "most finished orders kept for each simulated trader",
            ),
            may("orders_page", Number, "default entries on a page of a list"),
            may(
                "orders_page_max",
                Number,
                "most entries on a page of a list",
            ),
            may("depth_levels", Number, "default levels per side of a depth"),
            may(
                "depth_levels_max",
                Number,
                "most levels per side of a depth",
            ),
            may(
                "open_submissions_max",
                Number,
                "most unsettled submissions of one account",
            ),
            may(
                "history_submissions_max",
                Number,
                "most finished submissions kept for each account",
            ),
            may("accounts_max", Number, "accounts"),
            may("log_max", Number, "most entries of the operator's log"),
            may(
                "approved_hashes_max",
                Number,
                "most approved hashes that are not used yet",
            ),
        ],
        "set-limits --open-orders-max 200",
    ),
    request(
        "set-delays",
        "Change delays; absent fields keep their values",
        &[
            may(
                "order_ms",
                Number,
                "milliseconds between accepting an order and matching it",
            ),
            may(
                "cancel_ms",
                Number,
                "milliseconds between accepting a cancel and executing it",
            ),
            may(
                "received_ms",
                Number,
                "milliseconds for which a submission is in the state received",
            ),
            may(
                "processing_ms",
                Number,
                "milliseconds for which it is then in the state processing",
            ),
            may(
                "late_failures_permille",
                Number,
                "how many of a thousand delayed orders fail",
            ),
            may("seed", Number, "seed of the random choice of failures"),
        ],
        "set-delays --order-ms 500 --late-failures-permille 10",
    ),
    request(
        "set-mode",
        "Open, restrict or halt the exchange",
        &[need(
            "mode",
            Word(&crate::admin::request_fields::MODES),
            "what the exchange accepts",
        )],
        "set-mode --mode cancel-only",
    ),
    request(
        "fault-answer",
        "Inject a fault: refuse the next requests of a kind with a code",
        &[REQUEST, need("code", Number, "the code"), COUNT],
        "fault-answer --request submit --code 102014 --count 3",
    ),
    request(
        "fault-late",
        "Inject a fault: accept the next requests of a kind, which fail later",
        &[
            REQUEST,
            may(
                "after_ms",
                Number,
                "milliseconds until the failure; 0 by default",
            ),
            COUNT,
        ],
        "fault-late --request withdraw --after-ms 2000",
    ),
    request(
        "clear-faults",
        "Remove the injected faults that have not occurred yet",
        &[],
        "clear-faults",
    ),
    look(
        "status",
        "Show mode, time, open orders, fees and limits of the exchange",
        &[],
        "status",
    ),
    look(
        "account",
        "Show an account and its balances",
        &[ACCOUNT],
        "account --account 10000",
    ),
    look(
        "submission",
        "Show the state of a transfer, withdrawal, key update, join or exit",
        &[ACCOUNT, HASH],
        "submission --account 10000 --hash 0x1b",
    ),
    look(
        "withdrawals",
        "Show the pending withdrawals, oldest first: what has to be paid on the chain, and to which address",
        &[],
        "withdrawals",
    ),
    look("tokens", "Show every listed token", &[], "tokens"),
    look("pools", "Show every listed pool", &[], "pools"),
    look(
        "audit",
        "Check that the books add up, and show what was checked",
        &[],
        "audit",
    ),
    look(
        "log",
        "Show the operator's requests, newest first",
        &[
            may("limit", Number, "number of entries; 50 by default"),
            may("offset", Number, "entries skipped"),
        ],
        "log --limit 10",
    ),
];
