//! docs/reference/metrics.md.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use vestibule::{App, MetricFamily, MetricKind, MetricLabel, MetricUnit, MetricValues};

use super::{families, path, read};

const PAGE: &str = "docs/reference/metrics.md";

/// The part of the page above this line is written by hand; the rest is generated.
const GENERATED: &str =
    "<!-- From here on: VESTIBULE_UPDATE_GOLDEN=1 cargo test -p vestibule-injector --test it watching -->\n";

fn tables() -> String {
    let framework = App::new("any").metric_families();
    let of_the_injector: Vec<_> =
        families().into_iter().filter(|family| !framework.contains(family)).collect();
    let mut text = GENERATED.to_owned();
    write!(text, "\n## Of every webhook\n\n{}", table(&framework)).unwrap();
    write!(text, "\n## Of the injector besides\n\n{}", table(&of_the_injector)).unwrap();
    text
}

fn table(families: &[MetricFamily]) -> String {
    let mut text = "| Metric | Type | Unit | Labels | Meaning |\n|---|---|---|---|---|\n".to_owned();
    for family in families {
        // The name in queries; a histogram has three.
        let name = match family.kind() {
            MetricKind::Histogram => family.name(),
            _ => family.samples().remove(0),
        };
        let unit = family.unit().map_or("", MetricUnit::as_str);
        let labels: Vec<_> = family.label_set().iter().map(label).collect();
        let (kind, labels, help) = (family.kind().as_str(), labels.join("; "), family.help());
        writeln!(text, "| `{name}` | {kind} | {unit} | {labels} | {help} |").unwrap();
    }
    text
}

fn label(label: &MetricLabel) -> String {
    match label.values() {
        MetricValues::Closed(values) => {
            let word =
                |value: &&str| if value.is_empty() { "empty".to_owned() } else { format!("`{value}`") };
            let words: Vec<_> = values.iter().map(word).collect();
            format!("`{}`: {}", label.name(), words.join(", "))
        }
        MetricValues::OfEach(what) => format!("`{}`: one for each {what}", label.name()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_page_is_what_is_served() {
    let page = read(PAGE);
    let (words, found) = page.split_at(page.find(GENERATED).expect("the mark above the tables"));
    let tables = tables();
    if std::env::var_os("VESTIBULE_UPDATE_GOLDEN").is_some() {
        std::fs::write(path(PAGE), format!("{words}{tables}")).unwrap();
        return;
    }
    assert!(found == tables, "{PAGE} is not what would be written now:\n{tables}");
}

/// Every reason on the page of Events exists in the code, and every reason of the identity is on the page.
#[test]
fn events_on_their_page_are_written() {
    let page = read("docs/reference/events.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let reasons: BTreeSet<_> = rows
        .flat_map(|row| row.split(" | ").next().unwrap().split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect();
    let mut written = String::new();
    let mut folders: Vec<_> = ["command", "identity", "injector", "vestibule"]
        .map(|room| path(&format!("crates/{room}/src")))
        .into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                written.push_str(&std::fs::read_to_string(entry).unwrap());
            }
        }
    }
    let missing: Vec<_> =
        reasons.iter().filter(|reason| !written.contains(&format!("\"{reason}\""))).collect();
    assert!(missing.is_empty(), "{missing:?} are written nowhere");
    let told =
        written.split("Some(\"").skip(1).filter_map(|rest| rest.split_once("\")")).map(|(word, _)| word);
    let of_rings = told.filter(|word| word.starts_with("Ring") && word.chars().all(char::is_alphanumeric));
    let untold: Vec<_> = of_rings.filter(|reason| !reasons.contains(*reason)).collect();
    assert!(untold.is_empty(), "{untold:?} are not on the page");
}
