//! The operator's log as JSON: the name of every request and its fields, named as in the request table; amounts as
//! decimals with their token and in base units. API keys are not in the log. Listed tokens and pools have the same
//! form.

use std::collections::BTreeMap;

use cambist_core::math::decimal;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, Hash, TokenId, TokenSpec};
use cambist_protocol::{Address, code};
use cambist_venue::{
    AccountId, AccountOpening, Fault, FeeSchedule, Limits, LogEntry, MarketConfig, Operator,
    PoolConfig, PoolStatus, PriceBand, TokenConfig, Venue,
};
use serde::Serialize;

use crate::admin::request_fields::{kind_word, mode_word};
use crate::admin::responses;

/// One entry.
#[derive(Serialize)]
pub(super) struct Entry {
    number: u64,
    /// ISO 8601; absent for requests of the configuration file, which are older than the venue's time.
    at: Option<String>,
    /// Milliseconds since the Unix epoch.
    at_ms: u64,
    request: &'static str,
    /// Former name of `request`, for one version.
    wish: &'static str,
    fields: Fields,
}

/// The log.
pub(super) fn log(entries: &[LogEntry], venue: &Venue) -> Vec<Entry> {
    let entry = |entry: &LogEntry| {
        let mut fields = Shown::new(venue);
        let request = fields.of(&entry.request);
        Entry {
            number: entry.number,
            at: (entry.at.0 > 0).then(|| responses::iso(entry.at)),
            at_ms: entry.at.0,
            request,
            wish: request,
            fields: fields.fields,
        }
    };
    entries.iter().map(entry).collect()
}

/// Listed tokens, with the fields of the request that lists them.
pub(super) fn tokens(venue: &Venue) -> Vec<Fields> {
    let token = |token: &TokenConfig| {
        let mut fields = Shown::new(venue);
        fields.token_config(token);
        fields.flag("enabled", token.spec.enabled);
        fields.fields
    };
    venue.config().tokens.iter().map(token).collect()
}

/// Pools, with the fields of the request that lists them.
pub(super) fn pools(pools: &[PoolConfig], venue: &Venue) -> Vec<Fields> {
    let pool = |pool: &PoolConfig| {
        let mut fields = Shown::new(venue);
        fields.pool_config(pool);
        fields.fields
    };
    pools.iter().map(pool).collect()
}

/// What the exchange applies of the settings that requests change, with the fields of those requests.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Settings {
    market_fees: BTreeMap<String, Fields>,
    service_fees: Fields,
    account_opening: Fields,
    limits: Fields,
}

impl Settings {
    pub fn of(venue: &Venue) -> Self {
        let shown = |show: &dyn Fn(&mut Shown<'_>)| {
            let mut fields = Shown::new(venue);
            show(&mut fields);
            fields.fields
        };
        let config = venue.config();
        let market_fees = venue.listed_markets().map(|(_, market)| {
            let fees = shown(&|fields| {
                fields.number("maker_fee_bips", market.maker_fee_bips);
                fields.number("taker_fee_bips", market.taker_fee_bips);
            });
            (market.name.clone(), fees)
        });
        Self {
            market_fees: market_fees.collect(),
            service_fees: shown(&|fields| fields.service_fees(&config.fees)),
            account_opening: shown(&|fields| fields.account_opening(&config.opening)),
            limits: shown(&|fields| fields.limits(&config.limits)),
        }
    }
}

/// All values that a request sets, those included that it keeps because they were not given; `None` for other requests.
pub(super) fn set_by(request: &Operator, venue: &Venue) -> Option<Fields> {
    let mut fields = Shown::new(venue);
    fields
        .of(request)
        .starts_with("set-")
        .then_some(fields.fields)
}

pub(super) type Fields = BTreeMap<String, Shape>;

/// A JSON value of a field.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Shape {
    Number(u64),
    Flag(bool),
    Text(String),
}

/// Fields of a request, and the venue with its tokens.
struct Shown<'a> {
    fields: Fields,
    venue: &'a Venue,
}

impl<'a> Shown<'a> {
    const fn new(venue: &'a Venue) -> Self {
        let fields = Fields::new();
        Self { fields, venue }
    }

