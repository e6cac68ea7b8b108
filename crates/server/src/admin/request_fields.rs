//! Parses the JSON body of an operator request. Absent fields keep their current values where the table allows it; an
//! unknown field is refused, so that a misspelled name does not silently become a default.
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, Hash, Price, Reason, TokenId, TokenSpec};
use cambist_protocol::json::{Json, Object, boolean, integer, text, wide};
use cambist_protocol::wire::{self, TEXT_MAX};
use cambist_protocol::{WireError, code, number};
use cambist_signing::Field;
use cambist_venue::{
    AccountId, Address, ApiKeyDigest, ExchangeMode, Fault, MarketConfig, Operator, PoolConfig,
    PoolListing, PoolStatus, PriceBand, PublicKey, RequestKind, TokenConfig, TokenKind, Venue,
};

use crate::admin::table::OperatorRequest;
use crate::api_keys::{API_KEY_BYTES_MIN, api_key_digest};

/// Decimals of LP tokens, as public clients assume.
const LP_DECIMALS: u8 = 8;

/// Default of the window of a price band, in seconds.
const PRICE_BAND_WINDOW_S: u32 = 300;

/// Keywords of `set-mode`.
pub(super) static MODES: [&str; 4] = ["open", "post-only", "cancel-only", "halted"];

const MODE_OF: [ExchangeMode; 4] = [
    ExchangeMode::Open,
    ExchangeMode::PostOnly,
    ExchangeMode::CancelOnly,
    ExchangeMode::Halted,
];

/// Keywords of the kinds of requests.
pub(super) static KINDS: [&str; 22] = [
    "submit",
    "cancel",
    "order",
    "orders",
    "depth",
    "balances",
    "account",
    "api-key",
    "rotate-api-key",
    "next-storage-id",
    "exchange-info",
    "tokens",
    "markets",
    "transfer",
    "withdraw",
    "update-key",
    "pools",
    "pool-balance",
    "join",
    "exit",
    "pool-transactions",
    "submission",
];

const KIND_OF: [RequestKind; 22] = [
    RequestKind::Submit,
    RequestKind::Cancel,
    RequestKind::Order,
    RequestKind::Orders,
    RequestKind::Depth,
    RequestKind::Balances,
    RequestKind::Account,
    RequestKind::ApiKey,
    RequestKind::RotateApiKey,
    RequestKind::NextStorageId,
    RequestKind::ExchangeInfo,
    RequestKind::Tokens,
    RequestKind::Markets,
    RequestKind::Transfer,
    RequestKind::Withdraw,
    RequestKind::UpdateKey,
    RequestKind::Pools,
    RequestKind::PoolBalance,
    RequestKind::Join,
    RequestKind::Exit,
    RequestKind::PoolTransactions,
    RequestKind::Submission,
];

/// The keyword of a kind of requests.
pub(super) fn kind_word(kind: RequestKind) -> &'static str {
    let mut kinds = KIND_OF.iter().zip(KINDS);
    let found = kinds.find(|(known, _)| **known == kind);
    found.map_or("unknown", |(_, word)| word)
}

/// The keyword of a mode.
pub(super) const fn mode_word(mode: ExchangeMode) -> &'static str {
    match mode {
        ExchangeMode::Open => MODES[0],
        ExchangeMode::PostOnly => MODES[1],
        ExchangeMode::CancelOnly => MODES[2],
        ExchangeMode::Halted => MODES[3],
    }
}

/// Fields of a body, and the exchange that they refer to.
pub(super) struct Fields<'a> {
    object: Object<'a>,
    venue: &'a Venue,
}

type Read<T> = Result<T, WireError>;

impl<'a> Fields<'a> {
    /// Checks the body's field names for `request`.
    pub fn new(request: &OperatorRequest, body: &'a Json, venue: &'a Venue) -> Read<Self> {
        let object = body.object()?;
        if let Json::Object(fields) = body
            && let Some(unknown) = fields.keys().find(|name| {
                !request
                    .fields
                    .iter()
                    .any(|field| field.name == name.as_str())
            })
        {
            return Err(WireError::new("unknown field").within(unknown));
        }
        if request.changes_what_is_given() {
            is_something_asked(request, object)?;
        }
        Ok(Self { object, venue })
    }

