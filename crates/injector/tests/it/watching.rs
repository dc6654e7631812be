//! The page of metrics, the alerts and the dashboard, compared with the metrics that are served. A renamed metric fails here
//! until all of them have the new name.

mod alerts;
mod dashboard;
#[allow(dead_code, reason = "the tests of vestibule use the rest")]
pub(crate) mod openmetrics;
mod page;
mod queries;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rows::{Row, rows};

/// A file of the repository, which the package has a link to.
fn path(of: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/repository")).join(of)
}

fn read(of: &str) -> String {
    std::fs::read_to_string(path(of)).unwrap_or_else(|error| panic!("{of}: {error}"))
}

/// All metrics of the injector, with those of the framework. Tests compare the page with the metrics that are served.
fn all_rows() -> Vec<Row> {
    ["Of every webhook", "Of the injector besides"].into_iter().flat_map(rows).collect()
}

/// The names of its samples in queries.
fn samples(row: &Row) -> Vec<String> {
    match &*row.kind {
        "histogram" => ["_bucket", "_count", "_sum"].map(|ending| format!("{}{ending}", row.name)).into(),
        _ => vec![row.name.clone()],
    }
}

/// The values of a label, if they are known.
type Values = Option<BTreeSet<String>>;

/// The samples for queries, each with its labels.
#[derive(Default)]
struct Known(BTreeMap<String, BTreeMap<String, Values>>);

impl Known {
    fn all() -> Self {
        let mut known = Self::default();
        for row in all_rows() {
            for sample in samples(&row) {
                let mut labels = row.labels.clone();
                if sample.ends_with("_bucket") {
                    labels.insert("le".to_owned(), None);
                }
                known.0.insert(sample, labels);
            }
        }
        known.0.extend(of_the_api_server());
        // Prometheus adds these.
        for labels in known.0.values_mut() {
            labels.extend(["job", "instance"].map(|label| (label.to_owned(), None)));
        }
        known
    }

    /// The samples and labels in `query` that do not exist.
    fn missing(&self, query: &str) -> Vec<String> {
        let asked = queries::asked(query);
        assert!(!asked.selectors.is_empty(), "{query} asks for nothing");
        let mut missing = Vec::new();
        let mut there = BTreeSet::new();
        for queries::Selector { name, matchers } in &asked.selectors {
            let Some(labels) = self.0.get(name) else {
                missing.push(name.clone());
                continue;
            };
            there.extend(labels.keys().map(String::as_str));
            for (label, values) in matchers {
                match labels.get(label) {
                    None => missing.push(format!("{name}{{{label}}}")),
                    Some(Some(closed)) => missing.extend(
                        values
                            .iter()
                            .filter(|value| !closed.contains(*value))
                            .map(|value| format!("{name}{{{label}={value}}}")),
                    ),
                    Some(None) => {}
                }
            }
        }
        missing.extend(asked.grouped_by.iter().filter(|label| !there.contains(label.as_str())).cloned());
        missing
    }

    /// The labels of every sample in `query`.
    fn labels(&self, query: &str) -> BTreeSet<String> {
        let selectors = queries::asked(query).selectors;
        selectors
            .iter()
            .filter_map(|one| self.0.get(&one.name))
            .flat_map(|labels| labels.keys().cloned())
            .collect()
    }
}

/// The rows of the table in docs/apiserver.md: a name, and its labels.
fn of_the_api_server() -> BTreeMap<String, BTreeMap<String, Values>> {
    let page = read("docs/apiserver.md");
    let rows = page.lines().filter(|line| line.starts_with("| `apiserver_"));
    let rows: BTreeMap<_, _> = rows
        .map(|row| {
            let mut words = row.split('`').skip(1).step_by(2).map(str::to_owned);
            (words.next().unwrap(), words.map(|label| (label, None)).collect())
        })
        .collect();
    assert!(!rows.is_empty(), "docs/apiserver.md has no metrics");
    rows
}

#[test]
fn a_renamed_metric_is_found() {
    let known = Known::all();
    let fine = "sum by (webhook) (rate(vestibule_admission_requests_total{decision=\"denied\"}[5m])) > 1";
    assert!(known.missing(fine).is_empty());
    for (query, missing) in [
        ("vestibule_admission_requests > 1", "vestibule_admission_requests"),
        ("rate(vestibule_admission_calls_total[5m])", "vestibule_admission_calls_total"),
        ("vestibule_panics_total{hook=\"x\"}", "vestibule_panics_total{hook}"),
        ("vestibule_rotation_blocked{reason!=\"held\"}", "vestibule_rotation_blocked{reason=held}"),
        ("vestibule_rotation_blocked{reason=~\"hold|held\"}", "vestibule_rotation_blocked{reason=held}"),
        ("sum by (hook) (vestibule_panics_total)", "hook"),
        ("apiserver_requests_total", "apiserver_requests_total"),
    ] {
        assert_eq!(known.missing(query), [missing], "{query}");
    }
}
