//! Which edit of a patched copy of the sources is on: at most one, by its number.
//!
//! Only patched copies ask. Every thread begins with the number in the environment variable [`VARIABLE`]; 0 or
//! none means that the program behaves as the sources it was copied from.

use std::cell::Cell;

/// The environment variable with the number of the edit that is on in every thread.
pub const VARIABLE: &str = "CAMBIST_SWITCH";

thread_local! {
    static ON: Cell<u32> = Cell::new(number(std::env::var(VARIABLE).ok().as_deref()));
}

/// Whether edit `number` is on in this thread.
#[inline]
pub fn on(number: u32) -> bool {
    ON.get() == number
}

/// Turns one edit on, and every other off, in this thread; 0 is none.
pub fn set(number: u32) {
    ON.set(number);
}

/// The number in the variable. One that cannot be read is no number: a typing error must not look like an edit that
/// nothing finds.
fn number(text: Option<&str>) -> u32 {
    text.map_or(0, |text| {
        let number = text.parse();
        number.unwrap_or_else(|_| panic!("{VARIABLE}={text:?} is not the number of an edit"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_on_at_a_time_and_for_one_thread() {
        set(7);
        assert!(on(7) && !on(8) && !on(0));
        set(8);
        assert!(on(8) && !on(7));
        let elsewhere = std::thread::spawn(|| on(8)).join();
        assert!(elsewhere.is_ok_and(|on| !on));
    }

    #[test]
    fn the_variable_holds_a_number_or_is_not_set() {
        assert_eq!((number(None), number(Some("12"))), (0, 12));
        assert!(std::panic::catch_unwind(|| number(Some("twelve"))).is_err());
    }
}
