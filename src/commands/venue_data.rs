//! Commands on the exchange's data folder: copies, checks, exports.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use cambist_server::{BackupFacts, DataError, DumpFacts, Extent, MissingInputs, VerifyFacts};
use clap::Subcommand;
use serde_json::{Value, json};

use super::{print_json, print_text};
use crate::exit::{Exit, Failure};
use cambist_exchange::account_export::Lines;
use cambist_exchange::data;

/// Commands on a data folder.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Copy a data folder with its history; the exchange may be running
    #[command(
        after_help = "Example:\n  cambist venue backup --data /var/lib/cambist-venue/data --to /backup/monday"
    )]
    Backup {
        /// The data folder
        #[arg(long, value_name = "DIR")]
        data: PathBuf,
        /// The copy: an empty or new folder
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
        /// Only what a start needs: the newest snapshot and the log since it, no archives
        #[arg(long)]
        newest: bool,
    },
    /// Verify a copy and create a data folder from it; an incomplete copy is refused
    #[command(
        after_help = "Example:\n  cambist venue restore --from /backup/monday --data /var/lib/cambist-venue/data"
    )]
    Restore {
        /// The copy
        #[arg(long, value_name = "DIR")]
        from: PathBuf,
        /// The data folder: an empty or new folder
        #[arg(long, value_name = "DIR")]
        data: PathBuf,
    },
    /// Export the history of one account as lines of JSON: opening and closing balances, requests, trades, orders
    #[command(
        after_help = "Prints lines of JSON, with --json as well. An exchange that runs may move files meanwhile: the export then ends with an error and without a line `end`; export a backup of it. Folders and archives of one exchange may be named together: they are one history from the oldest on, and inputs that none of them has are named. The lines are described in docs/audit.md.\n\nExamples:\n  cambist venue export --data /backup/monday --account 10000 > monday.jsonl\n  cambist venue export --data /old/archive/0000000000030d40 --data /backup/monday --account 10000"
    )]
    Export {
        /// A data folder, copy or archive; may be repeated
        #[arg(long, value_name = "DIR", required = true)]
        data: Vec<PathBuf>,
        /// Account id
        #[arg(long, value_name = "ID")]
        account: u32,
    },
    /// Write the whole exchange as text (lines of JSON): accounts, keys, orders, pools
    #[command(
        after_help = "Use a dump to move to a program that cannot read the data folder; docs/dump.md describes the format. Without --to it prints lines of JSON, with --json as well. The exchange may be running.\n\nExamples:\n  cambist venue dump --data /var/lib/cambist-venue/data --to exchange.jsonl\n  cambist venue dump --data /backup/monday | gzip > exchange.jsonl.gz"
    )]
    Dump {
        /// The data folder or a copy
        #[arg(long, value_name = "DIR")]
        data: PathBuf,
        /// Output file, which must not exist; standard output by default
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
    /// Create a data folder from a dump, also of an earlier version
    #[command(
        after_help = "The history before the dump is not in it: keep the old folder or a backup for audits. Nothing is written before the whole dump was read and its books add up.\n\nExamples:\n  cambist venue load --from exchange.jsonl --data /var/lib/cambist-venue/data\n  gunzip < exchange.jsonl.gz | cambist venue load --from - --data /var/lib/cambist-venue/data"
    )]
    Load {
        /// The dump; - means standard input
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
        /// The data folder: an empty or new folder
        #[arg(long, value_name = "DIR")]
        data: PathBuf,
        /// The dump was changed on purpose: do not check its digest
        #[arg(long)]
        edited: bool,
    },
    /// Verify a data folder or a copy: every file, every input, the books, and everything that a start would fall back
    /// to; the exchange may be running
    #[command(
        after_help = "Exit codes: 0 everything is good, 1 a start would succeed but an older generation or an archive is broken or missing, 79 a start would refuse the folder.\n\nExample:\n  cambist venue verify --data /backup/monday --json"
    )]
    Verify {
        /// The data folder or copy
        #[arg(long, value_name = "DIR")]
        data: PathBuf,
    },
}

/// Executes the command.
pub fn run(command: &DataCommand, json: bool) -> anyhow::Result<Exit> {
    match command {
        DataCommand::Backup { data, to, newest } => {
            check_outside(data, to)?;
            let extent = if *newest {
                Extent::Newest
            } else {
                Extent::Everything
            };
            copied(cambist_server::backup(data, to, extent), "copied", to, json)
        }
        DataCommand::Restore { from, data } => {
            copied(cambist_server::restore(from, data), "restored", data, json)
        }
        DataCommand::Dump { data, to } => dump(data, to.as_deref(), json),
        DataCommand::Load { from, data, edited } => load(from, data, *edited, json),
        DataCommand::Verify { data } => verify(data, json),
        DataCommand::Export { data, account } => export(data, *account),
    }
}

