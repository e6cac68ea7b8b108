//! `cambist check` and `cambist doctor` with the file of a portfolio: each venue, and the limits over all of them.

use serde_json::{Map, Value, json};

use super::doctor::Findings;
use super::portfolio::Named;
use super::{check, columns, doctor, print_json, print_text};
use crate::cli::CheckArgs;
use crate::exit::{self, Exit, Failure};
use cambist_config::money;
use cambist_daemon::config::Daemon;
use cambist_daemon::portfolio::{Observed, PortfolioFile, TokenPrice, held_of_limits};
use cambist_daemon::telemetry::portfolio::LimitUse;

/// What one venue came to: exit code, JSON, and what its account holds if it answered.
type OfVenue = (Exit, Value, Option<Observed>);

/// The name of the part about the limits, which no venue has.
const PART: &str = "portfolio";

/// Checks the files of the venues, and the limits over all of them; with `--online` against what is held.
pub fn check(named: &Named, args: &CheckArgs, json: bool) -> anyhow::Result<Exit> {
    each(
        named,
        json,
        |config| {
            let config = config.to_owned();
            check::of_venue(
                &CheckArgs {
                    config,
                    ..args.clone()
                },
                json,
            )
        },
        |portfolio| {
            if let Err(error) = portfolio.file.check_limits(&portfolio.daemons) {
                let error = error.into();
                exit::print_all_errors(&error);
                return Ok((exit::of(&error), exit::as_json(&error)));
            }
            let used = args.online.then(|| portfolio.used()).transpose()?;
            if !json {
                print_text(&portfolio.text(used.as_deref()))?;
            }
            let warnings = portfolio.file.unlimited(&portfolio.daemons);
            warnings.iter().for_each(exit::print_warning);
            let is_exceeded = used.iter().flatten().any(|of| !is_within(of));
            let exit = if is_exceeded {
                Exit::CheckFailed
            } else {
                Exit::Done
            };
            Ok((exit, portfolio.shape(used.as_deref())))
        },
    )
}

/// Checks everything that the daemons of the venues need, and the limits over all of them against what is held.
pub fn doctor(named: &Named, json: bool) -> anyhow::Result<Exit> {
    each(
        named,
        json,
        |config| doctor::of_file(config, json),
        |portfolio| {
            portfolio
                .findings()
                .shown(&portfolio.file.source.path, json)
        },
    )
}

/// A portfolio whose venues were checked.
struct Checked {
    file: PortfolioFile,
    daemons: Vec<Daemon>,
    /// In the order of the file.
    observed: Vec<Option<Observed>>,
}

/// Checks the selected venues, and the limits if all are meant.
fn each(
    named: &Named,
    json: bool,
    of_venue: impl Fn(&std::path::Path) -> anyhow::Result<OfVenue>,
    of_limits: impl FnOnce(&Checked) -> anyhow::Result<(Exit, Value)>,
) -> anyhow::Result<Exit> {
    let (file, daemons) = named.load()?;
    let venues = named.venues()?;
    let heading = |name: &str| {
        if json {
            Ok(())
        } else {
            print_text(&format!("== {name}\n"))
        }
    };
    let mut worst = Exit::Done;
    let mut all = Map::new();
    let mut observed = Vec::new();
    for venue in &venues {
        heading(&venue.names.venue)?;
        let (exit, shape, held) = of_venue(&venue.path).unwrap_or_else(|error| {
            exit::print_all_errors(&error);
            (exit::of(&error), exit::as_json(&error), None)
        });
        if exit != Exit::Done {
            eprintln!("venue {}: exit code {}", venue.names.venue, exit.code());
        }
        all.insert(venue.names.venue.clone(), shape);
        observed.push(held);
        worst = worst.max(exit);
    }
    if venues.len() == file.venues.len() {
        heading(PART)?;
        let checked = Checked {
            file,
            daemons,
            observed,
        };
        let (exit, shape) = of_limits(&checked)?;
        all.insert(PART.to_owned(), shape);
        worst = worst.max(exit);
    }
    if json {
        print_json(&Value::Object(all))?;
    }
    Ok(worst)
}

/// Whether what is held is within a limit, as far as it is known.
fn is_within(of: &LimitUse) -> bool {
    let most = i128::try_from(of.most).unwrap_or(i128::MAX);
    of.used.is_none_or(|used| used <= most)
}

/// An amount of a limit.
fn amount(of: &LimitUse, units: i128) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let whole = money::whole(units.unsigned_abs(), of.decimals);
    format!("{sign}{whole} {}", of.token)
}

/// A limit in a sentence, with what is held if that was asked for.
fn sentence(of: &LimitUse, is_asked: bool) -> String {
    let most = amount(of, i128::try_from(of.most).unwrap_or(i128::MAX));
    match (is_asked, of.used) {
        (false, _) => most,
        (true, Some(used)) => format!("{} held, at most {most}", amount(of, used)),
        (true, None) => format!(
            "at most {most}; what is held, or a price of it, is not known at {}",
            of.unknown_at.join(" and ")
        ),
    }
}

