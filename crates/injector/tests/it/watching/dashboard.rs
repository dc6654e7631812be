//! deploy/dashboard.json: one dashboard for Grafana, written from the table below.

use serde_json::{Value, json};

use super::{Known, path, read};

const FILE: &str = "deploy/dashboard.json";

/// The number of columns of a Grafana dashboard.
const WIDTH: usize = 24;
const HEIGHT: usize = 8;

/// A row of panels that share the width.
struct Row {
    title: &'static str,
    panels: &'static [Panel],
}

/// A panel and its description.
struct Panel {
    title: &'static str,
    description: &'static str,
    shape: Shape,
    unit: &'static str,
    /// Legend and query of each line.
    queries: &'static [(&'static str, &'static str)],
}

enum Shape {
    /// One number, red below the first bound and green from there.
    Number(f64),
    Lines,
    /// Stacked areas.
    Stack,
}

const ROWS: &[Row] = &[
    Row {
        title: "At a glance",
        panels: &[
            Panel {
                title: "Ready replicas",
                description: "With none, no call is answered.",
                shape: Shape::Number(1.0),
                unit: "short",
                queries: &[("", "sum(vestibule_ready{job=~\"$job\"})")],
            },
            Panel {
                title: "Calls with a verdict",
                description: "The share of calls to a hook that got a verdict. failurePolicy decides the others.",
                shape: Shape::Number(0.99),
                unit: "percentunit",
                queries: &[(
                    "",
                    "1 - sum(rate(vestibule_admission_undecided_total{job=~\"$job\"}[$__rate_interval])) \
                     / sum(rate(vestibule_admission_duration_seconds_count{job=~\"$job\"}[$__rate_interval]))",
                )],
            },
            Panel {
                title: "Bundles in sync",
                description: "The share of configurations of a ring with the right caBundle. Calls of the others fail.",
                shape: Shape::Number(1.0),
                unit: "percentunit",
                queries: &[("", "avg(vestibule_cabundle_in_sync{job=~\"$job\"})")],
            },
            Panel {
                title: "First certificate to end",
                description: "Certificates renew themselves after two thirds of their life.",
                shape: Shape::Number(86_400.0),
                unit: "s",
                queries: &[(
                    "",
                    "min(vestibule_certificate_not_after_seconds{job=~\"$job\",role=~\"leaf|active\"}) - time()",
                )],
            },
            Panel {
                title: "Newest rules in force",
                description: "The replicas of an injector whose newest rules are all in force.",
                shape: Shape::Number(1.0),
                unit: "percentunit",
                queries: &[("", "avg(vestibule_config_last_reload_success{job=~\"$job\"})")],
            },
            Panel {
                title: "Objects passed unseen",
                description: "Calls in an hour that failed under failurePolicy Ignore, counted by the API server.",
                shape: Shape::Number(-1.0),
                unit: "short",
                queries: &[(
                    "",
                    "sum(increase(apiserver_admission_webhook_fail_open_count{name=~\".+[.]vestibule[.]dev\"}[1h]))",
                )],
            },
        ],
    },
    Row {
        title: "Calls",
        panels: &[
            Panel {
                title: "Decisions",
                description: "Calls per second, by verdict.",
                shape: Shape::Stack,
                unit: "reqps",
                queries: &[(
                    "{{webhook}} {{decision}}",
                    "sum by (webhook, decision) (rate(vestibule_admission_requests_total{job=~\"$job\"}[$__rate_interval]))",
                )],
            },
            Panel {
                title: "Duration",
                description: "From a request's head to its answer: half of the calls are faster than the first line, 99 of 100 than the second.",
                shape: Shape::Lines,
                unit: "s",
                queries: &[
                    (
                        "{{webhook}} p50",
                        "histogram_quantile(0.5, sum by (webhook, le) (rate(vestibule_admission_duration_seconds_bucket{job=~\"$job\"}[$__rate_interval])))",
                    ),
                    (
                        "{{webhook}} p99",
                        "histogram_quantile(0.99, sum by (webhook, le) (rate(vestibule_admission_duration_seconds_bucket{job=~\"$job\"}[$__rate_interval])))",
                    ),
                ],
            },
            Panel {
                title: "No verdict",
                description: "Calls per second that failurePolicy decided, by cause.",
                shape: Shape::Stack,
                unit: "reqps",
                queries: &[(
                    "{{webhook}} {{reason}}",
                    "sum by (webhook, reason) (rate(vestibule_admission_undecided_total{job=~\"$job\"}[$__rate_interval]))",
                )],
            },
        ],
    },
    Row {
        title: "Front door",
        panels: &[
            Panel {
                title: "Limits",
                description: "The share of each limit in use, of the replica that uses most.",
                shape: Shape::Lines,
                unit: "percentunit",
                queries: &[(
                    "{{what}}",
                    "max by (what) (vestibule_server_held{job=~\"$job\"} / on (job, instance, what) vestibule_server_limit)",
                )],
            },
            Panel {
                title: "Refused",
                description: "Requests per second that were answered without a hook.",
                shape: Shape::Stack,
                unit: "reqps",
                queries: &[(
                    "{{reason}}",
                    "sum by (reason) (rate(vestibule_admission_refused_total{job=~\"$job\"}[$__rate_interval]))",
                )],
            },
            Panel {
                title: "Connections that ended",
                description: "Closed connections per second, by reason. Age and client are normal.",
                shape: Shape::Stack,
                unit: "cps",
                queries: &[
                    (
                        "{{reason}}",
                        "sum by (reason) (rate(vestibule_connections_closed_total{job=~\"$job\"}[$__rate_interval]))",
                    ),
                    (
                        "handshakes that failed",
                        "sum(rate(vestibule_handshakes_failed_total{job=~\"$job\"}[$__rate_interval]))",
                    ),
                ],
            },
        ],
    },
    Row {
        title: "Certificates",
        panels: &[
            Panel {
                title: "Time left",
                description: "The time until the first certificate in each role expires.",
                shape: Shape::Lines,
                unit: "s",
                queries: &[(
                    "{{role}}",
                    "min by (role) (vestibule_certificate_not_after_seconds{job=~\"$job\"}) - time()",
                )],
            },
            Panel {
                title: "Rotations and repairs",
                description: "In an hour. A repair means that another writer changes a caBundle.",
                shape: Shape::Lines,
                unit: "short",
                queries: &[
                    (
                        "{{result}}",
                        "sum by (result) (increase(vestibule_certificate_rotations_total{job=~\"$job\"}[1h]))",
                    ),
                    (
                        "repaired {{kind}}/{{name}}",
                        "sum by (kind, name) (increase(vestibule_cabundle_repairs_total{job=~\"$job\"}[1h]))",
                    ),
                    (
                        "ring discontinued",
                        "sum(increase(vestibule_ring_discontinuities_total{job=~\"$job\"}[1h]))",
                    ),
                ],
            },
            Panel {
                title: "Why a rotation waits",
                description: "Empty while no rotation is due or held up.",
                shape: Shape::Lines,
                unit: "short",
                queries: &[
                    ("{{reason}}", "max by (reason) (vestibule_rotation_blocked{job=~\"$job\"}) > 0"),
                    ("clock is off", "max(abs(vestibule_clock_skew_seconds{job=~\"$job\"})) > 300"),
                    ("ring is not read", "max(vestibule_ring_read_age_seconds{job=~\"$job\"}) > 1800"),
                ],
            },
        ],
    },
    Row {
        title: "Injector",
        panels: &[
            Panel {
                title: "Injections",
                description: "Rules per second that were applied, or would have been applied in the mode observe.",
                shape: Shape::Stack,
                unit: "ops",
                queries: &[(
                    "{{rule}} {{result}}",
                    "sum by (rule, result) (rate(vestibule_injections_total{job=~\"$job\",result=~\"applied|observed|denied\"}[$__rate_interval]))",
                )],
            },
            Panel {
                title: "Left alone",
                description: "Rules per second that an object asked for and did not get.",
                shape: Shape::Stack,
                unit: "ops",
                queries: &[(
                    "{{rule}} {{reason}}",
                    "sum by (rule, reason) (rate(vestibule_injections_total{job=~\"$job\",reason=~\"conflict|error|invalid_value|invalid_parameter|invalid_object|namespace_unknown|job_without_native_sidecar\"}[$__rate_interval]))",
                )],
            },
        ],
    },
    Row {
        title: "Process",
        panels: &[
            Panel {
                title: "Memory",
                description: "Resident memory, by replica.",
                shape: Shape::Lines,
                unit: "bytes",
                queries: &[("{{instance}}", "process_resident_memory_bytes{job=~\"$job\"}")],
            },
            Panel {
                title: "Processor",
                description: "CPU cores in use, by replica, and the number of threads.",
                shape: Shape::Lines,
                unit: "short",
                queries: &[
                    ("{{instance}}", "rate(process_cpu_seconds_total{job=~\"$job\"}[$__rate_interval])"),
                    ("{{instance}} threads", "vestibule_worker_threads{job=~\"$job\"}"),
                ],
            },
            Panel {
                title: "Objects in memory",
                description: "Objects that watches keep in memory for lookups.",
                shape: Shape::Lines,
                unit: "short",
                queries: &[("{{kind}}", "max by (kind) (vestibule_store_objects{job=~\"$job\"})")],
            },
        ],
    },
];