    pub fn account(&self) -> Read<AccountId> {
        self.object.required("account", integer).map(AccountId)
    }

    pub fn hash(&self) -> Read<Hash> {
        self.object.required("hash", wire::hash)
    }

    pub fn number_or<T: TryFrom<u128>>(&self, name: &str, otherwise: T) -> Read<T> {
        Ok(self.object.optional(name, integer)?.unwrap_or(otherwise))
    }

    fn number<T: TryFrom<u128>>(&self, name: &str) -> Read<T> {
        self.object.required(name, integer)
    }

    /// Parses an amount of a token with this symbol and these decimals.
    fn amount(&self, name: &str, unit: Unit<'_>) -> Read<Amount> {
        self.object.required(name, |json| units(json, unit))
    }

    fn amount_or(&self, name: &str, unit: Unit<'_>, otherwise: Amount) -> Read<Amount> {
        let given = self.object.optional(name, |json| units(json, unit))?;
        Ok(given.unwrap_or(otherwise))
    }

    fn flag_or(&self, name: &str, otherwise: bool) -> Read<bool> {
        Ok(self.object.optional(name, boolean)?.unwrap_or(otherwise))
    }

    fn text(&self, name: &str) -> Read<String> {
        self.object.required(name, |json| text(json, TEXT_MAX))
    }

    fn text_or(&self, name: &str, otherwise: &str) -> Read<String> {
        let found = self.object.optional(name, |json| text(json, TEXT_MAX))?;
        Ok(found.unwrap_or_else(|| otherwise.to_owned()))
    }

    pub fn address(&self, name: &str) -> Read<Address> {
        self.object
            .required(name, wire::address)
            .map(|found| found.0)
    }

    fn coordinate(&self, name: &str) -> Read<[u8; 32]> {
        let found = self.object.optional(name, wire::hash)?;
        Ok(found.map_or([0; 32], |hash| hash.0))
    }

    /// Zero if absent: the owner sets the first key later.
    fn public_key(&self) -> Read<PublicKey> {
        let (x, y) = (
            self.coordinate("public_key_x")?,
            self.coordinate("public_key_y")?,
        );
        if (x, y) != ([0; 32], [0; 32]) {
            let key = cambist_signing::PublicKey {
                x: Field::from_be_bytes(x),
                y: Field::from_be_bytes(y),
            };
            key.check_registrable()
                .map_err(|error| WireError::new(error.to_string()).within("public_key_x"))?;
        }
        Ok(PublicKey { x, y })
    }

    fn token(&self, name: &str) -> Read<TokenId> {
        self.object.required(name, |json| token(json, self.venue))
    }

    fn word<T: Copy>(&self, name: &str, words: &[&str], meanings: &[T]) -> Read<T> {
        self.object.required(name, |json| {
            let word = text(json, TEXT_MAX)?;
            words
                .iter()
                .zip(meanings)
                .find(|(known, _)| **known == word)
                .map(|(_, meaning)| *meaning)
                .ok_or_else(|| WireError::new(format!("{json} is not one of {}", words.join(", "))))
        })
    }

    /// Account, token and amount, which is not zero.
    fn funds(&self) -> Read<(AccountId, TokenId, Amount)> {
        let (account, token) = (self.account()?, self.token("token")?);
        let amount = self.amount("amount", unit_of(self.venue, token))?;
        if amount == 0 {
            return Err(WireError::new("amount is 0"));
        }
        Ok((account, token, amount))
    }

    /// Amounts by token; `None` when the field is absent.
    fn by_token(&self, name: &str) -> Read<Option<SortedMap<TokenId, Amount>>> {
        let key = |name: &str| named_token(name, self.venue);
        self.amounts(name, key, |json, token| {
            units(json, unit_of(self.venue, *token))
        })
    }

