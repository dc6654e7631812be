//! Findings as JSON and SARIF, and the table of codes.

use serde_json::Value;
use vestibule_rules::{API_VERSION, CODES, Diagnostic, RuleSet, diagnostic};

use crate::kit::{rule, schema};

fn findings() -> Vec<Diagnostic> {
    let (one, two) = (rule("a", "sidecars: [{name: s, env: {A: hunter2}}]"), "kind: ConfigMap\n---\na: [\n");
    RuleSet::load([("./rules/one.yaml", &*one), ("b c.yaml", two)], schema()).err().unwrap()
}

#[test]
fn json_has_one_object_for_each_finding() {
    let found: Value = serde_json::from_str(&diagnostic::json(&findings())).unwrap();
    let shown: Vec<String> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!("{} {} {} {}:{}", one["severity"], one["code"], one["source"], one["line"], one["column"])
        })
        .collect();
    let expected = [
        r#""error" "VST0111" "./rules/one.yaml" 7:29"#,
        r#""error" "VST0115" "b c.yaml" 1:1"#,
        r#""error" "VST0101" "b c.yaml" 3:4"#,
    ];
    assert_eq!(shown, expected);
    assert!(found[1]["help"].as_str().unwrap().contains("kind: Injection"));
    assert!(!found.to_string().contains("hunter2"));
}

#[test]
fn sarif_has_the_members_that_code_hosts_read() {
    let log: Value = serde_json::from_str(&diagnostic::sarif(&findings())).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(
        rules.iter().all(|rule| rule["help"]["text"].as_str().unwrap().contains("vestibule explain VST0"))
    );
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        assert_eq!(result["level"], "error");
    }
    let place = &results[1]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "b%20c.yaml");
    assert_eq!(place["region"], serde_json::json!({"startLine": 1, "startColumn": 1}));
    let empty: Value = serde_json::from_str(&diagnostic::sarif(&[])).unwrap();
    assert_eq!(empty["runs"][0]["results"], serde_json::json!([]));
}

/// A code host shows a result in a file of the repository, and there is none with the name of a key.
#[test]
fn sarif_places_the_value_of_a_config_map_in_its_manifest() {
    let found = RuleSet::load([("rules/map.yaml, key a.json", "\n\nkind: Pod")], schema()).err().unwrap();
    let log: Value = serde_json::from_str(&diagnostic::sarif(&found)).unwrap();
    let result = &log["runs"][0]["results"][0];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "rules/map.yaml");
    assert_eq!(place["region"], serde_json::json!({"startLine": 1, "startColumn": 1}));
    assert!(result["message"]["text"].as_str().unwrap().starts_with("key a.json, line 3: "), "{result}");
}

/// The demands of the published SARIF 2.1.0 schema on our output: no unknown members, and numbers that count from
/// one. `VESTIBULE_SARIF` names a file that gets the log, for a validator.
#[test]
fn sarif_has_the_members_of_its_schema() {
    let long = format!("{}: 1\n", "x".repeat(300));
    let texts = [
        ("rules/a b.yaml", ""),
        ("/etc/c.yaml", "\u{e4}: [\n"),
        ("ConfigMap a/b, key \u{e4}", long.as_str()),
    ];
    let mut found = findings();
    found.extend(RuleSet::load(texts, schema()).err().unwrap());
    let loaded =
        RuleSet::load([("lint.yaml", &*rule("a", "sidecars: [{name: s, image: s}]"))], schema()).unwrap();
    found.extend(loaded.lint());
    let text = diagnostic::sarif(&found);
    if let Some(file) = std::env::var_os("VESTIBULE_SARIF") {
        std::fs::write(file, &text).unwrap();
    }
    let log: Value = serde_json::from_str(&text).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert!(results.iter().any(|result| result["level"] == "note"), "a hint is a note");
    assert_allowed(&log, &["$schema", "version", "runs"]);
    let run = &log["runs"][0];
    assert_allowed(run, &["tool", "columnKind", "results"]);
    assert!(["utf16CodeUnits", "unicodeCodePoints"].contains(&run["columnKind"].as_str().unwrap()));
    let driver = &run["tool"]["driver"];
    assert_allowed(driver, &["name", "version", "rules"]);
    for rule in driver["rules"].as_array().unwrap() {
        assert_allowed(rule, &["id", "shortDescription", "fullDescription", "help"]);
        for words in ["shortDescription", "fullDescription", "help"] {
            assert_allowed(&rule[words], &["text"]);
        }
    }
    for result in results {
        assert_allowed(result, &["ruleId", "ruleIndex", "level", "message", "locations"]);
        assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
        assert_allowed(&result["message"], &["text"]);
        let place = &result["locations"][0]["physicalLocation"];
        assert_allowed(place, &["artifactLocation", "region"]);
        let reference = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(reference.is_ascii() && !reference.contains([' ', '\\', '{']), "{reference}");
        assert_allowed(&place["region"], &["startLine", "startColumn"]);
        let counted = |member: &str| place["region"][member].as_u64().unwrap();
        assert!(counted("startLine") >= 1 && counted("startColumn") >= 1, "{place}");
    }
}

#[track_caller]
fn assert_allowed(object: &Value, members: &[&str]) {
    let found: Vec<&String> = object.as_object().unwrap().keys().collect();
    assert!(found.iter().all(|name| members.contains(&name.as_str())), "{found:?}");
}

#[test]
fn findings_are_in_the_order_of_the_sources() {
    let texts = [("z.yaml", "- 1\n---\nb: 1\nb: 2\n"), ("a.yaml", "- 1\n")];
    let found = RuleSet::load(texts, schema()).err().unwrap();
    let places: Vec<String> =
        found.iter().map(|one| format!("{}:{} {}", one.source(), one.position(), one.code().id)).collect();
    assert_eq!(
        places,
        ["z.yaml:1:1 VST0111", "z.yaml:3:1 VST0115", "z.yaml:4:1 VST0102", "a.yaml:1:1 VST0111"]
    );
}

/// Codes whose examples would be too long.
const LONG: &[&str] = &["VST0107", "VST0109"];

/// Codes that other crates report, because they need more than a text.
const ELSEWHERE: &[&str] = &["VST0108", "VST0180", "VST0190", "VST0191"];

#[test]
fn every_example_leads_to_its_code() {
    for code in CODES {
        let Some(text) = code.example() else {
            assert!(LONG.contains(&code.id) || ELSEWHERE.contains(&code.id), "{} has no example", code.id);
            continue;
        };
        let found = match RuleSet::load([("example.yaml", text)], schema()) {
            Ok(rules) => {
                let proof = rules.prove().err().unwrap_or_default();
                [rules.warnings(), &rules.lint(), &proof].concat()
            }
            Err(findings) => findings,
        };
        assert!(found.iter().any(|one| one.code() == *code), "{}: {found:?}\n{text}", code.id);
    }
}

#[test]
fn the_page_of_codes_is_up_to_date() {
    let text = include_str!("../../src/diagnostic/codes.md");
    let headings = text.lines().filter_map(|line| line.strip_prefix("## "));
    assert!(headings.eq(CODES.iter().map(|code| format!("{}: {}", code.id, code.title))));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages/codes.md");
    if std::env::var_os("VESTIBULE_UPDATE_GOLDEN").is_some() {
        std::fs::write(path, text).unwrap();
    }
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert!(page == text, "docs/reference/codes.md is out of date");
    assert!(page.contains(API_VERSION));
}
