//! The exit code of an error. Service units and scripts rely on the numbers.

use cambist_config::ConfigError;
use cambist_host::exit::{Exit, Failure};
use cambist_host::secrets::SecretError;
use cambist_market_data::Defect;
use cambist_store::StoreError;

/// The exit code of an error, determined by the first known error of the chain.
pub fn of(error: &anyhow::Error) -> Exit {
    for cause in error.chain() {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return failure.exit;
        }
        if cause.is::<ConfigError>() || cause.is::<SecretError>() {
            return Exit::Refused;
        }
        // As `--parquet` in a build without Parquet.
        if let Some(Defect::NoParquet) = cause.downcast_ref() {
            return Exit::Usage;
        }
        if let Some(store) = cause.downcast_ref::<StoreError>() {
            return match store {
                StoreError::AnotherInstance { .. } => Exit::AnotherInstance,
                StoreError::Corrupt { .. } => Exit::Invariant,
                error if error.is_misconfigured() => Exit::Refused,
                StoreError::TooNew { .. }
                | StoreError::MarketGone { .. }
                | StoreError::OtherVenue { .. } => Exit::Refused,
                StoreError::Folder(_) | StoreError::Database { .. } => Exit::CheckFailed,
                StoreError::Broken | StoreError::Refused { .. } => Exit::Bug,
            };
        }
    }
    Exit::CheckFailed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_decides_even_below_context() {
        let store = StoreError::AnotherInstance {
            dir: "state".into(),
            holder: None,
        };
        let error = anyhow::Error::new(store).context("opening the store");
        assert_eq!(of(&error), Exit::AnotherInstance);
        let error = anyhow::Error::new(Failure::new(Exit::Latched, "latched")).context("start");
        assert_eq!(of(&error), Exit::Latched);
        assert_eq!(of(&anyhow::anyhow!("venue is away")), Exit::CheckFailed);
    }

    #[test]
    fn data_that_this_build_cannot_read_are_a_mistake_of_the_command_line() {
        let damaged = Defect::Damaged {
            what: "a frame".to_owned(),
        };
        for (defect, exit) in [
            (Defect::NoParquet, Exit::Usage),
            (damaged, Exit::CheckFailed),
        ] {
            let error = Box::new(cambist_market_data::Error {
                file: "depth.parquet".to_owned(),
                place: cambist_market_data::Place::File,
                defect,
            });
            assert_eq!(of(&error.into()), exit);
        }
    }
}
