//! The page of all metrics.

use std::collections::BTreeSet;

use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

/// OpenMetrics, as prometheus-client writes it.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The page of all metrics in `registry`.
pub(crate) fn page(registry: &Registry) -> String {
    let mut written = String::new();
    // Writing to a string cannot fail.
    let _ = text::encode(&mut written, registry);
    written
}

/// Why Prometheus would refuse the page: a name that is not of OpenMetrics, or one that is registered twice.
pub(crate) fn problems(page: &str) -> Vec<String> {
    let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_' || letter == ':';
    let is_name = |name: &str| {
        name.starts_with(is_first) && name.chars().all(|letter| is_first(letter) || letter.is_ascii_digit())
    };
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.rsplit_once(' '));
    let (mut seen, mut problems) = (BTreeSet::new(), Vec::new());
    for (name, _) in types {
        if !is_name(name) {
            problems.push(format!("`{name}` cannot be the name of a metric: use letters, digits and `_`"));
        } else if !seen.insert(name) {
            problems.push(format!(
                "the metric `{name}` is registered twice, with `App::metrics` or by the framework"
            ));
        }
    }
    problems
}