    fn number(&mut self, name: &str, value: impl Into<u64>) {
        self.fields
            .insert(name.to_owned(), Shape::Number(value.into()));
    }

    fn flag(&mut self, name: &str, value: bool) {
        self.fields.insert(name.to_owned(), Shape::Flag(value));
    }

    fn text(&mut self, name: &str, value: impl Into<String>) {
        self.fields
            .insert(name.to_owned(), Shape::Text(value.into()));
    }

    fn account(&mut self, account: AccountId) {
        self.number("account", account.0);
    }

    fn hash(&mut self, hash: Hash) {
        self.text("hash", hash.to_string());
    }

    fn pool(&mut self, address: [u8; 20]) {
        self.text("pool", Address(address).to_string());
    }

    fn token(&mut self, name: &str, token: TokenId) {
        let symbol = self
            .venue
            .token(token)
            .map(|found| found.spec.symbol.clone());
        self.text(name, symbol.unwrap_or_else(|| token.0.to_string()));
    }

    /// An amount such as `1.5 ETH`, and a second field with base units.
    fn amount(&mut self, name: &str, token: TokenId, amount: Amount) {
        let listed = self.venue.token(token).map(|found| found.spec.clone());
        self.amount_of(name, listed.as_ref(), amount);
    }

    fn amount_of(&mut self, name: &str, token: Option<&TokenSpec>, amount: Amount) {
        let text = token.map_or_else(
            || format!("{amount} base units"),
            |token| token.text(amount),
        );
        self.text(name, text);
        self.text(&format!("{name}_units"), amount.to_string());
    }

    fn funds(&mut self, account: AccountId, token: TokenId, amount: Amount) {
        self.account(account);
        self.token("token", token);
        self.amount("amount", token, amount);
    }

    /// Amounts by token.
    fn table(&mut self, name: &str, amounts: &SortedMap<TokenId, Amount>) {
        for (token, amount) in amounts {
            let listed = self.venue.token(*token);
            let symbol = listed.map_or_else(|| token.0.to_string(), |t| t.spec.symbol.clone());
            self.amount(&format!("{name} {symbol}"), *token, *amount);
        }
    }

