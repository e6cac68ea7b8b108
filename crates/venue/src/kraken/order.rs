//! New orders.

use std::collections::BTreeSet;

use cambist_core::order::FillBy;
use cambist_core::sorted_map::SortedMap;
use cambist_core::token::AMOUNT_MAX;
use cambist_core::{Amount, Hash, MarketId, OrderKind, Price, Side, TokenId, VenueTime};

use super::{
    EXPIRY_MS, KrakenAdded, KrakenAmend, KrakenError, KrakenOrderType, NewKrakenOrder, OrderFields,
};
use crate::account::AccountId;
use crate::checks::Placement;
use crate::mode::ExchangeMode;
use crate::orders::OrderKey;
use crate::request::{NewOrder, RequestKind};
use crate::scale::Scale;
use crate::venue::{Market, Venue};

/// An order that never expires.
pub(super) const NEVER_S: u32 = u32::MAX;

/// First bytes of the hashes of these orders, which no signature covers.
const HASH_PREFIX: [u8; 8] = *b"kraken\0\0";

/// A checked order, ready for the book.
pub(super) struct Checked {
    order: NewOrder,
    placement: Placement,
}

impl Checked {
    /// Gives it the client order id and the expiry of the order that it continues.
    pub(super) fn keep(&mut self, client_id: Option<String>, expires_s: Option<u32>) {
        let expires_s = expires_s.unwrap_or(NEVER_S);
        self.order.client_id = client_id;
        self.order.valid_until_s = expires_s.into();
        self.placement.valid_until_s = expires_s;
    }
}

/// Which amount has to be a whole number of lots, whose value at the order's level is exact.
#[derive(Clone, Copy, Default)]
pub(super) enum InLots {
    /// What the order is to trade.
    #[default]
    Volume,
    /// The volume that an amend states, with what was filled before. What is left of it may be no whole lots, because
    /// orders of others may be for less than one.
    Stated(Amount),
    /// None: an amend states no volume.
    Nothing,
}

impl InLots {
    pub(super) fn of_amend(amend: &KrakenAmend) -> Self {
        match amend.volume {
            _ if amend.left_in_lots => Self::Volume,
            Some(volume) => Self::Stated(volume),
            None => Self::Nothing,
        }
    }

    /// The value of what is to be traded, rounded so that it may trade at its level.
    pub(super) fn value(
        self,
        scale: &Scale,
        side: Side,
        base: Amount,
        level: Price,
    ) -> Result<Amount, KrakenError> {
        let value = match (self, side) {
            (Self::Volume, _) | (_, Side::Sell) => scale.quote_floor(base, level),
            (Self::Stated(_) | Self::Nothing, Side::Buy) => scale.quote_ceil(base, level),
        };
        value.ok_or(KrakenError::InvalidVolume)
    }

    /// Refuses what is no whole number of lots. `base` is what the order is to trade.
    pub(super) fn check(
        self,
        scale: &Scale,
        base: Amount,
        level: Price,
    ) -> Result<(), KrakenError> {
        let base = match self {
            Self::Volume => base,
            Self::Stated(volume) => volume,
            Self::Nothing => return Ok(()),
        };
        if scale.quote_floor(base, level) == scale.quote_ceil(base, level) {
            Ok(())
        } else {
            Err(KrakenError::InvalidVolume)
        }
    }
}

/// What the checks of an order take into account beside the state.
#[derive(Clone, Copy, Default)]
pub(super) struct Beside<'a> {
    /// The order that it continues, which ends with that.
    pub continues: Option<OrderKey>,
    /// Whether it is refused if it would take now, although it may take later.
    pub posts: bool,
    /// What has to be whole lots.
    pub in_lots: InLots,
    /// Orders of the same request that were only checked.
    pub earlier: Option<&'a Earlier>,
}

/// Orders of a request that were only checked: what they would hold, and where they would rest.
#[derive(Default)]
pub(super) struct Earlier {
    held: SortedMap<TokenId, Amount>,
    open: u32,
    resting: Vec<(MarketId, Side, Price)>,
}