    /// Amounts by name; `None` when the field is absent.
    fn amounts<K: Ord, M: FromIterator<(K, Amount)>>(
        &self,
        name: &str,
        key: impl Fn(&str) -> Read<K>,
        read: impl Fn(&Json, &K) -> Read<Amount>,
    ) -> Read<Option<M>> {
        self.object.optional(name, |json| match json {
            Json::Object(fields) => fields
                .iter()
                .map(|(name, amount)| {
                    let key = key(name)?;
                    let amount = read(amount, &key).map_err(|error| error.within(name))?;
                    Ok((key, amount))
                })
                .collect(),
            other => Err(WireError::new(format!("expected an object, found {other}"))),
        })
    }
}

/// An error if the body of a request that changes what is given has none of the fields that change something.
fn is_something_asked(request: &OperatorRequest, object: Object<'_>) -> Read<()> {
    for field in request.optional_fields() {
        if object.optional(field.name, |_| Ok(()))?.is_some() {
            return Ok(());
        }
    }
    let names: Vec<_> = request.optional_fields().map(|field| field.name).collect();
    Err(WireError::new(format!(
        "{} asks for no change: give at least one of the fields {}; absent ones keep their values",
        request.name,
        names.join(", ")
    )))
}

/// Symbol and decimals of a token; `None` if it is not listed.
type Unit<'a> = Option<(&'a str, u8)>;

fn unit_of(venue: &Venue, token: TokenId) -> Unit<'_> {
    let spec = &venue.token(token)?.spec;
    Some((&spec.symbol, spec.decimals))
}

/// Parses base units, or whole tokens with their symbol (`1.5 ETH`), exactly.
fn units(json: &Json, unit: Unit<'_>) -> Read<Amount> {
    let (Json::Text(text), Some((symbol, decimals))) = (json, unit) else {
        return wide(json);
    };
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return wide(json);
    }
    let number = text.strip_suffix(symbol);
    let number = number.and_then(|rest| rest.strip_suffix(' '));
    let units = number.and_then(|number| number::scaled(number, decimals).ok());
    units.ok_or_else(|| {
        WireError::new(format!(
            "{json} is not an amount of {symbol}: write base units, or whole tokens with their symbol, \
             \"1.5 {symbol}\", with at most {decimals} decimals"
        ))
    })
}

/// The amount of a request that books or announces one, as text: base units are easily taken for whole tokens.
pub(super) fn amount_text(operator: &Operator, venue: &Venue) -> Option<String> {
    match operator {
        Operator::Deposit { token, amount, .. }
        | Operator::DepositOnce { token, amount, .. }
        | Operator::Withdraw { token, amount, .. }
        | Operator::AnnounceDeposit { token, amount, .. }
        | Operator::ConfirmDeposit { token, amount, .. } => {
            Some(venue.token(*token)?.spec.text(*amount))
        }
        _ => None,
    }
}

