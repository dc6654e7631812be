//! The tables of docs/reference/metrics.md, compared with the metrics that are served. The injector's tests use it too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::openmetrics::Family;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages/metrics.md");

/// One row: one metric.
pub(crate) struct Row {
    /// The name in queries; a histogram has three.
    pub(crate) name: String,
    /// `counter`, `gauge`, `histogram` or `info`.
    pub(crate) kind: String,
    unit: String,
    /// Each with its values; [`None`] if the installation decides them.
    pub(crate) labels: BTreeMap<String, Option<BTreeSet<String>>>,
    help: String,
}

/// The rows below the heading `section`.
pub(crate) fn rows(section: &str) -> Vec<Row> {
    let page = std::fs::read_to_string(Path::new(PAGE)).unwrap();
    let (_, below) = page.split_once(&format!("\n## {section}\n")).unwrap();
    let table = below.lines().take_while(|line| !line.starts_with("## "));
    table.filter(|line| line.starts_with("| `")).map(Row::read).collect()
}

impl Row {
    fn read(line: &str) -> Self {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        let [name, kind, unit, labels, help] = cells.try_into().unwrap_or_else(|_| panic!("{line}"));
        let labels = labels.split("; ").filter(|label| !label.is_empty()).map(label).collect();
        Self { name: name.trim_matches('`').to_owned(), kind, unit, labels, help }
    }

    /// The name of the family, without the ending of its sample.
    pub(crate) fn family(&self) -> &str {
        let ending = match &*self.kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        self.name.strip_suffix(ending).unwrap_or(&self.name)
    }

    /// Panics unless the family is served as this row says.
    pub(crate) fn fits(&self, family: &Family) {
        let name = &self.name;
        assert_eq!(family.name, self.family());
        assert_eq!(family.kind, self.kind, "{name}");
        assert_eq!(family.unit.clone().unwrap_or_default(), self.unit, "{name}");
        assert_eq!(family.help, format!("{}.", self.help), "{name}");
        for sample in &family.samples {
            let found: BTreeSet<_> = sample.labels.keys().filter(|label| *label != "le").collect();
            assert_eq!(found, self.labels.keys().collect(), "{name}");
        }
        for (label, closed) in &self.labels {
            let (found, Some(closed)) = (values(family, label), closed) else { continue };
            assert!(found.is_subset(closed), "{name}: {found:?} of {closed:?}");
        }
    }
}

/// The values of a label in all samples.
pub(crate) fn values(family: &Family, label: &str) -> BTreeSet<String> {
    family.samples.iter().map(|sample| sample.labels[label].clone()).collect()
}

/// Reads `` `reason`: empty, `error` `` or `` `webhook`: one for each hook ``.
fn label(text: &str) -> (String, Option<BTreeSet<String>>) {
    let (name, values) = text.split_once(": ").unwrap_or_else(|| panic!("{text}"));
    let word =
        |value: &str| if value == "empty" { String::new() } else { value.trim_matches('`').to_owned() };
    let closed = (!values.starts_with("one for each ")).then(|| values.split(", ").map(word).collect());
    (name.trim_matches('`').to_owned(), closed)
}
