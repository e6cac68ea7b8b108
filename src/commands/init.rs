//! `cambist init`: writes a commented configuration and a signing key, from flags or interactively.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use rust_decimal::Decimal;
use serde_json::json;

use super::{print_json, print_text};
use crate::exit::{Exit, Failure};
use cambist_daemon::config::Daemon;
use cambist_exchange::keys;

/// The template: every key with unit, default and range.
const TEMPLATE: &str = include_str!("../../config/cambist.toml");

/// Arguments of `init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Folder of the configuration, keys and state; created if necessary
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Base URL of the exchange: https, or http on the same machine
    #[arg(long, value_name = "URL")]
    venue: Option<String>,
    /// Account id at the exchange
    #[arg(long, value_name = "ID")]
    account_id: Option<String>,
    /// Owner address of the account, 0x and 40 hexadecimal digits
    #[arg(long, value_name = "ADDRESS")]
    owner: Option<String>,
    /// Market, BASE-QUOTE
    #[arg(long, value_name = "NAME")]
    market: Option<String>,
    /// Lowest price of an order
    #[arg(long, value_name = "PRICE")]
    price_floor: Option<String>,
    /// Highest price of an order
    #[arg(long, value_name = "PRICE")]
    price_ceiling: Option<String>,
    /// Standard size of an order, in base tokens
    #[arg(long, value_name = "AMOUNT")]
    order_amount: Option<String>,
    /// Least base tokens to hold
    #[arg(long, value_name = "AMOUNT")]
    inventory_min: Option<String>,
    /// Most base tokens to hold
    #[arg(long, value_name = "AMOUNT")]
    inventory_max: Option<String>,
}

/// The values for the file, checked as far as possible without the venue.
struct Answers {
    venue: String,
    account_id: u32,
    owner: String,
    base: String,
    quote: String,
    floor: Decimal,
    ceiling: Decimal,
    order: Decimal,
    inventory: [Decimal; 2],
}

/// Writes `cambist.toml` and `keys/eddsa_key`. Never overwrites a file; existing keys are kept.
pub fn run(args: &InitArgs, json: bool) -> anyhow::Result<Exit> {
    let file = args.dir.join("cambist.toml");
    if file.symlink_metadata().is_ok() {
        let message = format!(
            "{} already exists and was not changed; use another folder with --dir",
            file.display()
        );
        return Err(Failure::new(Exit::CheckFailed, message).into());
    }
    let answers = answers(args)?;
    let text = written(&answers)?;
    std::fs::create_dir_all(&args.dir).with_context(|| args.dir.display().to_string())?;
    let keys_dir = args.dir.join("keys");
    let key_file = keys_dir.join("eddsa_key");
    keys::make_folder(&keys_dir)?;
    let had_key = key_file.exists();
    let public = keys::make_signing_key(&key_file)?;
    write_new(&file, &text).with_context(|| file.display().to_string())?;
    let checked = Daemon::load_unpinned(&file)
        .err()
        .map(|error| error.to_string());
    let shown = file.display();
    let steps = [
        format!(
            "register the public key at the exchange and write its API key to {}/api_key (chmod 600)",
            keys_dir.display()
        ),
        format!(
            "cambist check --pin --config {shown}   prints the exchange's chain and units, to paste"
        ),
        format!("cambist doctor --config {shown}"),
        format!("cambist run --config {shown}"),
    ];
    let [x, y] = [public.x.to_string(), public.y.to_string()];
    if json {
        print_json(&json!({
            "file": file, "key_file": key_file, "public_x": x, "public_y": y, "next": steps,
            "to_complete": checked,
        }))?;
        return Ok(Exit::Done);
    }
    let mut text = format!(
        "wrote {shown}{} {}\n\n  publicX  {x}\n  publicY  {y}\n\n",
        if had_key {
            "; kept the key that is in"
        } else {
            " and"
        },
        key_file.display()
    );
    if let Some(checked) = checked {
        let _ = writeln!(text, "still to be completed:\n{checked}\n");
    }
    text.push_str("next:\n");
    for (number, step) in (1..).zip(steps) {
        let _ = writeln!(text, "  {number}. {step}");
    }
    print_text(&text)?;
    Ok(Exit::Done)
}

