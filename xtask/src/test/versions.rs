//! The table of docs/reference/versions.md: what `tests/cluster` found on each version of kube-apiserver.
//!
//! `cargo xtask test cluster --apiserver MINOR` compares the column of that version with its results; with `--write` it writes the
//! column. A test may fail on an older version, if the page says so.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};

use super::report::Tally;
use crate::{cargo, files};

const PAGE: &str = "docs/reference/versions.md";
const BEGIN: &str = "<!-- cargo xtask test cluster --apiserver MINOR --write -->\n";
const END: &str = "<!-- end -->";
/// The part whose tests show the features.
pub(super) const PART: &str = "cluster";
const PROGRAM: &str = "cluster it";

/// Features that not every version has, and the test of `tests/cluster` that shows each.
const FEATURES: [(&str, &str); 7] = [
    ("`matchConditions` of entries", "registration::match_conditions_evaluate_for_every_object"),
    ("native sidecars", "rules::envoy_in_its_native_form_is_an_init_container_that_stays"),
    (
        "`ValidatingAdmissionPolicy` beside a webhook",
        "versions::a_validating_policy_sees_the_object_that_a_webhook_made",
    ),
    (
        "`MutatingAdmissionPolicy` beside a webhook",
        "versions::mutating_policies_and_a_webhook_change_the_same_pod",
    ),
    ("reviews of `v1beta1`", "versions::a_review_of_v1beta1_is_answered"),
    (
        "the same CEL in rules and in a `ValidatingAdmissionPolicy`",
        "expressions::the_api_server_gives_the_same_results",
    ),
    (
        "reviews of `v1` and `v1beta1`, judged as the model does",
        "oracle::the_simulated_and_a_real_api_server_agree",
    ),
];
const PASS: &str = "tests of `tests/cluster` that pass";
const FAIL: &str = "tests that fail";
const DATE: &str = "date";

/// Cells by row, of one version.
type Column = BTreeMap<String, String>;

/// The versions, in their order, with their columns.
#[derive(Debug, Default, PartialEq)]
struct Table(BTreeMap<Vec<u32>, Column>);

/// Compares the results on the version, such as `1.30.14`, with the page, or writes them into it.
pub(super) fn run(version: &str, report: &str, tally: &Tally, write: bool) -> anyhow::Result<()> {
    // A program that crashed has no summary.
    let crashed = !tally.broken.is_empty() && tally.passed == 0;
    if crashed || tally.broken.iter().any(|program| program != PROGRAM) {
        bail!("tests failed or did not compile");
    }
    let found = column(report, tally, &jiff::Timestamp::now().strftime("%F").to_string());
    let file = cargo::workspace().join(PAGE);
    let page = files::read(&file)?;
    let mut table = Table::of(&page)?;
    let number = number(version).with_context(|| format!("`{version}` is no version"))?;
    if write {
        table.set(number, found);
        files::write(&file, table.into_page(&page)?)?;
        println!("{PAGE}: the column of {version} is written");
        return Ok(());
    }
    let differences = table.differences(&number, &found);
    if !differences.is_empty() {
        bail!(
            "{PAGE} differs for {version}; `--write` writes what was found:\n  {}",
            differences.join("\n  ")
        );
    }
    println!("{PAGE} says the same of {version}");
    Ok(())
}

/// The results of the tests, as a column. The report has a line `ran NAME` for each test that ran on the API server, and
/// `left-out NAME REASON` for each that found the feature absent, the only reason in this package; libtest counts both as passed.
fn column(report: &str, tally: &Tally, date: &str) -> Column {
    let ran: BTreeSet<_> = report.lines().filter_map(|line| line.strip_prefix("ran ")).collect();
    let left_out = report.lines().filter_map(|line| line.strip_prefix("left-out ")?.split(' ').next());
    let left_out: BTreeSet<_> = left_out.collect();
    let failed: BTreeSet<_> = tally.failures.iter().map(String::as_str).collect();
    let state = |test| match test {
        _ if failed.contains(test) => "differs",
        _ if left_out.contains(test) => "absent",
        _ if ran.contains(test) => "works",
        _ => "not run",
    };
    let mut column: Column =
        FEATURES.iter().map(|(feature, test)| ((*feature).to_owned(), state(test).to_owned())).collect();
    let names: Vec<_> = failed.iter().map(|name| format!("`{name}`")).collect();
    column.insert(FAIL.to_owned(), if names.is_empty() { "none".to_owned() } else { names.join(", ") });
    let passed = tally.passed.saturating_sub(left_out.len());
    column.insert(PASS.to_owned(), format!("{passed} of {}", passed + failed.len()));
    column.insert(DATE.to_owned(), date.to_owned());
    column
}

impl Table {
    fn of(page: &str) -> anyhow::Result<Self> {
        let (_, block) =
            page.split_once(BEGIN).with_context(|| format!("{PAGE} has no `{}`", BEGIN.trim_end()))?;
        let (block, _) = block.split_once(END).with_context(|| format!("{PAGE} has no `{END}`"))?;
        let cells = |line: &str| {
            line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
        };
        let mut rows = block.lines().map(cells);
        // The first two columns have the feature and its test.
        let versions: Vec<_> =
            rows.next().unwrap_or_default().iter().filter_map(|cell| number(cell)).collect();
        let mut table = Self::default();
        for row in rows.skip(1).filter(|row| row.len() > 2) {
            for (version, cell) in versions.iter().zip(&row[2..]) {
                table.0.entry(version.clone()).or_default().insert(row[0].clone(), cell.clone());
            }
        }
        Ok(table)
    }