/// The operator input of a request; `None` for a request that only reads.
pub(super) fn operator(request: &OperatorRequest, fields: &Fields<'_>) -> Read<Option<Operator>> {
    Ok(Some(match request.name {
        "create-account" => Operator::CreateAccount {
            id: fields.object.optional("account", integer)?.map(AccountId),
            owner: fields.address("owner")?,
            public_key: fields.public_key()?,
            api_key: fields
                .object
                .optional("api_key", |json| text(json, TEXT_MAX))?
                .map(|key| api_key(&key))
                .transpose()?,
            internal: false,
        },
        "deposit" => {
            let (account, token, amount) = fields.funds()?;
            match fields.number_or("number", 0)? {
                0 => Operator::Deposit {
                    account,
                    token,
                    amount,
                },
                number => Operator::DepositOnce {
                    account,
                    token,
                    amount,
                    number,
                },
            }
        }
        "announce-deposit" => {
            let (account, token, amount) = fields.funds()?;
            Operator::AnnounceDeposit {
                account,
                token,
                amount,
            }
        }
        "confirm-deposit" => {
            let (account, token, amount) = fields.funds()?;
            Operator::ConfirmDeposit {
                account,
                token,
                amount,
            }
        }
        "withdraw" => {
            let (account, token, amount) = fields.funds()?;
            Operator::Withdraw {
                account,
                token,
                amount,
            }
        }
        "settle-withdrawal" => Operator::SettleWithdrawal {
            hash: fields.hash()?,
        },
        "return-withdrawal" => Operator::ReturnWithdrawal {
            hash: fields.hash()?,
        },
        "approve-hash" => Operator::ApproveHash {
            account: fields.account()?,
            hash: fields.hash()?,
        },
        "freeze" | "thaw" => Operator::Freeze {
            account: fields.account()?,
            frozen: request.name == "freeze",
        },
        "list-token" => Operator::ListToken(Box::new(token_config(fields)?)),
        "delist-token" => Operator::DelistToken {
            token: fields.token("token")?,
        },
        "open-token" | "close-token" => Operator::EnableToken {
            token: fields.token("token")?,
            enabled: request.name == "open-token",
        },
        "list-market" => Operator::ListMarket(Box::new(MarketConfig {
            name: fields.text("market")?,
            base: fields.token("base")?,
            quote: fields.token("quote")?,
            price_decimals: fields.number_or("price_decimals", 2)?,
            aggregation_levels: fields.number_or("aggregation_levels", 3)?,
            enabled: true,
            maker_fee_bips: fields.number_or("maker_fee_bips", 0)?,
            taker_fee_bips: fields.number_or("taker_fee_bips", 10)?,
            price_band: None,
            fee_in: cambist_core::venue::FeeToken::Bought,
        })),
        "delist-market" => Operator::DelistMarket {
            market: fields.text("market")?,
        },
        "open-market" | "close-market" => Operator::EnableMarket {
            market: fields.text("market")?,
            enabled: request.name == "open-market",
        },
        "set-fees" => Operator::SetFees {
            market: fields.text("market")?,
            maker_fee_bips: fields.number("maker_fee_bips")?,
            taker_fee_bips: fields.number("taker_fee_bips")?,
        },
        _ => return service(request, fields),
    }))
}

/// Requests for pools, service fees and the exchange as a whole.
fn service(request: &OperatorRequest, fields: &Fields<'_>) -> Read<Option<Operator>> {
    let config = fields.venue.config();
    Ok(Some(match request.name {
        "list-pool" => Operator::ListPool(Box::new(pool_listing(fields)?)),
        "delist-pool" => Operator::DelistPool {
            pool: fields.address("pool")?,
        },
        "set-pool" => set_pool(fields)?,
        "join-pool" => {
            let address = fields.address("pool")?;
            let pool = fields.venue.pool(&address);
            let unit = |at: usize| unit_of(fields.venue, pool?.pooled[at]);
            Operator::JoinPool {
                hash: fields.hash()?,
                account: fields.account()?,
                pool: address,
                amounts: [
                    fields.amount("base_amount", unit(0))?,
                    fields.amount("quote_amount", unit(1))?,
                ],
            }
        }
        "set-service-fees" => set_service_fees(fields)?,
        "set-account-opening" => {
            let mut opening = config.opening.clone();
            opening.order_minimum = fields.flag_or("order_minimum", opening.order_minimum)?;
            opening.reserved = fields.number_or("reserved", opening.reserved)?;
            if let Some(given) = fields.by_token("fee")? {
                opening.fee = given;
            }
            Operator::SetAccountOpening(Box::new(opening))
        }
        "set-price-band" => set_price_band(fields)?,
        "set-limits" => {
            let mut limits = config.limits.clone();
            for (name, limit) in [
                ("open_orders_max", &mut limits.open_orders_max),
                ("history_orders_max", &mut limits.history_orders_max),
                (
                    "internal_history_orders_max",
                    &mut limits.internal_history_orders_max,
                ),
                ("orders_page", &mut limits.orders_page),
                ("orders_page_max", &mut limits.orders_page_max),
                ("depth_levels", &mut limits.depth_levels),
                ("depth_levels_max", &mut limits.depth_levels_max),
                ("open_submissions_max", &mut limits.open_submissions_max),
                (
                    "history_submissions_max",
                    &mut limits.history_submissions_max,
                ),
                ("accounts_max", &mut limits.accounts_max),
                ("log_max", &mut limits.log_max),
                ("approved_hashes_max", &mut limits.approved_hashes_max),
            ] {
                *limit = fields.number_or(name, *limit)?;
            }
            Operator::SetLimits(Box::new(limits))
        }
        "set-delays" => {
            let mut delays = config.delays;
            for (name, delay) in [
                ("order_ms", &mut delays.order_ms),
                ("cancel_ms", &mut delays.cancel_ms),
                ("received_ms", &mut delays.received_ms),
                ("processing_ms", &mut delays.processing_ms),
                ("seed", &mut delays.seed),
            ] {
                *delay = fields.number_or(name, *delay)?;
            }
            delays.late_failures_permille =
                fields.number_or("late_failures_permille", delays.late_failures_permille)?;
            Operator::SetDelays(delays)
        }
        "set-mode" => Operator::SetMode(fields.word("mode", &MODES, &MODE_OF)?),
        "fault-answer" => Operator::InjectFault(Fault::Answer {
            kind: fields.word("request", &KINDS, &KIND_OF)?,
            reason: reason(fields)?,
            count: fields.number_or("count", 1)?,
        }),
        "fault-late" => Operator::InjectFault(Fault::FailLate {
            kind: fields.word("request", &KINDS, &KIND_OF)?,
            after_ms: fields.number_or("after_ms", 0)?,
            count: fields.number_or("count", 1)?,
        }),
        "clear-faults" => Operator::InjectFault(Fault::Clear),
        _ => return Ok(None),
    }))
}