fn write_new(file: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The value of a flag, or the user's input on the terminal.
fn answer_of(
    flag: Option<&String>,
    name: &'static str,
    question: &str,
    missing: &mut Vec<&'static str>,
) -> anyhow::Result<String> {
    if let Some(given) = flag {
        return Ok(given.trim().to_owned());
    }
    if !std::io::stdin().is_terminal() {
        missing.push(name);
        return Ok(String::new());
    }
    eprint!("{question} ({name}): ");
    std::io::stderr().flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

fn answers(args: &InitArgs) -> anyhow::Result<Answers> {
    let mut missing = Vec::new();
    let mut ask = |flag: &Option<String>, name, question| {
        answer_of(flag.as_ref(), name, question, &mut missing)
    };
    let venue = ask(&args.venue, "--venue", "base URL of the exchange")?;
    let account_id = ask(
        &args.account_id,
        "--account-id",
        "account id at the exchange",
    )?;
    let owner = ask(&args.owner, "--owner", "owner address of the account")?;
    let market = ask(&args.market, "--market", "market, such as ETH-USDC")?;
    let floor = ask(
        &args.price_floor,
        "--price-floor",
        "lowest price of an order",
    )?;
    let ceiling = ask(
        &args.price_ceiling,
        "--price-ceiling",
        "highest price of an order",
    )?;
    let order = ask(
        &args.order_amount,
        "--order-amount",
        "standard size of an order, in base tokens",
    )?;
    let least = ask(
        &args.inventory_min,
        "--inventory-min",
        "least base tokens to hold",
    )?;
    let most = ask(
        &args.inventory_max,
        "--inventory-max",
        "most base tokens to hold",
    )?;
    let usage = |message: String| Failure::new(Exit::Usage, message);
    if !missing.is_empty() {
        return Err(usage(format!(
            "{} missing; add these flags, or run the command on a terminal to be prompted",
            missing.join(", ")
        ))
        .into());
    }
    checked(Given {
        venue,
        account_id,
        owner,
        market,
        floor,
        ceiling,
        order,
        inventory: [least, most],
    })
}

/// The given values as text.
struct Given {
    venue: String,
    account_id: String,
    owner: String,
    market: String,
    floor: String,
    ceiling: String,
    order: String,
    inventory: [String; 2],
}

/// Refuses invalid values, naming the flag.
fn checked(given: Given) -> anyhow::Result<Answers> {
    let Given {
        venue,
        account_id,
        owner,
        market,
        floor,
        ceiling,
        order,
        inventory: [least, most],
    } = given;
    let usage = |message: String| Failure::new(Exit::Usage, message);
    let amount = |name: &str, text: &str| {
        let number = text
            .parse::<Decimal>()
            .ok()
            .filter(|number| !number.is_sign_negative());
        number.ok_or_else(|| {
            usage(format!(
                "{name} {text:?} is not an amount; write a decimal such as 0.25"
            ))
        })
    };
    let symbol = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric());
    let Some((base, quote)) = market
        .split_once('-')
        .filter(|(base, quote)| symbol(base) && symbol(quote))
    else {
        return Err(usage(format!(
            "--market {market:?} is not a market; write BASE-QUOTE, such as ETH-USDC"
        ))
        .into());
    };
    let is_url = venue.starts_with("https://") || venue.starts_with("http://");
    if !is_url
        || !venue
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
    {
        return Err(usage(format!("--venue {venue:?} is not a URL; write https://...")).into());
    }
    let digits = owner.strip_prefix("0x").unwrap_or_default();
    if digits.len() != 40 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(usage(format!(
            "--owner {owner:?} is not an address; write 0x and 40 hexadecimal digits"
        ))
        .into());
    }
    let account_id = account_id
        .parse()
        .map_err(|_| usage(format!("--account-id {account_id:?} is not a number")))?;
    let answers = Answers {
        venue,
        account_id,
        owner,
        base: base.to_owned(),
        quote: quote.to_owned(),
        floor: amount("--price-floor", &floor)?,
        ceiling: amount("--price-ceiling", &ceiling)?,
        order: amount("--order-amount", &order)?,
        inventory: [
            amount("--inventory-min", &least)?,
            amount("--inventory-max", &most)?,
        ],
    };
    let Answers {
        floor,
        ceiling,
        order,
        inventory: [least, most],
        ..
    } = &answers;
    if floor >= ceiling || order.is_zero() || floor.is_zero() || least >= most {
        return Err(usage("the floor must be above zero and below the ceiling, the order size above zero, and the least inventory below the most".to_owned()).into());
    }
    Ok(answers)
}

