//! The queries of `deploy/dashboard.json`.

use std::fs;

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::prometheus::{Prometheus, Series};
use crate::root;

/// The dashboard's choice `All`.
const ALL_JOBS: &str = ".*";
/// Grafana's `$__rate_interval` is at least four scrapes.
const RATE_INTERVAL: &str = "10s";

/// Queries that have no result in this run, what is asked instead, and the reason.
const EMPTY: [(&str, &str, &str); 1] = [(
    "count(vestibule_ring_read_age_seconds{job=~\"$job\"} > 1800)",
    "count(vestibule_ring_read_age_seconds{job=~\"$job\"})",
    "the API server would have to be away for half an hour",
)];

/// A panel with its results.
pub(crate) struct Panel {
    pub(crate) row: String,
    pub(crate) title: String,
    /// Whether it shows one number.
    pub(crate) is_number: bool,
    pub(crate) is_stacked: bool,
    pub(crate) unit: String,
    /// The values from which a number has a colour.
    pub(crate) steps: Vec<(f64, String)>,
    /// The share of a row's width.
    pub(crate) width: f64,
    pub(crate) queries: Vec<Query>,
}

/// A query with its results for each second of the run.
pub(crate) struct Query {
    pub(crate) legend: String,
    pub(crate) series: Vec<Series>,
    /// Why it has no result here.
    pub(crate) empty: Option<&'static str>,
    /// Whether there is data for it.
    pub(crate) has_data: bool,
}

#[derive(Deserialize)]
struct Written {
    panels: Vec<Value>,
}

/// Asks Prometheus every query of every panel.
pub(crate) async fn ask(prometheus: &Prometheus) -> anyhow::Result<Vec<Panel>> {
    let dashboard: Written =
        serde_json::from_str(&fs::read_to_string(root().join("deploy/dashboard.json"))?)?;
    let (mut row, mut panels) = (String::new(), Vec::new());
    for panel in &dashboard.panels {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let title = text(&panel["title"]);
        if panel["type"] == "row" {
            row = title;
            continue;
        }
        let mut queries = Vec::new();
        for target in panel["targets"].as_array().context("a panel without queries")? {
            queries.push(query(prometheus, &text(&target["expr"]), text(&target["legendFormat"])).await?);
        }
        let defaults = &panel["fieldConfig"]["defaults"];
        panels.push(Panel {
            row: row.clone(),
            title,
            is_number: panel["type"] == "stat",
            is_stacked: defaults["custom"]["stacking"]["mode"] == "normal",
            unit: text(&defaults["unit"]),
            steps: steps(&defaults["thresholds"]["steps"]),
            width: panel["gridPos"]["w"].as_f64().unwrap_or_default() / 24.0,
            queries,
        });
    }
    Ok(panels)
}

/// The first step has no value: it is for everything below the next.
fn steps(written: &Value) -> Vec<(f64, String)> {
    let steps = written.as_array().into_iter().flatten();
    let step = |step: &Value| {
        let colour = step["color"].as_str().unwrap_or_default().to_owned();
        (step["value"].as_f64().unwrap_or(f64::NEG_INFINITY), colour)
    };
    steps.map(step).collect()
}

async fn query(prometheus: &Prometheus, expression: &str, legend: String) -> anyhow::Result<Query> {
    let here =
        |expression: &str| expression.replace("$job", ALL_JOBS).replace("$__rate_interval", RATE_INTERVAL);
    let series = prometheus.query_run(&here(expression)).await?;
    let empty = EMPTY.iter().find(|(query, ..)| *query == expression);
    let mut has_data = !series.is_empty();
    if let Some((_, instead, _)) = empty {
        has_data = !prometheus.query_run(&here(instead)).await?.is_empty();
    }
    let empty = empty.map(|(.., reason)| *reason);
    Ok(Query { legend, series, empty, has_data })
}

impl Query {
    /// The legend with the labels of a series.
    pub(crate) fn name(&self, series: &Series) -> String {
        let mut parts = self.legend.split("{{");
        let mut name = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (label, rest) = part.split_once("}}").unwrap_or((part, ""));
            name += series.labels[label.trim()].as_str().unwrap_or_default();
            name += rest;
        }
        name.trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn queries_without_a_result_are_of_the_dashboard() {
        let dashboard: Value =
            serde_json::from_str(include_str!("../../../../../deploy/dashboard.json")).unwrap();
        let targets = dashboard["panels"].as_array().unwrap().iter();
        let queries: Vec<_> = targets
            .flat_map(|panel| panel["targets"].as_array().into_iter().flatten())
            .map(|target| target["expr"].as_str().unwrap())
            .collect();
        assert!(queries.len() > 20, "{}", queries.len());
        for (query, instead, reason) in EMPTY {
            assert!(queries.contains(&query), "{query}");
            assert!(query.starts_with(instead.trim_end_matches(')')) && !reason.is_empty());
        }
    }

    #[test]
    fn a_legend_gets_the_labels_of_its_series() {
        let series = Series { labels: json!({"webhook": "check", "reason": "error"}), samples: Vec::new() };
        let query = |legend: &str| Query {
            legend: legend.to_owned(),
            series: Vec::new(),
            empty: None,
            has_data: true,
        };
        assert_eq!(query("{{webhook}} {{reason}}").name(&series), "check error");
        assert_eq!(query("repaired {{kind}}").name(&series), "repaired");
        assert_eq!(query("clock is off").name(&series), "clock is off");
    }
}