fn api_key(key: &str) -> Read<ApiKeyDigest> {
    if key.len() < API_KEY_BYTES_MIN {
        let what = format!("has fewer than {API_KEY_BYTES_MIN} characters");
        return Err(WireError::new(what).within("api_key"));
    }
    Ok(api_key_digest(key))
}

fn reason(fields: &Fields<'_>) -> Read<Reason> {
    fields.number::<u32>("code").map(code::reason)
}

fn token_config(fields: &Fields<'_>) -> Read<TokenConfig> {
    let (symbol, address) = (fields.text("symbol")?, fields.address("address")?);
    let decimals = fields.number("decimals")?;
    let unit = Some((symbol.as_str(), decimals));
    let maximum = fields.amount("maximum", unit)?;
    Ok(TokenConfig {
        name: fields.text_or("name", &symbol)?,
        kind: if address == [0; 20] {
            TokenKind::Eth
        } else {
            TokenKind::Erc20
        },
        address,
        fast_withdraw_limit: fields.amount_or("fast_withdraw_limit", unit, maximum)?,
        spec: TokenSpec {
            id: TokenId(fields.number("token")?),
            decimals,
            precision: fields.number_or("precision", decimals)?,
            minimum: fields.amount("minimum", unit)?,
            maximum,
            dust: fields.amount("dust", unit)?,
            enabled: true,
            symbol,
        },
    })
}

fn pool_listing(fields: &Fields<'_>) -> Read<PoolListing> {
    let (name, address) = (fields.text("name")?, fields.address("pool")?);
    let lp = TokenId(fields.number("lp")?);
    let symbol = name.replacen("AMM-", "LP-", 1);
    let listed = fields.venue.token(lp).is_some();
    let lp_token = TokenConfig {
        spec: TokenSpec {
            id: lp,
            symbol: fields.text_or("lp_symbol", &symbol)?,
            decimals: LP_DECIMALS,
            precision: LP_DECIMALS,
            minimum: 1,
            maximum: cambist_core::token::AMOUNT_MAX,
            dust: 0,
            enabled: true,
        },
        name: format!("Shares of {name}"),
        address,
        kind: TokenKind::Erc20,
        fast_withdraw_limit: cambist_core::token::AMOUNT_MAX,
    };
    let quote = fields.token("quote")?;
    let unit = unit_of(fields.venue, quote);
    Ok(PoolListing {
        lp: (!listed).then_some(lp_token),
        pool: PoolConfig {
            address,
            pooled: [fields.token("base")?, quote],
            lp,
            fee_bips: fields.number_or("fee_bips", 20)?,
            price_precision: fields.number_or("price_precision", 6)?,
            amount_precision: fields.number_or("amount_precision", 6)?,
            status: PoolStatus::OPEN,
            join_fee: fields.amount_or("join_fee", unit, 0)?,
            exit_fee: fields.amount_or("exit_fee", unit, 0)?,
            name,
        },
    })
}

