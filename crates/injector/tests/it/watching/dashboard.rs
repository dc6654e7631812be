//! deploy/dashboard.json: one dashboard for Grafana, written from panels.yaml.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Known, path, read};

const FILE: &str = "deploy/dashboard.json";

/// The number of columns of a Grafana dashboard.
const WIDTH: usize = 24;
const HEIGHT: usize = 8;

/// A row of `panels.yaml`.
#[derive(Deserialize)]
struct Row {
    title: String,
    panels: Vec<Panel>,
}

#[derive(Deserialize)]
struct Panel {
    title: String,
    description: String,
    shape: Shape,
    unit: String,
    queries: Vec<Query>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Shape {
    Number(f64),
    Lines,
    Stack,
}

#[derive(Deserialize)]
struct Query {
    legend: String,
    query: String,
}

fn dashboard() -> Value {
    let (mut panels, mut down) = (Vec::new(), 0);
    let rows: Vec<Row> = serde_saphyr::from_str(include_str!("panels.yaml")).unwrap();
    for Row { title, panels: of_row } in rows {
        panels.push(json!({
            "id": panels.len() + 1, "type": "row", "title": title, "collapsed": false, "panels": [],
            "gridPos": {"x": 0, "y": down, "w": WIDTH, "h": 1},
        }));
        down += 1;
        let height = if matches!(of_row[0].shape, Shape::Number(_)) { HEIGHT / 2 } else { HEIGHT };
        let width = WIDTH / of_row.len();
        for (position, one) in of_row.iter().enumerate() {
            let place = json!({"x": position * width, "y": down, "w": width, "h": height});
            panels.push(panel(one, panels.len() + 1, &place));
        }
        down += height;
    }
    json!({
        "uid": "vestibule",
        "title": "Vestibule",
        "description": "An admission webhook, by its own metrics (docs/reference/metrics.md) and the API server's.",
        "tags": ["kubernetes", "admission"],
        "schemaVersion": 38,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
            {
                "name": "job", "label": "Job", "type": "query", "datasource": source(), "refresh": 2,
                "query": {"query": "label_values(vestibule_build_info, job)", "refId": "job"},
                "multi": true, "includeAll": true, "allValue": ".*",
                "current": {"text": "All", "value": "$__all"},
            },
        ]},
        "annotations": {"list": []},
        "panels": panels,
    })
}

fn panel(Panel { title, description, shape, unit, queries }: &Panel, id: usize, place: &Value) -> Value {
    let targets = queries.iter().zip('A'..).map(|(Query { legend, query }, letter)| {
        json!({"refId": letter, "expr": query, "legendFormat": legend, "datasource": source()})
    });
    let targets: Vec<_> = targets.collect();
    let (kind, defaults, options) = match shape {
        Shape::Number(from) => {
            let (below, above) = if *from < 0.0 { ("green", "red") } else { ("red", "green") };
            let bound = if *from < 0.0 { 1.0 } else { *from };
            let steps = json!([{"color": below, "value": null}, {"color": above, "value": bound}]);
            let defaults = json!({"unit": unit, "thresholds": {"mode": "absolute", "steps": steps}});
            // Grafana's published types require all of them.
            let options = json!({
                "reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "background", "graphMode": "none",
                "justifyMode": "auto", "textMode": "auto", "wideLayout": true, "orientation": "auto",
                "showPercentChange": false, "percentChangeColorMode": "standard",
            });
            ("stat", defaults, options)
        }
        Shape::Lines | Shape::Stack => {
            let stacked = matches!(shape, Shape::Stack);
            let custom = json!({
                "fillOpacity": if stacked { 40 } else { 0 },
                "stacking": {"mode": if stacked { "normal" } else { "none" }},
                "showPoints": "never",
            });
            let legend =
                json!({"showLegend": true, "displayMode": "list", "placement": "bottom", "calcs": []});
            let options = json!({"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}});
            ("timeseries", json!({"unit": unit, "min": 0, "custom": custom}), options)
        }
    };
    json!({
        "id": id, "type": kind, "title": title, "description": description, "gridPos": place, "datasource": source(),
        "fieldConfig": {"defaults": defaults, "overrides": []}, "options": options, "targets": targets,
    })
}

fn source() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}

#[test]
fn the_dashboard_matches_the_table() {
    let now = serde_json::to_string_pretty(&dashboard()).unwrap() + "\n";
    if std::env::var_os("VESTIBULE_UPDATE_GOLDEN").is_some() {
        std::fs::write(path(FILE), now).unwrap();
        return;
    }
    assert!(read(FILE) == now, "{FILE} is not what would be written now: set VESTIBULE_UPDATE_GOLDEN=1");
}

/// Checks the file that Grafana reads, not the table.
#[test]
fn each_panel_uses_metrics_that_exist() {
    let known = Known::all();
    let file: Value = serde_json::from_str(&read(FILE)).unwrap();
    let mut asked = 0;
    for panel in file["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"]
                .as_str()
                .unwrap()
                .replace("\"$job\"", "\".*\"")
                .replace("$__rate_interval", "5m");
            let missing = known.missing(&query);
            assert!(missing.is_empty(), "{} asks for {missing:?}, which is not served", panel["title"]);
            let labels = known.labels(&query);
            let legend = target["legendFormat"].as_str().unwrap();
            for label in
                legend.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(label, _)| label)
            {
                assert!(labels.contains(label), "{}: no label {label}", panel["title"]);
            }
            asked += 1;
        }
    }
    assert!(asked >= 20, "{asked}");
}

/// Every metric is in the dashboard, in an alert, or in the list of metrics for queries.
#[test]
fn every_metric_is_in_a_panel_an_alert_or_the_list() {
    const FOR_QUERIES_ALONE: [&str; 8] = [
        "process_start_time_seconds",
        "process_open_fds",
        "process_max_fds",
        "vestibule_ca_generation",
        "vestibule_build_info",
        "vestibule_config_info",
        "vestibule_config_last_reload_success_timestamp_seconds",
        "vestibule_client_identity_total",
    ];
    let watched = read(FILE) + &read("deploy/alerts.yaml");
    let unseen: Vec<_> = super::all_rows()
        .iter()
        .flat_map(super::samples)
        .filter(|sample| !watched.contains(sample.trim_end_matches("_sum").trim_end_matches("_count")))
        .filter(|sample| !FOR_QUERIES_ALONE.contains(&sample.as_str()))
        .collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}
