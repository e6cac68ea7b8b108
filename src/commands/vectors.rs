//! `cambist vectors`: evaluates files of test vectors of hashes, signatures, pool arithmetic and the
//! mathematics of market making.

use std::collections::BTreeMap;
use std::path::Path;

use cambist_market_data::first_bytes::unread;
use cambist_signing::vectors::{Deviation, FileReport, VectorError, evaluate_with};
use serde_json::{Value, json};

use super::{columns, print_json, print_text};
use crate::cli::VectorsArgs;
use crate::exit::{self, Exit};
use cambist_vectors::shapes;

/// Most bytes of a file.
const FILE_MAX: u64 = 64 << 20;

/// Result of one file.
enum Outcome {
    Evaluated(FileReport),
    /// A file of counts beside the vectors, with nothing to evaluate.
    NoVectors,
    Failed(String),
}

/// Results of several files of one shape.
#[derive(Default)]
struct Total {
    files: usize,
    cases: usize,
    passed: usize,
    failed: usize,
    reported: usize,
    worst: Option<Deviation>,
}

/// Evaluates every file; exit 1 if any case fails, any file cannot be evaluated, or all of them are reports.
pub fn run(args: &VectorsArgs, json: bool) -> anyhow::Result<Exit> {
    let results: Vec<_> = args
        .files
        .iter()
        .map(|file| (file, evaluate(file)))
        .collect();
    let failed = |outcome: &Outcome| match outcome {
        Outcome::Evaluated(report) => report.failed > 0,
        Outcome::NoVectors => false,
        Outcome::Failed(_) => true,
    };
    let failures = results.iter().filter(|(_, result)| failed(result)).count();
    let is_report = |outcome: &Outcome| matches!(outcome, Outcome::NoVectors);
    for (file, _) in results.iter().filter(|(_, result)| is_report(result)) {
        let what = format!(
            "{}: {NO_VECTORS}; nothing of it is evaluated",
            file.display()
        );
        exit::print_warning(&what);
    }
    // Reports may be in a folder of vectors. Alone they prove nothing.
    let nothing = results.iter().all(|(_, result)| is_report(result));
    let is_good = failures == 0 && !nothing;
    let totals = totals(results.iter().map(|(_, result)| result));
    if json {
        let files: Vec<_> = results
            .iter()
            .map(|(file, result)| entry(file, result))
            .collect();
        let families: Vec<_> = totals.iter().map(total_entry).collect();
        print_json(&json!({"ok": is_good, "files": files, "families": families}))?;
    } else {
        print_text(&text_report(&results, &totals))?;
    }
    Ok(if is_good {
        Exit::Done
    } else {
        Exit::CheckFailed
    })
}

fn text_report(results: &[(&std::path::PathBuf, Outcome)], totals: &Totals) -> String {
    let header = [
        "file",
        "family",
        "cases",
        "passed",
        "reported",
        "worst error",
        "first failure",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(results.iter().map(|(file, result)| row(file, result)));
    // Sums of families with several files.
    for (name, total) in totals.iter().filter(|(_, total)| total.files > 1) {
        rows.push(vec![
            format!("all {} files", total.files),
            (*name).to_owned(),
            total.cases.to_string(),
            total.passed.to_string(),
            total.reported.to_string(),
            worst(total.worst.as_ref()),
            format!("{} failed", total.failed),
        ]);
    }
    let mut table = columns(&rows);
    if totals.values().any(|total| total.reported > 0) {
        table.push_str("\nreported: left to the implementation, not counted\n");
    }
    if totals.values().any(|total| total.worst.is_some()) {
        table.push_str(
            "\nworst error: of the number closest to its tolerance, with that tolerance; \
             exact: compared digit by digit\n",
        );
    }
    table
}

type Totals = BTreeMap<&'static str, Total>;

fn totals<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Totals {
    let mut totals = Totals::new();
    for outcome in outcomes {
        let Outcome::Evaluated(report) = outcome else {
            continue;
        };
        let total = totals.entry(report.shape).or_default();
        total.files += 1;
        total.cases += report.cases;
        total.passed += report.passed;
        total.failed += report.failed;
        total.reported += report.reported;
        let share = |worst: &Option<Deviation>| worst.as_ref().map(Deviation::share);
        if share(&report.worst) > share(&total.worst) || total.worst.is_none() {
            total.worst.clone_from(&report.worst);
        }
    }
    totals
}

fn evaluate(file: &Path) -> Outcome {
    let name = file
        .file_name()
        .unwrap_or(file.as_os_str())
        .to_string_lossy();
    match text(file).map(|text| evaluate_with(&shapes(), &name, &text)) {
        Ok(Ok(report)) => Outcome::Evaluated(report),
        Ok(Err(VectorError::Report { .. })) => Outcome::NoVectors,
        Ok(Err(error)) => Outcome::Failed(error.to_string()),
        Err(error) => Outcome::Failed(error),
    }
}

fn text(file: &Path) -> Result<String, String> {
    let size = std::fs::metadata(file)
        .map_err(|error| error.to_string())?
        .len();
    if size > FILE_MAX {
        return Err(format!("larger than {FILE_MAX} bytes"));
    }
    if let Some(what) = unread(file) {
        return Err(what);
    }
    std::fs::read_to_string(file).map_err(|error| error.to_string())
}

fn entry(file: &Path, outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Evaluated(report) => json!({
            "file": file.display().to_string(),
            "shape": report.shape,
            "cases": report.cases,
            "passed": report.passed,
            "failed": report.failed,
            "reported": report.reported,
            "worst_error": worst_entry(report.worst.as_ref()),
            "first_failure": report.first_failure,
        }),
        Outcome::NoVectors => json!({"file": file.display().to_string(), "note": NO_VECTORS}),
        Outcome::Failed(error) => json!({"file": file.display().to_string(), "error": error}),
    }
}

fn total_entry((name, total): (&&'static str, &Total)) -> Value {
    json!({
        "family": name,
        "files": total.files,
        "cases": total.cases,
        "passed": total.passed,
        "failed": total.failed,
        "reported": total.reported,
        "worst_error": worst_entry(total.worst.as_ref()),
    })
}

/// Null if all comparisons are exact.
fn worst_entry(worst: Option<&Deviation>) -> Value {
    worst.map_or(
        Value::Null,
        |worst| json!({"error": worst.error, "allowed": worst.allowed, "at": worst.path}),
    )
}

fn row(file: &Path, outcome: &Outcome) -> Vec<String> {
    let name = file.display().to_string();
    match outcome {
        Outcome::Evaluated(report) => vec![
            name,
            report.shape.to_owned(),
            report.cases.to_string(),
            report.passed.to_string(),
            report.reported.to_string(),
            worst(report.worst.as_ref()),
            report
                .first_failure
                .clone()
                .unwrap_or_else(|| "none".to_owned()),
        ],
        Outcome::NoVectors => blank(name, NO_VECTORS.to_owned()),
        Outcome::Failed(error) => blank(name, format!("not evaluated: {error}")),
    }
}

fn worst(worst: Option<&Deviation>) -> String {
    worst.map_or_else(
        || "exact".to_owned(),
        |worst| match worst.allowed {
            0.0 => "exact".to_owned(),
            allowed => format!("{:.1e} of {allowed:.1e}", worst.error),
        },
    )
}

fn blank(name: String, remark: String) -> Vec<String> {
    let dash = || "-".to_owned();
    vec![name, dash(), dash(), dash(), dash(), dash(), remark]
}

const NO_VECTORS: &str = "a report, without vectors";
