//! docs/reference/metrics.md.

use std::fmt::Write as _;

use vestibule::{App, MetricFamily, MetricKind, MetricLabel, MetricUnit, MetricValues};

use super::{families, path, read};

const PAGE: &str = "docs/reference/metrics.md";

/// The first part of the page is written by hand; from here on it is the table's.
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
        // What is asked for in queries; of a histogram there are three.
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