    /// Returns the request's name and records its fields.
    fn of(&mut self, request: &Operator) -> &'static str {
        match request {
            Operator::CreateAccount { id, owner, .. } => {
                if let Some(id) = id {
                    self.account(*id);
                }
                self.text("owner", Address(*owner).to_string());
                "create-account"
            }
            Operator::Deposit {
                account,
                token,
                amount,
            } => {
                self.funds(*account, *token, *amount);
                "deposit"
            }
            Operator::DepositOnce {
                account,
                token,
                amount,
                number,
            } => {
                self.funds(*account, *token, *amount);
                self.number("number", *number);
                "deposit"
            }
            Operator::Withdraw {
                account,
                token,
                amount,
            } => {
                self.funds(*account, *token, *amount);
                "withdraw"
            }
            Operator::AnnounceDeposit {
                account,
                token,
                amount,
            } => {
                self.funds(*account, *token, *amount);
                "announce-deposit"
            }
            Operator::ConfirmDeposit {
                account,
                token,
                amount,
            } => {
                self.funds(*account, *token, *amount);
                "confirm-deposit"
            }
            Operator::SettleWithdrawal { hash } => {
                self.hash(*hash);
                "settle-withdrawal"
            }
            Operator::SettleWithdrawals => "settle-withdrawals",
            Operator::ReturnWithdrawal { hash } => {
                self.hash(*hash);
                "return-withdrawal"
            }
            Operator::ApproveHash { account, hash } => {
                self.account(*account);
                self.hash(*hash);
                "approve-hash"
            }
            Operator::Freeze { account, frozen } => {
                self.account(*account);
                if *frozen { "freeze" } else { "thaw" }
            }
            other => self.of_listing(other),
        }
    }

    /// Requests for tokens, markets and pools.
    fn of_listing(&mut self, request: &Operator) -> &'static str {
        match request {
            Operator::EnableToken { token, enabled } => {
                self.token("token", *token);
                if *enabled {
                    "open-token"
                } else {
                    "close-token"
                }
            }
            Operator::ListToken(token) => {
                self.token_config(token);
                "list-token"
            }
            Operator::DelistToken { token } => {
                self.token("token", *token);
                "delist-token"
            }
            Operator::EnableMarket { market, enabled } => {
                self.text("market", market);
                if *enabled {
                    "open-market"
                } else {
                    "close-market"
                }
            }
            Operator::ListMarket(market) => {
                self.market_config(market);
                "list-market"
            }
            Operator::DelistMarket { market } => {
                self.text("market", market);
                "delist-market"
            }
            Operator::SetFees {
                market,
                maker_fee_bips,
                taker_fee_bips,
            } => {
                self.text("market", market);
                self.number("maker_fee_bips", *maker_fee_bips);
                self.number("taker_fee_bips", *taker_fee_bips);
                "set-fees"
            }
            Operator::SetPriceBand { market, band, .. } => {
                self.text("market", market);
                self.price_band(market, band.as_ref());
                "set-price-band"
            }
            Operator::ListPool(listing) => {
                self.pool_config(&listing.pool);
                "list-pool"
            }
            Operator::DelistPool { pool } => {
                self.pool(*pool);
                "delist-pool"
            }
            Operator::SetPool {
                pool,
                status,
                fee_bips,
                join_fee,
                exit_fee,
            } => {
                self.pool(*pool);
                self.pool_terms(
                    self.pooled(*pool),
                    *status,
                    *fee_bips,
                    [*join_fee, *exit_fee],
                );
                "set-pool"
            }
            Operator::JoinPool {
                hash,
                account,
                pool,
                amounts,
            } => {
                self.hash(*hash);
                self.account(*account);
                self.pool(*pool);
                let [base, quote] = self.pooled(*pool);
                self.amount("base_amount", base, amounts[0]);
                self.amount("quote_amount", quote, amounts[1]);
                "join-pool"
            }
            other => self.of_service(other),
        }
    }

    /// Requests for the exchange as a whole.
    fn of_service(&mut self, request: &Operator) -> &'static str {
        match request {
            Operator::SetServiceFees(fees) => {
                self.service_fees(fees);
                "set-service-fees"
            }
            Operator::SetAccountOpening(opening) => {
                self.account_opening(opening);
                "set-account-opening"
            }
            Operator::SetLimits(limits) => {
                self.limits(limits);
                "set-limits"
            }
            Operator::SetDelays(delays) => {
                for (name, value) in [
                    ("order_ms", delays.order_ms),
                    ("cancel_ms", delays.cancel_ms),
                    ("received_ms", delays.received_ms),
                    ("processing_ms", delays.processing_ms),
                    (
                        "late_failures_permille",
                        delays.late_failures_permille.into(),
                    ),
                    ("seed", delays.seed),
                ] {
                    self.number(name, value);
                }
                "set-delays"
            }
            Operator::SetMode(mode) => {
                self.text("mode", mode_word(*mode));
                "set-mode"
            }
            Operator::InjectFault(Fault::Answer {
                kind,
                reason,
                count,
            }) => {
                self.text("request", kind_word(*kind));
                self.number("code", code::number(*reason));
                self.number("count", *count);
                "fault-answer"
            }
            Operator::InjectFault(Fault::FailLate {
                kind,
                after_ms,
                count,
            }) => {
                self.text("request", kind_word(*kind));
                self.number("after_ms", *after_ms);
                self.number("count", *count);
                "fault-late"
            }
            Operator::InjectFault(Fault::Clear) => "clear-faults",
            // Every other kind is handled above; `every_example_of_the_table_is_understood` fails for one that is not.
            _ => "unknown",
        }
    }

    fn token_config(&mut self, token: &TokenConfig) {
        let spec = &token.spec;
        self.number("token", spec.id.0);
        self.text("symbol", &spec.symbol);
        self.text("name", &token.name);
        self.text("address", Address(token.address).to_string());
        self.number("decimals", spec.decimals);
        self.number("precision", spec.precision);
        self.amount_of("minimum", Some(spec), spec.minimum);
        self.amount_of("maximum", Some(spec), spec.maximum);
        self.amount_of("dust", Some(spec), spec.dust);
        let limit = token.fast_withdraw_limit;
        self.amount_of("fast_withdraw_limit", Some(spec), limit);
    }

    fn market_config(&mut self, market: &MarketConfig) {
        self.text("market", &market.name);
        self.token("base", market.base);
        self.token("quote", market.quote);
        self.number("price_decimals", market.price_decimals);
        self.number("maker_fee_bips", market.maker_fee_bips);
        self.number("taker_fee_bips", market.taker_fee_bips);
        self.number("aggregation_levels", market.aggregation_levels);
    }

    fn price_band(&mut self, market: &str, band: Option<&PriceBand>) {
        let Some(band) = band else {
            return self.number("bips", 0_u64);
        };
        self.number("bips", band.bips);
        self.number("window_s", band.window_s);
        let mut listed = self.venue.config().markets.iter();
        let reference = listed.find(|listed| listed.name == market).map_or_else(
            || format!("{} ticks", band.reference.0),
            |listed| decimal(band.reference.0.into(), listed.price_decimals),
        );
        self.text("reference", reference);
    }

    fn pool_config(&mut self, pool: &PoolConfig) {
        self.text("name", &pool.name);
        self.pool(pool.address);
        self.token("base", pool.pooled[0]);
        self.token("quote", pool.pooled[1]);
        self.token("lp", pool.lp);
        self.number("price_precision", pool.price_precision);
        self.number("amount_precision", pool.amount_precision);
        let fees = [pool.join_fee, pool.exit_fee];
        self.pool_terms(pool.pooled, pool.status, pool.fee_bips, fees);
    }

    /// Both tokens of a pool.
    fn pooled(&self, pool: [u8; 20]) -> [TokenId; 2] {
        let unknown = [TokenId(u16::MAX); 2];
        self.venue.pool(&pool).map_or(unknown, |pool| pool.pooled)
    }

    fn pool_terms(
        &mut self,
        pooled: [TokenId; 2],
        status: PoolStatus,
        fee_bips: u16,
        fees: [Amount; 2],
    ) {
        for (name, bit) in [
            ("exits", PoolStatus::EXIT),
            ("joins", PoolStatus::JOIN),
            ("swaps", PoolStatus::SWAP),
            ("shown", PoolStatus::SHOWN),
        ] {
            self.flag(name, status.has(bit));
        }
        self.number("fee_bips", fee_bips);
        self.amount("join_fee", pooled[1], fees[0]);
        self.amount("exit_fee", pooled[1], fees[1]);
    }

    fn account_opening(&mut self, opening: &AccountOpening) {
        self.flag("order_minimum", opening.order_minimum);
        self.number("reserved", opening.reserved);
        self.table("fee", &opening.fee);
    }

    fn limits(&mut self, limits: &Limits) {
        for (name, limit) in [
            ("open_orders_max", limits.open_orders_max),
            ("history_orders_max", limits.history_orders_max),
            (
                "internal_history_orders_max",
                limits.internal_history_orders_max,
            ),
            ("orders_page", limits.orders_page),
            ("orders_page_max", limits.orders_page_max),
            ("depth_levels", limits.depth_levels),
            ("depth_levels_max", limits.depth_levels_max),
            ("open_submissions_max", limits.open_submissions_max),
            ("history_submissions_max", limits.history_submissions_max),
            ("accounts_max", limits.accounts_max),
            ("log_max", limits.log_max),
            ("approved_hashes_max", limits.approved_hashes_max),
        ] {
            self.number(name, limit);
        }
    }

    fn service_fees(&mut self, fees: &FeeSchedule) {
        for (name, table) in [
            ("transfer", &fees.transfer),
            ("withdrawal", &fees.withdrawal),
            ("update", &fees.update),
        ] {
            self.table(name, table);
        }
        for (name, amount) in &fees.onchain {
            self.text(&format!("onchain {name}"), amount.to_string());
        }
        self.flag("same_token", fees.same_token);
    }
}
