//! The stated worst case, by hand.

use cambist_core::bound::loss_bound;
use cambist_core::{Price, Qty};

use crate::desk::{config, spec};

#[test]
fn the_bound_is_band_and_fillable_times_gap_slip_and_fee() {
    let mut config = config();
    config.max_fee_bips = 10;
    let limits = &mut config.markets[0];
    limits.inventory_min = 0;
    limits.inventory_max = 10_000_000;
    limits.order_value_max = 1_000_000;
    limits.open_orders_max = 4;
    let limits = limits.clone();
    let bound = loss_bound(&spec(), &config, &limits, Price(10_000), 1_000).unwrap();
    // Ten whole tokens at 100: worth 1 000 000 000, of which the jump takes a tenth.
    assert_eq!(bound.by_gap, 100_000_000);
    // Eight orders of 1 000 000 at the collar's 9 500: 105 lots each, 84 000 units.
    assert_eq!(bound.fillable, 84_000);
    // Half the widest book, 150 ten-thousandths of 8 400 000, and the fee's ten.
    assert_eq!((bound.by_fills, bound.by_fees), (126_000, 8_400));
    assert_eq!(bound.total(), 100_134_400);
    let mut narrow = limits.clone();
    narrow.inventory_min = narrow.inventory_max - 500;
    let bound = loss_bound(&spec(), &config, &narrow, Price(10_000), 1_000).unwrap();
    assert_eq!(bound.fillable, 500, "no more than the band is wide");
    let mut small = limits;
    small.order_qty_max = Qty(1);
    let bound = loss_bound(&spec(), &config, &small, Price(10_000), 1_000).unwrap();
    assert_eq!(bound.fillable, 800, "no more than the orders hold");
}
