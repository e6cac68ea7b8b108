//! Random histories: seeded requests of three accounts, valid and invalid, on and off the tick.

use cambist_core::order::FillBy;
use cambist_core::venue::FeeToken;
use cambist_core::{Amount, Hash, OrderKind, Price, Side, TokenId};

use crate::testing::*;
use crate::{
    AccountId, Caller, NewOrder, Operator, OrdersQuery, Random, Request, Venue, VenueConfig,
};

/// Decimals and sizes of a history's tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub base_decimals: u8,
    pub quote_decimals: u8,
    pub center: u64,
    /// Orders are between a thousandth of this and this.
    pub size: Amount,
    pub dust: Amount,
    pub fee_in: FeeToken,
}

/// Many base units per quote unit, as ether against a dollar.
pub(super) const FINE: Style = Style {
    base_decimals: 18,
    quote_decimals: 6,
    center: 250_000,
    size: 20 * ONE,
    dust: 0,
    fee_in: FeeToken::Bought,
};

/// Few units, so that rounding matters often; products fit into 128 bits.
pub(super) const ROUGH: Style = Style {
    base_decimals: 6,
    quote_decimals: 4,
    center: 773,
    size: 2_000_000,
    dust: 0,
    fee_in: FeeToken::Bought,
};

/// As `ROUGH`, with dust.
pub(super) const DUSTY: Style = Style { dust: 900, ..ROUGH };

/// As `ROUGH`, with fees that purchases pay on top of their price.
pub(super) const QUOTE_FEES: Style = Style {
    fee_in: FeeToken::Quote,
    ..ROUGH
};

/// A base unit costs many quote units.
pub(super) const COARSE: Style = Style {
    base_decimals: 2,
    quote_decimals: 6,
    center: 90,
    size: 5_000,
    dust: 3,
    fee_in: FeeToken::Bought,
};

impl Style {
    pub fn config(self) -> VenueConfig {
        let mut config = config();
        for (index, decimals) in [(0, self.base_decimals), (1, self.quote_decimals)] {
            let spec = &mut config.tokens[index].spec;
            spec.decimals = decimals;
            spec.precision = decimals;
            spec.minimum = self.dust.max(1);
            spec.maximum = 1 << 95;
            spec.dust = self.dust;
        }
        for market in &mut config.markets {
            market.fee_in = self.fee_in;
        }
        config
    }

    /// A world whose three accounts have enough funds.
    pub fn world(self) -> World {
        World::with(self.config())
    }
}

/// A generator of random requests.
pub(super) struct RandomHistory {
    style: Style,
    pub random: Random,
    known: Vec<NewOrder>,
    center: u64,
    made: u64,
}

impl RandomHistory {
    pub fn new(style: Style, seed: u64) -> Self {
        Self {
            style,
            random: Random::new(seed),
            known: Vec::new(),
            center: style.center,
            made: 0,
        }
    }

    /// The next request, possibly after some time.
    pub fn next(&mut self, world: &mut World) -> (Caller, Request) {
        if self.random.chance(1, 20) {
            world.now = world.now.plus_ms(self.random.below(4_000));
        }
        let account = self.party();
        let request = match self.random.below(100) {
            0..=64 => return self.submit(account, &world.venue),
            65..=84 => Request::Cancel {
                account,
                hash: self.known_hash(account),
                client_id: None,
            },
            85..=87 if !self.known.is_empty() => {
                let index = self.random.below(self.known.len() as u64);
                let again = self.known[usize::try_from(index).unwrap()].clone();
                return (signed(again.account), Request::Submit(Box::new(again)));
            }
            85..=90 => return (Caller::Operator, Request::Operator(self.input(account))),
            91..=95 => Request::Orders(OrdersQuery::all(account)),
            _ => Request::Depth {
                market: "AAA-QQQ".to_owned(),
                level: self.random.below(4),
                limit: None,
            },
        };
        (signed(account), request)
    }

    fn party(&mut self) -> AccountId {
        [ALICE, BOB, CAROL][usize::try_from(self.random.below(3)).unwrap()]
    }