impl Earlier {
    fn add(&mut self, checked: &Checked) {
        let (order, placement) = (&checked.order, &checked.placement);
        let (side, bips) = (placement.side, placement.max_fee_bips);
        let on_top = placement.fee_in.on_top(side, order.sell_amount, bips);
        *self.held.entry(order.sell_token).or_default() += order.sell_amount + on_top;
        if order.kind != OrderKind::TakerOnly {
            self.open += 1;
            self.resting.push((placement.market, side, placement.level));
        }
    }

    fn crosses(&self, market: MarketId, side: Side, level: Price) -> bool {
        let mut resting = self.resting.iter();
        resting.any(|(of, other, price)| {
            *of == market && *other != side && side.reaches(level, *price)
        })
    }
}

impl Venue {
    /// Submits orders of one request. What is wrong with one of them refuses all; what depends on the book and on the
    /// account's funds refuses that one.
    pub(super) fn kraken_add(
        &mut self,
        account: AccountId,
        orders: &[NewKrakenOrder],
        deadline: Option<VenueTime>,
        validate: bool,
    ) -> Result<Vec<Result<KrakenAdded, KrakenError>>, KrakenError> {
        self.check_deadline(deadline)?;
        let published = self.kraken.rules.are_published();
        if published {
            self.check_request(account, orders)?;
        }
        let mut earlier = Earlier::default();
        let mut added = Vec::with_capacity(orders.len());
        for order in orders {
            let beside = Beside {
                earlier: (published && validate).then_some(&earlier),
                ..Beside::default()
            };
            let checked = self.kraken_check(account, order, &beside);
            added.push(checked.map(|checked| {
                if validate {
                    earlier.add(&checked);
                    return KrakenAdded {
                        number: None,
                        trades: Vec::new(),
                    };
                }
                let fields = OrderFields {
                    is_market_order: order.order_type == KrakenOrderType::Market,
                    user_ref: order.user_ref,
                    deadline,
                    ..OrderFields::default()
                };
                self.kraken_enter(&checked, fields)
            }));
        }
        Ok(added)
    }

    /// Refuses a request with an order that could not be accepted whatever is in the book, or with two of one name.
    fn check_request(
        &self,
        account: AccountId,
        orders: &[NewKrakenOrder],
    ) -> Result<(), KrakenError> {
        let mut names = BTreeSet::new();
        for order in orders {
            match self.kraken_check(account, order, &Beside::default()) {
                Err(error) if !error.is_before_matching() => return Err(error),
                Ok(_) | Err(_) => {}
            }
            if let Some(name) = &order.client_id
                && !names.insert(name)
            {
                return Err(KrakenError::DuplicateClientId);
            }
        }
        Ok(())
    }

    /// Puts a checked order into the book.
    pub(super) fn kraken_enter(&mut self, checked: &Checked, fields: OrderFields) -> KrakenAdded {
        let sequence = self.sequence;
        let number = fields.number.unwrap_or(sequence);
        self.kraken.orders.insert(sequence, fields);
        self.renew_reference(checked.placement.market);
        let key = self.admit(&checked.order, &checked.placement);
        let injected = self.late_failure(RequestKind::Submit);
        let trades = self.begin(key, injected);
        KrakenAdded {
            number: Some(number),
            trades,
        }
    }

