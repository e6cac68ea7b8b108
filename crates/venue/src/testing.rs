//! A small venue for tests: two markets, three accounts, orders with default fields.

use cambist_core::order::FillBy;
use cambist_core::{
    Amount, Hash, MarketId, OrderKind, OrderStatus, Price, Reason, Side, TokenId, TokenSpec,
    VenueTime,
};

use crate::{
    AccountId, ApiKeyDigest, Caller, KeyEpoch, Limits, MarketConfig, NewOrder, Operator, PublicKey,
    Refusal, Request, Response, Submitted, TokenConfig, TokenKind, Venue, VenueConfig,
};

pub(crate) const BASE: TokenId = TokenId(0);
pub(crate) const QUOTE: TokenId = TokenId(1);
pub(crate) const OTHER: TokenId = TokenId(2);
/// A listed token without a market.
pub(crate) const LONELY: TokenId = TokenId(3);
pub(crate) const MARKET: MarketId = MarketId(0);
pub(crate) const ALICE: AccountId = AccountId(10);
pub(crate) const BOB: AccountId = AccountId(11);
pub(crate) const CAROL: AccountId = AccountId(12);
pub(crate) const FEES: AccountId = AccountId(0);
/// One whole base token.
pub(crate) const ONE: Amount = 1_000_000_000_000_000_000;
/// One whole quote token.
pub(crate) const UNIT: Amount = 1_000_000;
/// Start time of tests, in seconds.
pub(crate) const START_S: u64 = 1_700_000_000;

/// A digest for the key with this text.
pub(crate) fn api_key(text: &str) -> ApiKeyDigest {
    let mut digest = [0; 32];
    digest[..text.len()].copy_from_slice(text.as_bytes());
    ApiKeyDigest(digest)
}

pub(crate) fn token(id: TokenId, symbol: &str, decimals: u8, minimum: Amount) -> TokenConfig {
    TokenConfig {
        spec: TokenSpec {
            id,
            symbol: symbol.to_owned(),
            decimals,
            precision: 6,
            minimum,
            maximum: minimum * 1_000_000,
            dust: minimum / 10,
            enabled: true,
        },
        name: symbol.to_owned(),
        address: [u8::try_from(id.0).unwrap_or(0); 20],
        kind: TokenKind::Erc20,
        fast_withdraw_limit: 0,
    }
}

/// Tokens of 18 and 6 decimals with prices in cents, and a second market with another base token.
pub(crate) fn config() -> VenueConfig {
    let market = |name: &str, base| MarketConfig {
        name: name.to_owned(),
        base,
        quote: QUOTE,
        price_decimals: 2,
        aggregation_levels: 3,
        enabled: true,
        maker_fee_bips: 2,
        taker_fee_bips: 10,
        price_band: None,
        fee_in: cambist_core::venue::FeeToken::Bought,
    };
    VenueConfig {
        chain_id: 1,
        exchange: [7; 20],
        deposit: [8; 20],
        tokens: vec![
            token(BASE, "AAA", 18, ONE / 1_000),
            token(QUOTE, "QQQ", 6, UNIT),
            token(OTHER, "BBB", 18, ONE / 1_000),
            token(LONELY, "LLL", 18, ONE),
        ],
        markets: vec![market("AAA-QQQ", BASE), market("BBB-QQQ", OTHER)],
        limits: Limits {
            open_orders_max: 40,
            history_orders_max: 30,
            ..Limits::default()
        },
        fee_collector: FEES,
        fee_collector_owner: [9; 20],
        first_account: AccountId(10),
        compat: crate::Compat::Both,
        ..VenueConfig::default()
    }
}

/// A venue with a manual clock.
pub(crate) struct World {
    pub venue: Venue,
    pub now: VenueTime,
    next: u64,
}

impl World {
    pub fn new() -> Self {
        Self::with(config())
    }

    /// Three accounts with 1,000 of each base and 1,000,000 of quote.
    pub fn with(config: VenueConfig) -> Self {
        let mut world = Self {
            venue: Venue::new(config).expect("a sound configuration"),
            now: VenueTime::from_s(START_S),
            next: 0,
        };
        for account in [ALICE, BOB, CAROL] {
            world.operate(Operator::CreateAccount {
                id: None,
                owner: [u8::try_from(account.0).unwrap_or(0); 20],
                public_key: PublicKey::default(),
                api_key: Some(api_key(&format!("key of {}", account.0))),
                internal: false,
            });
            for (token, amount) in [
                (BASE, 1_000 * ONE),
                (OTHER, 1_000 * ONE),
                (QUOTE, 1_000_000 * UNIT),
            ] {
                world.operate(Operator::Deposit {
                    account,
                    token,
                    amount,
                });
            }
        }
        world
    }

