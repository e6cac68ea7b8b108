//! docs/metrics.md lists every metric of the daemon with its type, labels and help text.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use prometheus::core::Collector;
use prometheus::proto::MetricType;

use super::metrics::{Maker, Metrics};
use super::tests::about;

const DOCUMENT: &str = include_str!("../../../../docs/metrics.md");

/// Adds the rows of a metric: name, type, labels, help text.
pub(super) fn describe(metric: &impl Collector, rows: &mut Vec<String>) {
    let families = metric.collect();
    for (desc, family) in metric.desc().iter().zip(&families) {
        let kind = match family.get_field_type() {
            MetricType::COUNTER => "counter",
            MetricType::HISTOGRAM => "histogram",
            _ => "gauge",
        };
        let labels: Vec<_> = desc
            .variable_labels
            .iter()
            .map(|l| format!("`{l}`"))
            .collect();
        rows.push(format!(
            "| `{}` | {kind} | {} | {} |",
            desc.fq_name,
            labels.join(", "),
            desc.help
        ));
    }
}

#[test]
fn the_document_lists_every_metric_and_no_other() {
    let maker = Maker::new(&prometheus::Registry::new());
    Metrics::made_by(&maker, &about()).unwrap();
    let mut rows = maker.rows.take();
    rows.sort();
    let daemon = DOCUMENT
        .split("\n## ")
        .find(|part| part.starts_with("The daemon"));
    let listed = daemon.unwrap().lines();
    let listed: Vec<_> = listed.filter(|line| line.starts_with("| `")).collect();
    assert!(rows.len() > 80, "{}", rows.len());
    assert!(
        listed == rows,
        "docs/metrics.md should list:\n{}",
        rows.join("\n")
    );
}
