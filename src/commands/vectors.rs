//! `cambist vectors`: evaluates files of test vectors of hashes, signatures and pool arithmetic.

use std::path::Path;

use cambist_signing::vectors::{FileReport, VectorError, evaluate_with};
use serde_json::{Value, json};

use super::{columns, print_json, print_text};
use crate::cli::VectorsArgs;
use crate::exit::Exit;
use crate::vectors::shapes;

/// Largest file read.
const FILE_MAX: u64 = 64 << 20;

/// What came of one file.
enum Outcome {
    Evaluated(FileReport),
    /// A file of counts beside the vectors: nothing to evaluate, nothing wrong.
    NoVectors,
    Failed(String),
}

/// Evaluates every file; exit 1 if any case fails or any file cannot be evaluated.
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
    if json {
        let files: Vec<_> = results
            .iter()
            .map(|(file, result)| entry(file, result))
            .collect();
        print_json(&json!({"ok": failures == 0, "files": files}))?;
    } else {
        let mut rows = vec![
            ["file", "cases", "passed", "reported", "first failure"]
                .map(str::to_owned)
                .to_vec(),
        ];
        rows.extend(results.iter().map(|(file, result)| row(file, result)));
        let mut table = columns(&rows);
        let any_reported = results
            .iter()
            .any(|(_, result)| matches!(result, Outcome::Evaluated(report) if report.reported > 0));
        if any_reported {
            table.push_str("\nreported: implementation choices, not judged\n");
        }
        print_text(&table)?;
    }
    Ok(if failures == 0 {
        Exit::Done
    } else {
        Exit::CheckFailed
    })
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
            "first_failure": report.first_failure,
        }),
        Outcome::NoVectors => json!({"file": file.display().to_string(), "note": NO_VECTORS}),
        Outcome::Failed(error) => json!({"file": file.display().to_string(), "error": error}),
    }
}

fn row(file: &Path, outcome: &Outcome) -> Vec<String> {
    let name = file.display().to_string();
    match outcome {
        Outcome::Evaluated(report) => vec![
            name,
            report.cases.to_string(),
            report.passed.to_string(),
            report.reported.to_string(),
            report
                .first_failure
                .clone()
                .unwrap_or_else(|| "none".to_owned()),
        ],
        Outcome::NoVectors => blank(name, NO_VECTORS.to_owned()),
        Outcome::Failed(error) => blank(name, format!("not evaluated: {error}")),
    }
}

fn blank(name: String, remark: String) -> Vec<String> {
    let dash = || "-".to_owned();
    vec![name, dash(), dash(), dash(), remark]
}

const NO_VECTORS: &str = "a report, no vectors in it";