    /// Sends a request and audits the books.
    pub fn ask(&mut self, caller: &Caller, request: &Request) -> Result<Response, Refusal> {
        let answer = self.venue.handle(self.now, caller, request);
        assert_eq!(self.venue.audit(), Ok(()), "after {request:?}");
        answer
    }

    /// Sends a request that must be refused; returns the reason.
    pub fn refused(&mut self, caller: &Caller, request: &Request) -> Reason {
        let before = self.venue.clone();
        let refusal = self.ask(caller, request).expect_err("a refusal");
        assert!(self.venue == before, "a refusal changed something");
        refusal.reason
    }

    pub fn operate(&mut self, input: Operator) {
        self.ask(&Caller::Operator, &Request::Operator(input))
            .expect("the operator's request");
    }

    /// A limit order by base amount, valid for an hour, with a new hash and storage id.
    pub fn order(&mut self, account: AccountId, side: Side, ticks: u64, base: Amount) -> NewOrder {
        let scale = *self.venue.scale(MARKET).expect("the first market");
        let quote = match side {
            // Rounded towards the other side, so that the level is the tick for every base amount.
            Side::Buy => scale.quote_ceil(base, Price(ticks)),
            Side::Sell => scale.quote_floor(base, Price(ticks)),
        }
        .expect("a sum that fits");
        let (sell_token, sell_amount, buy_token, buy_amount, fill_by) = match side {
            Side::Buy => (QUOTE, quote, BASE, base, FillBy::Buy),
            Side::Sell => (BASE, base, QUOTE, quote, FillBy::Sell),
        };
        self.next += 1;
        let mut hash = [0; 32];
        hash[24..].copy_from_slice(&self.next.to_be_bytes());
        NewOrder {
            hash: Hash(hash),
            exchange: [7; 20],
            account,
            storage_id: 2 * self.next,
            sell_token,
            sell_amount,
            buy_token,
            buy_amount,
            fill_by,
            all_or_none: false,
            valid_until_s: self.now.as_s() + 3_600,
            max_fee_bips: 63,
            taker: [0; 20],
            kind: OrderKind::Limit,
            pool: None,
            client_id: None,
        }
    }

    pub fn submit(&mut self, order: &NewOrder) -> Submitted {
        let request = Request::Submit(Box::new(order.clone()));
        match self.ask(&signed(order.account), &request) {
            Ok(Response::Submitted(submitted)) => submitted,
            other => panic!("{other:?} for {order:?}"),
        }
    }

    /// Submits an order made by `order`.
    pub fn place(
        &mut self,
        account: AccountId,
        side: Side,
        ticks: u64,
        base: Amount,
    ) -> (Hash, Submitted) {
        let order = self.order(account, side, ticks, base);
        (order.hash, self.submit(&order))
    }

    pub fn submit_refused(&mut self, order: &NewOrder) -> Reason {
        self.refused(
            &signed(order.account),
            &Request::Submit(Box::new(order.clone())),
        )
    }

    pub fn status(&mut self, account: AccountId, hash: Hash) -> OrderStatus {
        self.view(account, hash).status
    }

    pub fn view(&mut self, account: AccountId, hash: Hash) -> crate::OrderView {
        match self.ask(&signed(account), &Request::Order { account, hash }) {
            Ok(Response::Order(order)) => *order,
            other => panic!("{other:?}"),
        }
    }

    pub fn cancel(&mut self, account: AccountId, hash: Hash) -> Result<Response, Refusal> {
        self.ask(
            &signed(account),
            &Request::Cancel {
                account,
                hash: Some(hash),
                client_id: None,
            },
        )
    }

    pub fn depth(&mut self, level: u64, limit: Option<u64>) -> crate::DepthView {
        let request = Request::Depth {
            market: "AAA-QQQ".to_owned(),
            level,
            limit,
        };
        match self.ask(&Caller::Public, &request) {
            Ok(Response::Depth(depth)) => depth,
            other => panic!("{other:?}"),
        }
    }

    pub fn held(&self, account: AccountId, token: TokenId) -> (Amount, Amount) {
        let balance = self.venue.account(account).map(|a| a.balance(token));
        balance.map_or((0, 0), |balance| (balance.total, balance.locked))
    }
}

/// A caller with API key and signature.
pub(crate) const fn signed(account: AccountId) -> Caller {
    Caller::Account {
        account,
        signed: Some(KeyEpoch(0)),
    }
}