/// Refuses a copy within the folder that is copied, which is removed with it and counts as one of its files.
fn check_outside(folder: &Path, copy: &Path) -> Result<(), Failure> {
    let whole = |path: &Path| path.canonicalize().ok();
    // The copy, or the nearest folder above it that is there.
    let above = copy.ancestors().find_map(|path| match path {
        path if path.as_os_str().is_empty() => whole(Path::new(".")),
        path => whole(path),
    });
    let inside = whole(folder).zip(above);
    if !inside.is_some_and(|(folder, above)| above.starts_with(folder)) {
        return Ok(());
    }
    let what = format!(
        "--to {} is inside the data folder: a copy belongs elsewhere, best on another disk",
        copy.display()
    );
    Err(Failure::new(Exit::Usage, what))
}

fn copied(
    result: Result<BackupFacts, DataError>,
    what: &str,
    to: &Path,
    json: bool,
) -> anyhow::Result<Exit> {
    let facts = result.map_err(data::failure)?;
    if facts.unknown_source {
        eprintln!(
            "warning: the copy has no manifest, because an earlier version made it; its completeness cannot be verified"
        );
    }
    if json {
        print_json(&json!({
            "inputs": facts.position,
            "snapshot_inputs": facts.snapshot_position,
            "oldest_inputs": facts.oldest_position,
            "files": facts.files,
            "bytes": facts.bytes,
            "checked_by_manifest": !facts.unknown_source,
            "missing_inputs": ranges(&facts.missing),
        }))?;
    } else {
        print_text(&format!(
            "{what} a state after {} inputs and the history since input {}{}, in {} files, {} bytes, to {}\n",
            facts.position,
            facts.oldest_position,
            without(&facts.missing),
            facts.files,
            facts.bytes,
            to.display()
        ))?;
    }
    if facts.missing.is_empty() {
        return Ok(Exit::Done);
    }
    let what = format!(
        "the copy is sufficient for a start, but {} of the history are missing in the source folder",
        listed(&facts.missing)
    );
    Err(Failure::new(Exit::CheckFailed, what).into())
}

fn ranges(missing: &[MissingInputs]) -> Vec<Value> {
    let range = |one: &MissingInputs| json!({"from_input": one.from, "to_input": one.to});
    missing.iter().map(range).collect()
}

fn listed(missing: &[MissingInputs]) -> String {
    let all: Vec<_> = missing.iter().map(ToString::to_string).collect();
    all.join(", ")
}

fn without(missing: &[MissingInputs]) -> String {
    if missing.is_empty() {
        String::new()
    } else {
        format!(" without {}", listed(missing))
    }
}

fn verify(folder: &Path, json: bool) -> anyhow::Result<Exit> {
    let facts = cambist_server::verify(folder).map_err(data::failure)?;
    if json {
        print_json(&as_json(&facts))?;
    } else {
        print_text(&as_text(&facts))?;
    }
    Ok(if facts.is_whole() {
        Exit::Done
    } else {
        Exit::CheckFailed
    })
}

fn as_json(facts: &VerifyFacts) -> Value {
    let recovery = &facts.recovery;
    let generations = facts.generations.iter().map(|one| {
        json!({
            "from_input": one.from,
            "to_input": one.to,
            "archive": one.archived,
            "good": one.problem.is_none(),
            "problem": one.problem,
        })
    });
    let earlier = recovery
        .written_by
        .as_ref()
        .map(|earlier| json!({"program": earlier.writer, "version": earlier.version}));
    json!({
        "ok": facts.is_whole(),
        "inputs": recovery.position,
        "snapshot_inputs": recovery.snapshot_position,
        "replayed": recovery.replayed,
        "batches": recovery.frames,
        "log_bytes": recovery.log_bytes,
        "torn_bytes": recovery.torn_bytes,
        "snapshots": facts.snapshots,
        "damaged_snapshots": recovery.damaged_snapshots,
        "log_files": facts.segments,
        "steps_changed": recovery.steps_changed,
        "open_orders": facts.open_orders,
        "manifest": recovery.manifest,
        "may_be_cut": recovery.may_be_cut,
        "earlier_program": earlier,
        "generations": generations.collect::<Vec<_>>(),
        "missing_inputs": ranges(&recovery.missing),
        "records_problem": facts.records_problem,
    })
}