    /// A hash that the account has used, usually a recent one.
    fn known_hash(&mut self, account: AccountId) -> Option<Hash> {
        let recent = self.known.len().saturating_sub(40);
        let own: Vec<_> = self.known[recent..]
            .iter()
            .filter(|order| order.account == account)
            .map(|order| order.hash)
            .collect();
        let index = self.random.below(own.len() as u64);
        own.get(usize::try_from(index).unwrap()).copied()
    }

    fn input(&mut self, account: AccountId) -> Operator {
        let token = TokenId(u16::try_from(self.random.below(2)).unwrap());
        let amount = Amount::from(self.random.below(1_000_000));
        match self.random.below(6) {
            0 => Operator::Freeze {
                account,
                frozen: self.random.chance(1, 10),
            },
            1 => Operator::EnableMarket {
                market: "AAA-QQQ".to_owned(),
                enabled: self.random.chance(9, 10),
            },
            2 => Operator::EnableToken {
                token,
                enabled: self.random.chance(9, 10),
            },
            3 => Operator::SetFees {
                market: "AAA-QQQ".to_owned(),
                maker_fee_bips: u8::try_from(self.random.below(12)).unwrap(),
                taker_fee_bips: u8::try_from(self.random.below(24)).unwrap(),
            },
            4 => Operator::Withdraw {
                account,
                token,
                amount,
            },
            _ => Operator::Deposit {
                account,
                token,
                amount,
            },
        }
    }

    fn submit(&mut self, account: AccountId, venue: &Venue) -> (Caller, Request) {
        let order = self.order(account, venue);
        self.known.push(order.clone());
        (signed(account), Request::Submit(Box::new(order)))
    }

    fn order(&mut self, account: AccountId, venue: &Venue) -> NewOrder {
        let random = &mut self.random;
        self.center = (self.center + random.below(3)).saturating_sub(1).max(20);
        let scale = venue.scale(MARKET).unwrap();
        let side = Side::BOTH[usize::from(random.chance(1, 2))];
        let price = Price(self.center + random.below(13) - 6);
        let lot = scale.exact_lot(price);
        let wide =
            Amount::from(random.next_u64()) * (self.style.size >> 20).max(1) % self.style.size;
        let base = (wide + self.style.size / 1_000).max(1);
        let base = if random.chance(1, 3) {
            base.next_multiple_of(lot)
        } else {
            base
        };
        let exact = scale.quote_ceil(base, price).unwrap();
        let quote = match random.below(4) {
            0 => exact.saturating_sub(Amount::from(random.below(3))).max(1),
            1 => exact + Amount::from(random.below(50)),
            _ => exact,
        };
        let (sell_token, sell_amount, buy_token, buy_amount) = match side {
            Side::Buy => (QUOTE, quote, BASE, base),
            Side::Sell => (BASE, base, QUOTE, quote),
        };
        let next = venue
            .next_order_storage_id(account, sell_token)
            .map_or(0, u64::from);
        let storage_id = match random.below(20) {
            0 => random.below(60),
            1 => random.below(60) + 16_384 * random.between(1, 20),
            _ => next,
        };
        self.made += 1;
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&self.made.to_be_bytes());
        NewOrder {
            hash: Hash(hash),
            exchange: [7; 20],
            account,
            storage_id,
            sell_token,
            sell_amount,
            buy_token,
            buy_amount,
            fill_by: [FillBy::Buy, FillBy::Sell][usize::from(random.chance(1, 2))],
            all_or_none: random.chance(1, 200),
            valid_until_s: venue.now().as_s().max(START_S) + random.below(60),
            max_fee_bips: random.between(10, 64),
            taker: [0; 20],
            kind: [OrderKind::Limit, OrderKind::MakerOnly, OrderKind::TakerOnly]
                [usize::try_from(random.below(5).saturating_sub(2)).unwrap()],
            pool: None,
            client_id: random
                .chance(1, 3)
                .then(|| format!("c{}", random.below(4_000))),
        }
    }
}