    /// A new patch takes the place of the older one.
    fn set(&mut self, version: Vec<u32>, column: Column) {
        self.0.retain(|other, _| other.get(..2) != version.get(..2));
        self.0.insert(version, column);
    }

    /// Whether the page still says the truth. The number of tests grows, and the date passes.
    fn differences(&self, version: &[u32], found: &Column) -> Vec<String> {
        let known = self.0.iter().find(|(other, _)| other.get(..2) == version.get(..2));
        let Some((_, known)) = known else { return vec!["there is no column for this version".to_owned()] };
        let of_interest = found.iter().filter(|(row, _)| ![PASS, DATE].contains(&row.as_str()));
        of_interest
            .filter(|(row, cell)| known.get(*row) != Some(cell))
            .map(|(row, cell)| format!("{row}: {cell}, not {}", known.get(row).map_or("-", String::as_str)))
            .collect()
    }

    fn into_page(self, page: &str) -> anyhow::Result<String> {
        let (before, _) = page.split_once(BEGIN).context("no beginning")?;
        let (_, after) = page.split_once(END).context("no end")?;
        Ok(format!("{before}{BEGIN}{}{END}{after}", self.text()))
    }

    fn text(&self) -> String {
        let line = |first: &str, second: &str, cells: Vec<String>| {
            format!("| {first} | {second} | {} |\n", cells.join(" | "))
        };
        let dotted = |version: &Vec<u32>| version.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
        let mut text = line("", "Shown by", self.0.keys().map(dotted).collect());
        text.push_str(&"|---".repeat(self.0.len() + 2));
        text.push_str("|\n");
        let features = FEATURES.iter().map(|(feature, test)| (*feature, format!("`{test}`")));
        for (row, shown) in features.chain([PASS, FAIL, DATE].map(|row| (row, String::new()))) {
            let cell = |column: &Column| column.get(row).cloned().unwrap_or_else(|| "not run".to_owned());
            text.push_str(&line(row, &shown, self.0.values().map(cell).collect()));
        }
        text
    }
}

/// `1.30.14` as numbers, which compare as versions do.
fn number(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> String {
        files::read_here(PAGE).unwrap()
    }

    #[test]
    fn the_page_has_the_tables_own_form() {
        let page = page();
        let table = Table::of(&page).unwrap();
        assert!(table.0.len() >= 2, "{table:?}");
        assert_eq!(table.into_page(&page).unwrap(), page);
    }

    #[test]
    fn the_tests_of_features_exist() {
        for (_, test) in FEATURES {
            let (module, name) = test.split_once("::").unwrap();
            let source = files::read_here(&format!("tests/cluster/tests/it/{module}.rs")).unwrap();
            assert!(source.contains(&format!("async fn {name}()")), "{test}");
        }
    }

    /// A failure that a run accepts has an explanation on the page.
    #[test]
    fn every_failed_test_is_explained() {
        let page = page();
        for column in Table::of(&page).unwrap().0.values() {
            for test in column[FAIL].split('`').filter(|word| word.contains("::")) {
                assert!(page.contains(&format!("\n| `{test}` |")), "{test}");
            }
        }
    }

    #[test]
    fn a_run_is_compared_by_its_failures_and_features() {
        let mut tally = Tally::default();
        let (absent, failed) = (FEATURES[3].1, FEATURES[4].1);
        tally.add("test result: FAILED. 97 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out");
        tally.add(&format!("test {failed} ... FAILED"));
        let report =
            format!("ran {}\nran {absent}\nleft-out {absent} not served\nran {failed}\n", FEATURES[0].1);
        let found = column(&report, &tally, "2026-01-02");
        let cells = [0, 1, 3, 4].map(|row| found[FEATURES[row].0].as_str());
        assert_eq!(cells, ["works", "not run", "absent", "differs"]);
        let cells = [PASS, FAIL, DATE].map(|row| found[row].as_str());
        assert_eq!(cells, ["96 of 97", &format!("`{failed}`"), "2026-01-02"]);

        let mut table = Table::default();
        assert_eq!(table.differences(&[1, 30, 14], &found), ["there is no column for this version"]);
        table.set(vec![1, 9, 1], found.clone());
        table.set(vec![1, 30, 2], Column::new());
        table.set(vec![1, 30, 14], found.clone());
        assert!(
            table.text().starts_with("|  | Shown by | 1.9.1 | 1.30.14 |\n|---|---|---|---|\n"),
            "{}",
            table.text()
        );
        let mut later = column(&report, &tally, "2026-01-03");
        later.insert(PASS.to_owned(), "97 of 98".to_owned());
        assert!(table.differences(&[1, 30, 15], &later).is_empty());
        later.insert(FAIL.to_owned(), "none".to_owned());
        assert_eq!(table.differences(&[1, 30, 15], &later), [format!("{FAIL}: none, not `{failed}`")]);
    }
}
