//! Maps errors to exit codes. Service units and scripts rely on the numbers.

use std::io::{IsTerminal, Write};

pub use cambist_daemon::error_exit::of;
use cambist_daemon::telemetry::log;
pub use cambist_host::exit::{Exit, Failure, with_failures};
use cambist_store::StoreError;

/// The error and its causes; a cause that is part of the text before it is left out.
fn causes(error: &anyhow::Error) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if !causes.iter().any(|earlier| earlier.contains(&text)) {
            causes.push(text);
        }
        // The store's messages contain all causes.
        if cause.is::<StoreError>() {
            break;
        }
    }
    causes
}

/// An error and its causes in one line.
pub fn line(error: &anyhow::Error) -> String {
    causes(error).join(": ")
}

/// An error as JSON: the message and the exit code.
pub fn as_json(error: &anyhow::Error) -> serde_json::Value {
    serde_json::json!({"error": line(error), "exit": of(error).code()})
}

/// Prints an error and its causes to stderr, one line each; as one line of a log of JSON.
pub fn print_all_errors(error: &anyhow::Error) {
    if log::is_json() {
        let exit = of(error);
        let is_bug = exit == Exit::Bug;
        tracing::error!(exit = exit.code(), is_bug, "{}", line(error));
        return;
    }
    print_error(error);
    let mut stderr = std::io::stderr().lock();
    for cause in causes(error).iter().skip(1) {
        let _ = writeln!(stderr, "  because: {cause}");
    }
    if of(error) == Exit::Bug {
        let _ = writeln!(stderr, "  this is a bug of the program");
    }
}

/// Prints a message to stderr.
pub fn print_error(what: &impl std::fmt::Display) {
    if log::is_json() {
        tracing::error!("{what}");
        return;
    }
    print_labelled("error", 31, what);
}

/// Prints a message about something that was done nevertheless to stderr.
pub fn print_warning(what: &impl std::fmt::Display) {
    if log::is_json() {
        tracing::warn!("{what}");
        return;
    }
    print_labelled("warning", 33, what);
}

/// `colour` is a number of ECMA-48's SGR.
fn print_labelled(label: &str, colour: u8, what: &impl std::fmt::Display) {
    let mut stderr = std::io::stderr().lock();
    let _ = if stderr.is_terminal() {
        writeln!(stderr, "\u{1b}[{colour};1m{label}\u{1b}[0m: {what}")
    } else {
        writeln!(stderr, "{label}: {what}")
    };
}

/// Makes a panic of any thread end the process with the code of a bug: half a program must not trade.
///
/// The next start finds resting orders; the store needs no orderly close.
pub fn on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if log::is_json() {
            tracing::error!(exit = Exit::Bug.code(), is_bug = true, "{info}");
        } else {
            print(info);
        }
        std::process::exit(i32::from(Exit::Bug.code()));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_printed_once() {
        let error = anyhow::anyhow!("permission denied")
            .context("folder x: permission denied")
            .context("opening the store");
        let messages = ["opening the store", "folder x: permission denied"];
        assert_eq!(causes(&error), messages);
    }
}