fn as_text(facts: &VerifyFacts) -> String {
    let recovery = &facts.recovery;
    let broken = facts.generations.iter().filter(|one| one.problem.is_some());
    let result = match broken.count() {
        0 if facts.is_whole() => "good".to_owned(),
        0 => "a start would succeed, but the folder is incomplete".to_owned(),
        broken => format!(
            "a start would succeed, but {broken} of the older generations, snapshots and archives are broken or missing"
        ),
    };
    let mut text = format!(
        "{result}: {} inputs, {} of them in a snapshot and {} replayed from {} batches; {} orders are open and the books add up\n\
         {} snapshots, {} log files, {} bytes of an unfinished batch at the end\n",
        recovery.position,
        recovery.snapshot_position,
        recovery.replayed,
        recovery.frames,
        facts.open_orders,
        facts.snapshots,
        facts.segments,
        recovery.torn_bytes,
    );
    for one in &facts.generations {
        let kind = if one.archived {
            "archive"
        } else {
            "generation"
        };
        let state = one.problem.as_deref().map_or("good", |problem| problem);
        let (from, to) = (one.from, one.to);
        let _ = writeln!(text, "{kind} of inputs {from} to {to}: {state}");
    }
    for one in &recovery.missing {
        let _ = writeln!(text, "{one} are missing in all archives and logs");
    }
    if let Some(problem) = &facts.records_problem {
        let _ = writeln!(
            text,
            "the record of the folder's history cannot be read: {problem}; the next start writes a new one from the existing files"
        );
    }
    if let Some(earlier) = &recovery.written_by {
        let writer = earlier.writer.as_deref().unwrap_or("an earlier program");
        let _ = writeln!(
            text,
            "written by {writer}, stored types of version {}",
            earlier.version
        );
    }
    if recovery.may_be_cut {
        text.push_str(
            "the folder has no manifest, and the newest segment of its log is shorter than when it was created: the folder is a copy by an earlier version, or its log was truncated\n",
        );
    }
    text
}

fn dump(folder: &Path, to: Option<&Path>, json: bool) -> anyhow::Result<Exit> {
    let Some(to) = to else {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        cambist_server::dump(folder, &mut out).map_err(data::failure)?;
        return Ok(Exit::Done);
    };
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)
        .map_err(|error| {
            let advice = match error.kind() {
                std::io::ErrorKind::AlreadyExists => ": remove it, or name another file",
                _ => "",
            };
            Failure::new(
                Exit::CheckFailed,
                format!("{}: {error}{advice}", to.display()),
            )
        })?;
    let dumped = written(folder, &file);
    if dumped.is_err() {
        // What is not whole is no dump.
        drop(std::fs::remove_file(to));
    }
    let facts = dumped?;
    print_facts("dumped", &facts, to, json)
}

fn written(folder: &Path, file: &File) -> anyhow::Result<DumpFacts> {
    let mut out = std::io::BufWriter::new(file);
    let facts = cambist_server::dump(folder, &mut out).map_err(data::failure)?;
    drop(out);
    file.sync_all()?;
    Ok(facts)
}

fn load(from: &Path, folder: &Path, edited: bool, json: bool) -> anyhow::Result<Exit> {
    let name = from.display().to_string();
    let loaded = if from == Path::new("-") {
        let mut input = std::io::stdin().lock();
        cambist_server::load("standard input", &mut input, folder, edited)
    } else {
        let file = File::open(from)
            .map_err(|error| Failure::new(Exit::CheckFailed, format!("{name}: {error}")))?;
        let mut input = std::io::BufReader::new(file);
        cambist_server::load(&name, &mut input, folder, edited)
    };
    print_facts("loaded", &loaded.map_err(data::failure)?, folder, json)
}

fn print_facts(what: &str, facts: &DumpFacts, to: &Path, json: bool) -> anyhow::Result<Exit> {
    if json {
        print_json(&json!({
            "inputs": facts.position,
            "accounts": facts.accounts,
            "open_orders": facts.open_orders,
            "lines": facts.lines,
            "program": facts.program,
            "version": facts.version,
        }))?;
    } else {
        print_text(&format!(
            "{what} {} accounts and {} open orders after {} inputs, {} lines by {}, to {}\n",
            facts.accounts,
            facts.open_orders,
            facts.position,
            facts.lines,
            facts.program,
            to.display()
        ))?;
    }
    Ok(Exit::Done)
}

fn export(folders: &[PathBuf], account: u32) -> anyhow::Result<Exit> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut lines = Lines::new(&mut out, account);
    let folders: Vec<_> = folders.iter().map(PathBuf::as_path).collect();
    let facts = cambist_server::read_history(&folders, |record| lines.write_record(&record))
        .map_err(data::failure)?;
    let known = lines.is_known();
    match lines.finish() {
        Ok(()) if !known => {
            let what = format!("{} has no account {account}", folders[0].display());
            Err(Failure::new(Exit::CheckFailed, what).into())
        }
        // A closed stdout is not an error.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(()) | Err(_) if facts.missing.is_empty() => Ok(Exit::Done),
        Ok(()) | Err(_) => {
            let what = format!(
                "the export lacks {}, which are missing in the folders",
                listed(&facts.missing)
            );
            Err(Failure::new(Exit::CheckFailed, what).into())
        }
    }
}