/// The template with these values; keys that depend on them get their defaults.
fn written(answers: &Answers) -> anyhow::Result<String> {
    let Answers {
        base, quote, order, ..
    } = answers;
    let mut text = TEMPLATE.to_owned();
    let text_of = |value: &dyn std::fmt::Display| Some(format!("\"{value}\""));
    let of_base = |amount: &Decimal| Some(format!("\"{} {base}\"", amount.normalize()));
    let of_quote = |amount: Decimal| Some(format!("\"{} {quote}\"", amount.normalize()));
    let half = |count: i64| *order * Decimal::new(count * 5, 1);
    // The largest order of the bands below, at the ceiling.
    let order_value = half(4) * answers.ceiling;
    let edits = [
        ("[venue]", "base_url", text_of(&answers.venue)),
        (
            "[venue]",
            "account_id",
            Some(answers.account_id.to_string()),
        ),
        ("[venue]", "owner", text_of(&answers.owner)),
        ("[venue]", "chain_id", None),
        ("[venue]", "exchange", None),
        ("[keys]", "api_key_file", text_of(&"keys/api_key")),
        ("[keys]", "eddsa_key_file", text_of(&"keys/eddsa_key")),
        ("[keys]", "credentials", None),
        ("[store]", "dir", text_of(&"state")),
        ("[tape]", "dir", text_of(&"tape")),
        ("[risk]", "mismatch_max", None),
        ("[risk]", "signed_unexpired_max", None),
        ("[[market]]", "name", text_of(&format!("{base}-{quote}"))),
        ("[[market]]", "base_decimals", None),
        ("[[market]]", "quote_decimals", None),
        ("[[market]]", "base_precision", None),
        ("[[market]]", "quote_precision", None),
        ("[[market]]", "price_decimals", None),
        ("[[market]]", "price_floor", of_quote(answers.floor)),
        ("[[market]]", "price_ceiling", of_quote(answers.ceiling)),
        ("[[market]]", "order_value_max", of_quote(order_value)),
        ("[[market]]", "order_qty_max", None),
        ("[[market]]", "loss_hour_max", None),
        ("[[market]]", "loss_day_max", None),
        ("[[market]]", "drawdown_max", None),
        ("[[market]]", "loss_total_max", None),
        (
            "[[market]]",
            "inventory_min",
            of_base(&answers.inventory[0]),
        ),
        (
            "[[market]]",
            "inventory_max",
            of_base(&answers.inventory[1]),
        ),
        ("[[market]]", "depth_min", None),
    ];
    for (section, key, value) in edits {
        text = edited(&text, section, key, value.as_deref())
            .with_context(|| format!("the template has no {section} {key}"))?;
    }
    for (then, now) in [
        ("min_amount = 0.2, avg_amount = 0.4, max_amount = 0.6", 1),
        ("min_amount = 0.4, avg_amount = 0.6, max_amount = 0.8", 2),
    ] {
        let [least, average, most] = [now, now + 1, now + 2].map(|count| half(count).normalize());
        text = text.replace(
            then,
            &format!("min_amount = {least}, avg_amount = {average}, max_amount = {most}"),
        );
    }
    Ok(text)
}

/// The text with one key of a section set, or commented out; `None` if the key is not in it.
fn edited(text: &str, section: &str, key: &str, value: Option<&str>) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let begin = lines.iter().position(|line| line == section)?;
    let written = format!("{key} = ");
    let at = lines.iter().skip(begin + 1).position(|line| {
        let line = line.strip_prefix("# ").unwrap_or(line);
        line.starts_with(&written)
    })?;
    let line = &mut lines[begin + 1 + at];
    *line = match value {
        Some(value) => format!("{written}{value}"),
        None if line.starts_with('#') => line.clone(),
        None => format!("# {line}"),
    };
    Some(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn what_is_written_is_a_configuration_with_these_answers() {
        let folder = crate::testing::private_folder();
        let answers = Answers {
            venue: "http://127.0.0.1:1".to_owned(),
            account_id: 7,
            owner: format!("0x{}", "a".repeat(40)),
            base: "WBTC".to_owned(),
            quote: "DAI".to_owned(),
            floor: "50000".parse().unwrap(),
            ceiling: "150000".parse().unwrap(),
            order: "0.01".parse().unwrap(),
            inventory: ["0.5".parse().unwrap(), "2".parse().unwrap()],
        };
        let text = written(&answers).unwrap();
        // All comments of the template are kept.
        let comments = |text: &str| text.lines().filter(|line| line.starts_with("# ")).count();
        assert!(comments(&text) >= comments(TEMPLATE));
        let file = folder.path().join("cambist.toml");
        write_new(&file, &text).unwrap();
        assert!(write_new(&file, &text).is_err(), "never overwritten");
        let daemon = Daemon::load(&file).unwrap();
        assert_eq!(daemon.venue.exchange("the example").unwrap().account_id, 7);
        let market = &daemon.markets[0];
        assert_eq!(market.name.value, "WBTC-DAI");
        assert!(
            text.contains("min_amount = 0.005, avg_amount = 0.01, max_amount = 0.015"),
            "{text}"
        );
        assert!(daemon.store.dir.ends_with("state"));
    }
}
