//! `vestibule test`: cases that pass and cases that fail.

use crate::fixture::{Folder, POD, REQUIRED, TARGET};

const CASES: &str = "\
rules: rules.yaml
cases:
- name: a pod of the application
  namespace: {name: shop}
  object:
    apiVersion: v1
    kind: Pod
    metadata: {name: web, labels: {app: web}}
    spec: {containers: [{name: side}, {name: app}]}
  expect:
    rules: {target: applied}
    contains: {spec: {containers: [{name: app, env: [{name: TARGET, value: hall}]}]}}
    result: web.golden.yaml
    warnings: []
- name: another pod
  object: {apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {containers: [{name: app}]}}
  expect: {rules: {target: labels_not_matched}}
- name: a file
  file: pod.yaml
  expect: {rules: {target: applied}}
";

fn folder(cases: &str) -> Folder {
    Folder::with(&[("rules.yaml", TARGET), ("pod.yaml", POD), ("cases.yaml", cases)])
}

#[test]
fn cases_hold_once_their_results_are_written() {
    let folder = folder(CASES);
    folder
        .run("test cases.yaml")
        .exits(1)
        .shows("there is no web.golden.yaml; `vestibule test --update` writes it");

    let written = folder.run("test cases.yaml --update").stdout();
    assert_eq!(
        written,
        "cases.yaml\n  written  a pod of the application  cases.yaml:3\n           web.golden.yaml\n  \
         ok       another pod  cases.yaml:15\n  ok       a file  cases.yaml:18\n3 cases: all as expected\n"
    );
    let golden = std::fs::read_to_string(folder.path().join("web.golden.yaml")).unwrap();
    assert!(golden.contains("  - name: app\n    env:\n    - name: TARGET\n      value: hall\n"), "{golden}");
    // In a folder only files of cases are read.
    for arguments in ["test cases.yaml", "test ."] {
        let out = folder.run(arguments).stdout();
        assert!(out.ends_with("3 cases: all as expected\n") && !out.contains("written"), "{out}");
    }
}

#[test]
fn a_failed_case_shows_the_difference_and_the_outcomes_of_rules() {
    let wrong = CASES
        .replace("{target: applied}\n    contains", "{target: not_opted_in, nobody: applied}\n    contains")
        .replace("value: hall", "value: cellar")
        .replace("result: web.golden.yaml", "result: {kind: Pod}")
        .replace("warnings: []", "warnings: [odd]\n    denied: no");
    let done = folder(&wrong).run("test cases.yaml");
    done.exits(1);
    for line in [
        "  FAILED   a pod of the application  cases.yaml:3",
        "           rule target: expected not_opted_in, found applied",
        "           rule nobody: there is none of this name",
        "           expected to be denied, and is not",
        "           no warning with `odd`",
        "           contains: spec.containers[app].env[TARGET].value is \"hall\", not \"cellar\"",
        "           result: expected (-), found (+)",
        "           +apiVersion: v1",
        "         what the rules did",
        "           + spec.containers[app].env[TARGET]  rule target, containerPatches[0].env[0]  rules.yaml:9",
        "3 cases: 1 not as expected",
    ] {
        assert!(done.out.lines().any(|shown| shown == line), "{line}\nin\n{}", done.out);
    }
    let json = folder(&wrong).run("test cases.yaml -o json");
    json.exits(1);
    let cases = json.json();
    assert_eq!((&cases[0]["ok"], &cases[1]["ok"]), (&false.into(), &true.into()));
    assert_eq!(cases[0]["line"], 3);
    let yaml = folder(&wrong).run("test cases.yaml -o yaml").out;
    assert!(yaml.starts_with("- ") && yaml.contains("  line: 3\n"), "{yaml}");
}

#[test]
fn denials_are_expected_by_part_of_their_message() {
    let cases = "\
rules: rules.yaml
cases:
- name: a volume of this name
  object:
    {apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {containers: [{name: a}], volumes: [{name: data, hostPath: {path: /}}]}}
  expect: {rules: {data: denied}, denied: volume}
- name: nothing is expected
  object:
    {apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {containers: [{name: a}], volumes: [{name: data, hostPath: {path: /}}]}}
  expect: {}
";
    let folder = Folder::with(&[("rules.yaml", REQUIRED), ("cases.yaml", cases)]);
    folder
        .run("test cases.yaml")
        .exits(1)
        .shows("  ok       a volume of this name")
        .shows("           denied: rule data cannot be applied: ");
}

#[test]
fn cases_that_cannot_be_read_are_shown_where_they_stand() {
    for (cases, place, words) in [
        (
            CASES.replace("expect: {rules: {target: labels", "expects: {rules: {target: labels"),
            "17:3",
            "there is no field `expects` here",
        ),
        (CASES.replace("file: pod.yaml", "file: absent.yaml"), "19:9", "cannot read absent.yaml"),
        (CASES.replace("rules: rules.yaml\n", ""), "1:1", "`rules` is missing"),
        (
            CASES.replace("  file: pod.yaml\n", "  operation: PATCH\n  file: pod.yaml\n"),
            "19:14",
            "`operation` is one of CREATE",
        ),
        (CASES.replace("apiVersion: v1\n    kind: Pod\n", "kind: Pod\n"), "6:5", "VST0108"),
    ] {
        folder(&cases).run("test cases.yaml").fails(2, format!("cases.yaml:{place}")).tells(words);
    }
    for arguments in ["test absent", "test rules.yaml", "test nothing.yaml"] {
        let folder = folder(CASES);
        folder.write("nothing.yaml", "");
        assert_eq!(folder.run(arguments).code(), 2, "{arguments}");
    }
    let broken = Folder::with(&[("rules.yaml", "kind: x"), ("pod.yaml", POD), ("cases.yaml", CASES)]);
    assert_eq!(broken.run("test cases.yaml").code(), 2);
}

#[test]
fn rules_are_no_cases() {
    let done = Folder::with(&[("rules.yaml", TARGET)]).run("test rules.yaml");
    done.exits(2);
    assert_eq!(done.err.matches("error[").count(), 1, "{}", done.err);
    done.tells("rules.yaml:1:13");
}
