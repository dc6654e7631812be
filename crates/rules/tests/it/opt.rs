//! Exclusions, and the opt-in table.

use vestibule_rules::{NamespaceFacts, Reason, Verb};

use crate::kit::{creation, decide, evaluate, facts, rule, rules, steps, word, words};

const CHANGE: &str = "pod: {labels: {x: y}}";

fn pod(labels: &str, annotations: &str) -> String {
    format!(
        r#"{{"metadata":{{"labels":{{"app":"web"{labels}}},"annotations":{{{annotations}}}}},"spec":{{}}}}"#
    )
}

#[test]
fn hard_exclusions() {
    let rules = rules(&rule("r", &format!("required: true\n{CHANGE}"))).with_own_namespace("vestibule");
    let plain = pod("", "");
    let subject = creation(&plain);
    assert_eq!(word(&evaluate(&rules, &subject)), "applied");
    for namespace in ["kube-system", "kube-public", "kube-node-lease"] {
        assert_eq!(word(&evaluate(&rules, &subject.namespace(namespace))), "excluded_system_namespace");
    }
    assert_eq!(word(&evaluate(&rules, &subject.namespace("vestibule"))), "excluded_own_namespace");
    assert_eq!(word(&evaluate(&rules, &subject.subresource("status"))), "excluded_subresource");
    assert_eq!(word(&evaluate(&rules, &subject.verb(Verb::Update))), "excluded_operation");
    assert_eq!(
        word(&decide(&rules, &pod("", r#""kubernetes.io/config.mirror":"x""#))),
        "excluded_mirror_pod"
    );
    assert_eq!(word(&decide(&rules, &pod(r#","vestibule.dev/injector":"true""#, ""))), "excluded_own_pod");
}

/// Every kind of opt-in, with every source of a value.
#[test]
fn the_table() {
    let own = |value: &str| pod(&format!(r#","inject.vestibule.dev/r":"{value}""#), "");
    let common = |value: &str| pod("", &format!(r#""vestibule.dev/inject":"{value}""#));
    let silent = pod("", "");
    let plain = NamespaceFacts::default();
    let space = |key: &str, value: &str| facts(&[(key, value)]);
    let both = [
        // object, namespace facts, then the outcome under namespace, pod, either, always
        (silent.clone(), plain.clone(), ["-", "-", "-", "in"]),
        (own("true"), plain.clone(), ["-", "in", "in", "in"]),
        (own("false"), plain.clone(), ["out", "out", "out", "out"]),
        (common("true"), plain.clone(), ["-", "in", "in", "in"]),
        (common("false"), plain.clone(), ["out", "out", "out", "out"]),
        (common("r,other"), plain.clone(), ["-", "in", "in", "in"]),
        (common("other"), plain.clone(), ["-", "out", "out", "in"]),
        (silent.clone(), space("inject.vestibule.dev/r", "true"), ["in", "-", "in", "in"]),
        (silent.clone(), space("inject.vestibule.dev/r", "false"), ["out", "-", "out", "out"]),
        (silent.clone(), space("vestibule.dev/inject", "true"), ["in", "-", "in", "in"]),
        (silent.clone(), space("vestibule.dev/inject", "false"), ["out", "-", "out", "out"]),
        (own("false"), space("vestibule.dev/inject", "true"), ["out", "out", "out", "out"]),
        (own("true"), space("vestibule.dev/inject", "false"), ["out", "in", "in", "in"]),
        (common("false"), space("inject.vestibule.dev/r", "true"), ["out", "out", "out", "out"]),
    ];
    for (column, opt_in) in ["namespace", "pod", "either", "always"].into_iter().enumerate() {
        let other = rule("other", &format!("order: 1\n{}", CHANGE.replace('x', "z")));
        let rules = rules(&(rule("r", &format!("optIn: {opt_in}\n{CHANGE}")) + &other));
        for (row, (object, facts, expected)) in both.iter().enumerate() {
            let subject = creation(object).facts(facts);
            let found = match words(&evaluate(&rules, &subject))[0] {
                "applied" => "in",
                "opted_out" => "out",
                "not_opted_in" => "-",
                other => other,
            };
            assert_eq!(found, expected[column], "row {row}, optIn {opt_in}");
        }
    }
}

#[test]
fn accepted_values_are_named_once() {
    let spec = format!("optIn: pod\ncompatAnnotations: {{old.io/inject: ['true', 'on', 'false']}}\n{CHANGE}");
    let object = pod("", r#""old.io/inject":"perhaps""#);
    let decision = decide(&rules(&rule("r", &spec)), &object);
    assert!(decision.warnings[0].ends_with("it reads `true`, `false`, `on`"), "{:?}", decision.warnings);
}

/// Another injector's annotation has precedence over the common key and not over the rule's own key.
#[test]
fn annotations_of_other_injectors() {
    const COMPAT: &str = "compatAnnotations: {old.io/inject: ['yes', 'on'], older.io/inject: ['y']}";
    let says = |labels: &str, annotations: &str| pod(labels, annotations);
    let (no, yes) = (r#","inject.vestibule.dev/r":"false""#, r#","inject.vestibule.dev/r":"true""#);
    let rows = [
        // object, then the outcome under namespace, pod, either, always
        (says("", r#""old.io/inject":"yes""#), ["not_opted_in", "applied", "applied", "applied"]),
        (says("", r#""old.io/inject":"true""#), ["not_opted_in", "applied", "applied", "applied"]),
        (says("", r#""old.io/inject":"false""#), ["opted_out"; 4]),
        (says("", r#""old.io/inject":"no""#), ["invalid_value"; 4]),
        (says("", r#""older.io/inject":"yes""#), ["invalid_value"; 4]),
        (says(no, r#""old.io/inject":"yes""#), ["opted_out"; 4]),
        (says(yes, r#""old.io/inject":"no""#), ["not_opted_in", "applied", "applied", "applied"]),
        (says("", r#""old.io/inject":"false","older.io/inject":"y""#), ["opted_out"; 4]),
        (
            says("", r#""old.io/inject":"on","vestibule.dev/inject":"false""#),
            ["not_opted_in", "applied", "applied", "applied"],
        ),
        (says("", r#""old.io/inject":"false","vestibule.dev/inject":"r""#), ["opted_out"; 4]),
        (says(r#","old.io/inject":"yes""#, ""), ["not_opted_in", "not_opted_in", "not_opted_in", "applied"]),
    ];
    for (column, opt_in) in ["namespace", "pod", "either", "always"].into_iter().enumerate() {
        for required in [false, true] {
            let spec = format!("optIn: {opt_in}\nrequired: {required}\n{COMPAT}\n{CHANGE}");
            let rules = rules(&rule("r", &spec));
            for (row, (object, expected)) in rows.iter().enumerate() {
                let found = word(&evaluate(&rules, &creation(object).facts(&NamespaceFacts::default())));
                let expected = match expected[column] {
                    "invalid_value" if required => "denied",
                    other => other,
                };
                assert_eq!(found, expected, "row {row}, optIn {opt_in}, required {required}");
            }
        }
    }
}

#[test]
fn unknown_names_in_a_list_are_warnings() {
    let rules = rules(&rule("r", &format!("optIn: pod\n{CHANGE}")));
    let decision = decide(&rules, &pod("", r#""vestibule.dev/inject":"r,nobody""#));
    assert_eq!((word(&decision), decision.warnings.len()), ("applied", 1));
    assert_eq!(
        decision.warnings[0],
        "name 2 in vestibule.dev/inject of the object is not the name of a rule"
    );
}

/// For a required rule too, a list of other rules opts out, and the pod is not denied.
#[test]
fn a_list_of_unknown_rules_is_a_list() {
    for value in ["gone", "gone, lost", "yes"] {
        let names = pod("", &format!(r#""vestibule.dev/inject":"{value}""#));
        for (opt_in, expected) in [
            ("pod", "opted_out"),
            ("either", "opted_out"),
            ("always", "applied"),
            ("namespace", "not_opted_in"),
        ] {
            let rules = rules(&rule("r", &format!("optIn: {opt_in}\nrequired: true\n{CHANGE}")));
            let plain = NamespaceFacts::default();
            let decision = evaluate(&rules, &creation(&names).facts(&plain));
            assert_eq!(word(&decision), expected, "{value}, optIn {opt_in}");
            assert_eq!(decision.warnings.len(), value.split(',').count(), "{:?}", decision.warnings);
        }
    }
    for value in ["", "r,", "Yes", "r;s"] {
        let names = pod("", &format!(r#""vestibule.dev/inject":"{value}""#));
        assert_eq!(word(&decide(&rules(&rule("r", CHANGE)), &names)), "invalid_value", "{value}");
    }
}

#[test]
fn an_explanation_points_at_the_clause() {
    let rules = rules(&rule("r", &format!("optIn: pod\n{CHANGE}")));
    let decision = decide(&rules, &pod("", ""));
    let verdict = &decision.verdicts[0];
    assert_eq!((&*verdict.rule, &*verdict.source, verdict.line), ("r", "rules.yaml", 7));
    assert!(steps(&decision).is_empty());
}

#[test]
fn rules_without_namespace_conditions_need_no_facts() {
    let always = rules(&rule("r", CHANGE));
    assert!(!always.needs_namespace_facts());
    assert_eq!(word(&decide(&always, &pod("", ""))), "applied");
    let asks = rules(&rule("r", &format!("optIn: either\nrequired: true\n{CHANGE}")));
    assert!(asks.needs_namespace_facts());
    assert_eq!(word(&decide(&asks, &pod("", ""))), "denied");
}

/// The reference has exactly one row for each reason.
#[test]
fn the_page_names_every_reason() {
    let page = include_str!("../pages/opt-in.md");
    let rows = page.lines().filter(|line| line.starts_with('|') && !line.starts_with("| Gate | Where"));
    let last = rows.filter_map(|row| row.trim_end_matches('|').rsplit('|').next());
    let words = last.filter_map(|cell| cell.trim().strip_prefix('`')?.split('`').next());
    let mut told: Vec<&str> = words.collect();
    let mut known: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    told.sort_unstable();
    known.sort_unstable();
    assert_eq!(told, known);
    for gate in ["exclusions", "exemptions", "targets", "namespace", "opt.8", "object", "job", "rollout"] {
        assert!(page.contains(&format!("| `{gate}`")), "{gate}");
    }
    let starred: Vec<&str> =
        Reason::ALL.iter().filter(|one| one.is_unexpected()).map(|one| one.as_str()).collect();
    for reason in starred {
        assert!(page.contains(&format!("`{reason}` (*")), "{reason}");
    }
}