fn dashboard() -> Value {
    let (mut panels, mut down) = (Vec::new(), 0);
    for Row { title, panels: of_row } in ROWS {
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
        "panels": panels,
    })
}

fn panel(Panel { title, description, shape, unit, queries }: &Panel, id: usize, place: &Value) -> Value {
    let targets = queries.iter().zip('A'..).map(|((legend, query), letter)| {
        json!({"refId": letter, "expr": query, "legendFormat": legend, "datasource": source()})
    });
    let targets: Vec<_> = targets.collect();
    let (kind, defaults, options) = match shape {
        Shape::Number(from) => {
            let (below, above) = if *from < 0.0 { ("green", "red") } else { ("red", "green") };
            let bound = if *from < 0.0 { 1.0 } else { *from };
            let steps = json!([{"color": below, "value": null}, {"color": above, "value": bound}]);
            let defaults = json!({"unit": unit, "thresholds": {"mode": "absolute", "steps": steps}});
            (
                "stat",
                defaults,
                json!({"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "background"}),
            )
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
fn the_dashboard_is_what_the_table_says() {
    let now = serde_json::to_string_pretty(&dashboard()).unwrap() + "\n";
    if std::env::var_os("VESTIBULE_UPDATE_GOLDEN").is_some() {
        std::fs::write(path(FILE), now).unwrap();
        return;
    }
    assert!(read(FILE) == now, "{FILE} is not what would be written now: set VESTIBULE_UPDATE_GOLDEN=1");
}

/// Checks the file that Grafana reads, not the table.
#[test]
fn each_panel_asks_for_what_is_measured() {
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
fn every_metric_is_looked_at() {
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
