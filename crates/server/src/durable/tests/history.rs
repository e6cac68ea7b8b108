//! Random inputs from a seed, and the states that they lead to.

use std::borrow::Cow;

use cambist_core::order::FillBy;
use cambist_core::{Hash, OrderKind, Reason, TokenId, TokenSpec, VenueTime};
use cambist_venue::RequestKind;
use cambist_venue::agents::{Agents, AgentsConfig};
use cambist_venue::{
    AccountId, Caller, Compat, Fault, Limits, MarketConfig, NewOrder, Operator, PublicKey, Random,
    Request, TokenConfig, TokenKind, Venue, VenueConfig,
};

use crate::state::{Answers, Entry, State};

const ONE: u128 = 1_000_000_000_000_000_000;

/// An exchange with one market and no accounts.
pub fn venue() -> Venue {
    let token = |id: u16, symbol: &str, decimals, minimum: u128| TokenConfig {
        spec: TokenSpec {
            id: TokenId(id),
            symbol: symbol.to_owned(),
            decimals,
            precision: 6,
            minimum,
            maximum: minimum * 1_000_000,
            dust: minimum / 10,
            enabled: true,
        },
        name: symbol.to_owned(),
        address: [1; 20],
        kind: TokenKind::Erc20,
        fast_withdraw_limit: 0,
    };
    Venue::new(VenueConfig {
        chain_id: 1,
        exchange: [7; 20],
        deposit: [8; 20],
        tokens: vec![token(0, "AAA", 18, ONE / 1_000), token(1, "QQQ", 6, 1_000)],
        markets: vec![MarketConfig {
            name: "AAA-QQQ".to_owned(),
            base: TokenId(0),
            quote: TokenId(1),
            price_decimals: 2,
            aggregation_levels: 3,
            enabled: true,
            maker_fee_bips: 2,
            taker_fee_bips: 10,
            price_band: None,
            fee_in: cambist_core::venue::FeeToken::Bought,
        }],
        limits: Limits::default(),
        fee_collector: AccountId(0),
        fee_collector_owner: [9; 20],
        first_account: AccountId(10),
        compat: Compat::Both,
        ..VenueConfig::default()
    })
    .unwrap()
}

/// An exchange with funded simulated traders.
pub fn crowded(seed: u64) -> State {
    let mut venue = venue();
    let market = venue.market_id("AAA-QQQ").unwrap();
    let config = AgentsConfig::calm(seed, market, cambist_core::Price(250_000), ONE / 4);
    let accounts: Vec<_> = (1_000..).take(config.accounts()).map(AccountId).collect();
    for input in Agents::setup(&config, &accounts, &venue) {
        venue
            .handle(VenueTime(0), &Caller::Operator, &input)
            .unwrap();
    }
    State::new(venue, vec![Agents::new(config, &accounts)])
}

/// The next input.
#[derive(Clone, Debug)]
pub enum Happening {
    /// A request.
    Asked(Caller, Box<Request>),
    /// Time passes.
    Passed,
}

/// A source of random inputs.
pub struct Source {
    pub random: Random,
    now: VenueTime,
    made: u64,
}

impl Source {
    pub const fn new(random: Random) -> Self {
        Self {
            random,
            now: VenueTime(1_700_000_000_000),
            made: 0,
        }
    }

    /// Advances the time.
    pub fn pass_ms(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
    }

    /// The next time and input.
    pub fn next(&mut self) -> (VenueTime, Happening) {
        self.made += 1;
        self.now = self.now.plus_ms(self.random.below(300));
        let account = AccountId(u32::try_from(10 + self.random.below(4)).unwrap());
        let operator =
            |input| Happening::Asked(Caller::Operator, Box::new(Request::Operator(input)));
        let own = Caller::Account {
            account,
            signed: Some(cambist_venue::KeyEpoch(0)),
        };
        let happening = match self.random.below(12) {
            0 => operator(Operator::CreateAccount {
                id: Some(account),
                owner: [u8::try_from(account.0).unwrap(); 20],
                public_key: PublicKey::default(),
                api_key: None,
                internal: false,
            }),
            1 | 2 => operator(Operator::Deposit {
                account,
                token: TokenId(u16::try_from(self.random.below(2)).unwrap()),
                amount: u128::from(self.random.below(1_000)) * ONE,
            }),
            3 => Happening::Passed,
            4 if self.random.chance(1, 3) => operator(Operator::InjectFault(Fault::Answer {
                kind: RequestKind::Markets,
                reason: Reason::UnknownError,
                count: 2,
            })),
            4 => Happening::Asked(own, Box::new(Request::Markets)),
            5 | 6 => {
                let hash = Some(hash(self.made - self.random.below(20).min(self.made)));
                let client_id = None;
                Happening::Asked(
                    own,
                    Box::new(Request::Cancel {
                        account,
                        hash,
                        client_id,
                    }),
                )
            }
            _ => Happening::Asked(
                own,
                Box::new(Request::Submit(Box::new(self.order(account)))),
            ),
        };
        (self.now, happening)
    }

    fn order(&mut self, account: AccountId) -> NewOrder {
        let cents = u128::from(self.random.between(249_990, 250_010));
        let base = ONE / 100 * u128::from(self.random.between(1, 50));
        let quote = base * cents / 100 * 1_000_000 / ONE;
        let sells = self.random.chance(1, 2);
        let (base, quote) = ((TokenId(0), base), (TokenId(1), quote));
        let (sell, buy) = if sells { (base, quote) } else { (quote, base) };
        NewOrder {
            hash: hash(self.made),
            exchange: [7; 20],
            account,
            storage_id: 2 * self.made,
            sell_token: sell.0,
            sell_amount: sell.1,
            buy_token: buy.0,
            buy_amount: buy.1,
            fill_by: if sells { FillBy::Sell } else { FillBy::Buy },
            all_or_none: false,
            valid_until_s: self.now.as_s() + 60 + self.random.below(10),
            max_fee_bips: 63,
            taker: [0; 20],
            kind: OrderKind::Limit,
            pool: None,
            client_id: None,
        }
    }
}

fn hash(made: u64) -> Hash {
    let mut bytes = [0; 32];
    bytes[24..].copy_from_slice(&made.to_be_bytes());
    Hash(bytes)
}

/// Applies an input to a state; returns what is to be written, if anything, and the digest of the answers.
pub fn happen(
    state: &mut State,
    now: VenueTime,
    happening: &Happening,
) -> Option<(Entry<'static>, Answers)> {
    let mut kept = None;
    let keep = |entry: &Entry<'_>, answers| kept = Some((owned(entry), answers));
    match happening {
        Happening::Asked(caller, request) => {
            let _ = state.ask(now, caller, request, keep);
        }
        Happening::Passed => state.pass(now, keep),
    }
    kept
}

fn owned(entry: &Entry<'_>) -> Entry<'static> {
    match entry {
        Entry::Pass { now } => Entry::Pass { now: *now },
        Entry::Ask {
            now,
            caller,
            request,
        } => Entry::Ask {
            now: *now,
            caller: *caller,
            request: Cow::Owned(request.clone().into_owned()),
        },
        Entry::Step { now, acts } => Entry::Step {
            now: *now,
            acts: Cow::Owned(acts.clone().into_owned()),
        },
    }
}

/// Whether two states are equal except for the time: a read advances the clock and is not written.
pub fn same(left: &State, right: &State) -> bool {
    let later = left.venue.now().max(right.venue.now());
    // Not beyond the next timer, which would change the states.
    let mut left = left.clone();
    let mut right = right.clone();
    left.venue.advance(later);
    right.venue.advance(later);
    left == right
}