fn set_pool(fields: &Fields<'_>) -> Read<Operator> {
    let address = fields.address("pool")?;
    let Some(present) = fields.venue.pool(&address) else {
        return Err(WireError::new("no such pool").within("pool"));
    };
    let mut status = 0;
    for (name, bit) in [
        ("exits", PoolStatus::EXIT),
        ("joins", PoolStatus::JOIN),
        ("swaps", PoolStatus::SWAP),
        ("shown", PoolStatus::SHOWN),
    ] {
        if fields.flag_or(name, present.status.has(bit))? {
            status |= bit;
        }
    }
    let unit = unit_of(fields.venue, present.pooled[1]);
    Ok(Operator::SetPool {
        pool: address,
        status: PoolStatus(status),
        fee_bips: fields.number_or("fee_bips", present.fee_bips)?,
        join_fee: fields.amount_or("join_fee", unit, present.join_fee)?,
        exit_fee: fields.amount_or("exit_fee", unit, present.exit_fee)?,
    })
}

fn set_service_fees(fields: &Fields<'_>) -> Read<Operator> {
    let mut fees = fields.venue.config().fees.clone();
    for (name, table) in [
        ("transfer", &mut fees.transfer),
        ("withdrawal", &mut fees.withdrawal),
        ("update", &mut fees.update),
    ] {
        if let Some(given) = fields.by_token(name)? {
            *table = given;
        }
    }
    let chain = fields.amounts("onchain", |name| Ok(name.to_owned()), |json, _| wide(json));
    if let Some(given) = chain? {
        fees.onchain = given;
    }
    fees.same_token = fields.flag_or("same_token", fees.same_token)?;
    Ok(Operator::SetServiceFees(Box::new(fees)))
}

/// A width of 0 removes the band.
fn set_price_band(fields: &Fields<'_>) -> Read<Operator> {
    let market = fields.text("market")?;
    let bips = fields.number("bips")?;
    if bips == 0 {
        return Ok(Operator::SetPriceBand {
            market,
            band: None,
            holds: true,
        });
    }
    let listed = fields.venue.market_id(&market);
    let Some(listed) = listed.and_then(|id| fields.venue.market(id)) else {
        return Err(WireError::new("no such market is listed")
            .within("market")
            .because(Reason::UnsupportedMarket));
    };
    let decimals = listed.price_decimals;
    let reference = number::scaled(&fields.text("reference")?, decimals)
        .ok()
        .and_then(|ticks| u64::try_from(ticks).ok())
        .ok_or_else(|| {
            let what = format!("must be a price with at most {decimals} decimals");
            WireError::new(what).within("reference")
        })?;
    let band = PriceBand {
        bips,
        window_s: fields.number_or("window_s", PRICE_BAND_WINDOW_S)?,
        reference: Price(reference),
    };
    Ok(Operator::SetPriceBand {
        market,
        band: Some(band),
        holds: true,
    })
}

/// Parses a token by symbol, or by number if no symbol matches.
fn token(json: &Json, venue: &Venue) -> Read<TokenId> {
    match json {
        Json::Text(name) => named_token(name, venue),
        other => integer(other).map(TokenId),
    }
}

fn named_token(name: &str, venue: &Venue) -> Read<TokenId> {
    let by_symbol = (0..=u16::MAX).map(TokenId).find(|id| {
        venue
            .token(*id)
            .is_some_and(|token| token.spec.symbol == name)
    });
    match by_symbol {
        Some(token) => Ok(token),
        None => integer(&Json::Text(name.to_owned()))
            .map(TokenId)
            .map_err(|_| {
                WireError::new(format!(
                    "\"{}\" is not a listed token",
                    cambist_protocol::number::quoted(name, 48)
                ))
                .because(Reason::UnsupportedToken)
            }),
    }
}