/// Where a quote token gets its price.
fn priced(file: &PortfolioFile, price: &TokenPrice) -> String {
    if file.at_par.contains(&price.token) {
        format!("at par with {}", file.currency)
    } else if price.markets.is_empty() {
        format!("no market prices it in {}", file.currency)
    } else {
        format!("priced by {}", price.markets.join(", "))
    }
}

impl Checked {
    /// The use of the limits by what is held at the venues that answered.
    fn used(&self) -> anyhow::Result<Vec<LimitUse>> {
        let used = held_of_limits(&self.file, &self.daemons, &self.observed);
        used.map_err(|what| Failure::new(Exit::Refused, what).into())
    }

    /// The limits without what is held.
    fn limits(&self) -> anyhow::Result<Vec<LimitUse>> {
        let none = vec![None; self.daemons.len()];
        let used = held_of_limits(&self.file, &self.daemons, &none);
        used.map_err(|what| Failure::new(Exit::Refused, what).into())
    }

    /// Names that a venue uses for tokens of the portfolio.
    fn names(&self) -> Vec<(String, String)> {
        let venues = self.file.venues.iter();
        let names = venues.map(|venue| {
            let each = venue.names.tokens.iter();
            let each = each.map(|(symbol, name)| format!("{symbol} is {name}"));
            (
                venue.names.venue.clone(),
                each.collect::<Vec<_>>().join(", "),
            )
        });
        names.filter(|(_, names)| !names.is_empty()).collect()
    }

    fn text(&self, used: Option<&[LimitUse]>) -> String {
        let limits = used.map_or_else(|| self.limits().unwrap_or_default(), <[_]>::to_vec);
        let mut rows: Vec<_> = limits
            .iter()
            .map(|of| {
                let mark = if is_within(of) {
                    ""
                } else {
                    "ABOVE THE LIMIT: "
                };
                let sentence = sentence(of, used.is_some());
                vec![
                    format!("{} {}", of.key, of.token),
                    format!("{mark}{sentence}"),
                ]
            })
            .collect();
        if let Some(most) = self.file.loss_day_max {
            let most = money::whole(most, LimitUse::CURRENCY_DECIMALS);
            let text = format!("{most} {}", self.file.currency);
            rows.push(vec![
                format!("portfolio.loss_day_max {}", self.file.currency),
                text,
            ]);
        }
        for price in self.file.prices(&self.daemons) {
            let of = format!("{} at {}", price.token, price.venue);
            rows.push(vec![of, priced(&self.file, &price)]);
        }
        for (venue, names) in self.names() {
            rows.push(vec![format!("tokens of {venue}"), names]);
        }
        columns(&rows)
    }

    fn shape(&self, used: Option<&[LimitUse]>) -> Value {
        let limits = used.map_or_else(|| self.limits().unwrap_or_default(), <[_]>::to_vec);
        let limits = limits.iter().map(|of| {
            json!({
                "limit": of.key,
                "token": of.token,
                "most": money::whole(of.most, of.decimals),
                "held": of.used.map(|used| amount(of, used)),
                "within": used.map(|_| is_within(of)),
                "unknown_at": used.map(|_| &of.unknown_at),
            })
        });
        let prices = self.file.prices(&self.daemons);
        let prices = prices.iter().map(|price| {
            json!({
                "venue": price.venue,
                "token": price.token,
                "at_par": self.file.at_par.contains(&price.token),
                "markets": price.markets,
            })
        });
        let names: Map<_, _> = self
            .file
            .venues
            .iter()
            .map(|venue| (venue.names.venue.clone(), json!(venue.names.tokens)))
            .collect();
        let loss = self.file.loss_day_max;
        json!({
            "file": self.file.source.path,
            "currency": self.file.currency,
            "limits": limits.collect::<Vec<_>>(),
            "loss_day_max": loss.map(|most| money::whole(most, LimitUse::CURRENCY_DECIMALS)),
            "prices": prices.collect::<Vec<_>>(),
            "names": names,
            "warnings": self.file.unlimited(&self.daemons),
        })
    }

    fn findings(&self) -> Findings {
        let mut all = Findings::default();
        all.good("configuration", self.file.source.path.display().to_string());
        match self.used() {
            Ok(used) => {
                for of in &used {
                    let text = format!("{}: {}", of.key, sentence(of, true));
                    if !is_within(of) {
                        let fix = "hold less, or raise the key: nothing is bought at any venue";
                        all.wrong("limits", text, fix);
                    } else if of.used.is_none() {
                        let fix = "see the findings of that venue: nothing that the limit bounds is added meanwhile";
                        all.warn("limits", text, fix);
                    } else {
                        all.good("limits", text);
                    }
                }
            }
            Err(error) => all.wrong("limits", format!("{error:#}"), "compare venue.tokens"),
        }
        for price in self.file.prices(&self.daemons) {
            let text = format!(
                "{} at {}: {}",
                price.token,
                price.venue,
                priced(&self.file, &price)
            );
            // One without a price was refused with the file, if a limit needs it.
            all.good("prices", text);
        }
        for what in self.file.unlimited(&self.daemons) {
            all.warn("limits", what, "see docs/portfolio.md, venue.tokens");
        }
        for (venue, names) in self.names() {
            all.good("tokens", format!("{venue}: {names}"));
        }
        all
    }
}