    /// The checks of an order: first those that do not depend on what is in the book. Where the first rules had another
    /// order of checks they keep it, so that a history names the reasons that were answered.
    pub(super) fn kraken_check(
        &self,
        account: AccountId,
        new: &NewKrakenOrder,
        beside: &Beside<'_>,
    ) -> Result<Checked, KrakenError> {
        let holder = self.accounts.get(&account).ok_or(KrakenError::Frozen)?;
        if holder.frozen {
            return Err(KrakenError::Frozen);
        }
        let market = self.markets.get(usize::from(new.market.0));
        let market = market
            .filter(|market| market.listed)
            .ok_or(KrakenError::UnknownPair)?;
        if !market.config.enabled {
            return Err(self.closed());
        }
        let published = self.kraken.rules.are_published();
        if !published {
            Self::level_and_kind(market, new)?;
        }
        self.check_kraken_mode(market, new, beside.posts)?;
        if published {
            self.check_life_and_name(account, new)?;
        }
        let (level, kind) = Self::level_and_kind(market, new)?;
        let amounts = self.check_volume(market, new, level, beside.in_lots)?;
        let [base, quote] = amounts;
        if !market.is_within_band(self.now, new.side, level, amounts) {
            return Err(KrakenError::InvalidPrice);
        }
        let earlier = beside.earlier;
        let crosses = market.book.crosses(new.side, level)
            || earlier.is_some_and(|orders| orders.crosses(new.market, new.side, level));
        if crosses && (kind == OrderKind::MakerOnly || beside.posts) {
            return Err(KrakenError::WouldTake);
        }
        let valid_until_s = self.check_life_and_name(account, new)?;
        // An order that continues another does not change how many are open.
        let replaces = published && beside.continues.is_some();
        let open = holder.open_orders - u32::from(replaces);
        let open = open + earlier.map_or(0, |orders| orders.open);
        if open >= self.config.limits.open_orders_max {
            return Err(KrakenError::TooManyOrders);
        }
        let config = &market.config;
        let (sell, sell_amount, buy, buy_amount) = match new.side {
            Side::Buy => (config.quote, quote, config.base, base),
            Side::Sell => (config.base, base, config.quote, quote),
        };
        let fee_bips = config.maker_fee_bips.max(config.taker_fee_bips).max(1);
        let on_top = new.fee_in.on_top(new.side, sell_amount, fee_bips);
        let released = beside
            .continues
            .map_or(0, |key| self.orders.get(key).locked());
        let held = earlier.and_then(|orders| orders.held.get(&sell));
        let needed = held.copied().unwrap_or(0) + sell_amount + on_top;
        if holder.balance(sell).free() + released < needed {
            return Err(KrakenError::InsufficientFunds);
        }
        let storage_id = self.next_order_storage_id(account, sell);
        let storage_id = storage_id.ok_or(KrakenError::TooManyOrders)?;
        let order = NewOrder {
            hash: kraken_hash(account, self.sequence),
            exchange: self.config.exchange,
            account,
            storage_id: storage_id.into(),
            sell_token: sell,
            sell_amount,
            buy_token: buy,
            buy_amount,
            // Volumes are in base.
            fill_by: match new.side {
                Side::Buy => FillBy::Buy,
                Side::Sell => FillBy::Sell,
            },
            all_or_none: false,
            valid_until_s: valid_until_s.into(),
            max_fee_bips: fee_bips.into(),
            taker: [0; 20],
            kind,
            pool: None,
            client_id: new.client_id.clone(),
        };
        let placement = Placement {
            market: new.market,
            side: new.side,
            base,
            quote,
            level,
            storage_id,
            valid_until_s,
            max_fee_bips: fee_bips,
            pool: None,
            fee_in: new.fee_in,
        };
        Ok(Checked { order, placement })
    }

    /// The level of an order and what it may do. A market order's level is the worst that its volume needs, and the
    /// worst there is if the book is too thin for it.
    fn level_and_kind(
        market: &Market,
        new: &NewKrakenOrder,
    ) -> Result<(Price, OrderKind), KrakenError> {
        let (price, kind) = match new.order_type {
            KrakenOrderType::Limit(price) => (price, OrderKind::Limit),
            KrakenOrderType::PostOnly(price) => (price, OrderKind::MakerOnly),
            KrakenOrderType::ImmediateOrCancel(price) => (price, OrderKind::TakerOnly),
            KrakenOrderType::Market => {
                let mut left = new.volume;
                let mut worst = None;
                for (price, level) in market.book.levels(new.side.opposite()) {
                    worst = Some(price);
                    if level.size >= left {
                        break;
                    }
                    left -= level.size;
                }
                let worst = worst.ok_or(KrakenError::NoLiquidity)?;
                (worst, OrderKind::TakerOnly)
            }
        };
        if price.0 == 0 {
            return Err(KrakenError::InvalidPrice);
        }
        Ok((price, kind))
    }

    /// Refuses what the mode of the exchange does not allow. `posts`: the order is only to be posted now.
    fn check_kraken_mode(
        &self,
        market: &Market,
        new: &NewKrakenOrder,
        posts: bool,
    ) -> Result<(), KrakenError> {
        let published = self.kraken.rules.are_published();
        let is_allowed = match new.order_type {
            KrakenOrderType::PostOnly(_) if published => true,
            KrakenOrderType::Limit(_) if published => posts,
            KrakenOrderType::PostOnly(level) | KrakenOrderType::Limit(level) => {
                !market.book.crosses(new.side, level)
            }
            KrakenOrderType::Market | KrakenOrderType::ImmediateOrCancel(_) => false,
        };
        match self.mode {
            ExchangeMode::Open => Ok(()),
            ExchangeMode::PostOnly if is_allowed => Ok(()),
            ExchangeMode::PostOnly => Err(KrakenError::PostOnlyMode),
            ExchangeMode::CancelOnly => Err(KrakenError::CancelOnlyMode),
            ExchangeMode::Halted => Err(KrakenError::Halted),
        }
    }

    /// Base and quote of an order: as a rule whole lots, whose value at its level is exact, within the tokens' bounds.
    fn check_volume(
        &self,
        market: &Market,
        new: &NewKrakenOrder,
        level: Price,
        in_lots: InLots,
    ) -> Result<[Amount; 2], KrakenError> {
        let base = new.volume;
        let quote = in_lots.value(&market.scale, new.side, base, level)?;
        let within = |token: &TokenId, amount: Amount, below: KrakenError| {
            let spec = &self.tokens.get(token).ok_or(KrakenError::UnknownPair)?.spec;
            if !spec.enabled {
                return Err(self.closed());
            }
            if amount < spec.minimum.max(1) {
                return Err(below);
            }
            if amount > spec.maximum || amount > AMOUNT_MAX {
                return Err(KrakenError::InvalidVolume);
            }
            Ok(())
        };
        within(&market.config.base, base, KrakenError::BelowOrderMinimum)?;
        within(&market.config.quote, quote, KrakenError::BelowCostMinimum)?;
        in_lots.check(&market.scale, base, level)?;
        // What is left of an order may be so little that its value in whole units is not the level's.
        let states_level = matches!(in_lots, InLots::Volume);
        if states_level && market.scale.level(new.side, base, quote) != Some(level) {
            return Err(KrakenError::InvalidVolume);
        }
        Ok([base, quote])
    }

    /// The refusal of an order of a pair that is listed and closed.
    const fn closed(&self) -> KrakenError {
        if self.kraken.rules.are_published() {
            KrakenError::CancelOnlyMode
        } else {
            KrakenError::UnknownPair
        }
    }

    /// The expiry of an order, whose client order id is that of no open order.
    fn check_life_and_name(
        &self,
        account: AccountId,
        new: &NewKrakenOrder,
    ) -> Result<u32, KrakenError> {
        let valid_until_s = self.check_expiry(new.expires_s)?;
        let named = new.client_id.as_deref();
        if named.is_some_and(|id| self.open_by_client_id(account, id).is_some()) {
            return Err(KrakenError::DuplicateClientId);
        }
        Ok(valid_until_s)
    }

    fn check_expiry(&self, expires_s: Option<u32>) -> Result<u32, KrakenError> {
        let Some(expires_s) = expires_s else {
            return Ok(NEVER_S);
        };
        let at = VenueTime::from_s(expires_s.into());
        let [nearest, farthest] = EXPIRY_MS;
        let is_near = at < self.now.plus_ms(nearest);
        let farthest = self.now.plus_ms(farthest);
        let farthest = if self.kraken.rules.are_published() {
            // An expiry is in whole seconds, and one that is stated by its distance is rounded up.
            VenueTime(farthest.0.next_multiple_of(1_000))
        } else {
            farthest
        };
        if is_near || at > farthest {
            return Err(KrakenError::InvalidExpiry);
        }
        Ok(expires_s)
    }
}

/// The hash of an order of Kraken's interface, which no order of the first interface has: it begins with a text, and ends
/// with account and number.
pub fn kraken_hash(account: AccountId, sequence: u64) -> Hash {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&HASH_PREFIX);
    hash[20..24].copy_from_slice(&account.0.to_be_bytes());
    hash[24..].copy_from_slice(&sequence.to_be_bytes());
    Hash(hash)
}
