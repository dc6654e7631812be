//! Hostile annotations and hostile expressions.

use cpu_time::ThreadTime;
use proptest::prelude::*;
use serde_json::Value;

use super::{APP, CPU, annotated};
use crate::kit::{applied, creation, decide, load, rule, rules, word};

const TEXT: &str = r#"
parameters:
- {name: any, type: string, pattern: '(?s).*', max: 2000000, annotation: example.com/any}
pod: {annotations: {copy: {$cel: params.any}}}
sidecars:
- {name: s, image: s, args: [{$cel: params.any}], env: [{name: A, value: {$cel: params.any}}]}
"#;

/// The paths of all values.
fn shape(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| shape(member, &format!("{path}/{name}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| shape(item, &format!("{path}/{index}"), found));
        }
        _ => found.push(path.to_owned()),
    }
}

fn shape_with(value: &str) -> Vec<String> {
    let rules = rules(&rule("r", TEXT));
    let object = annotated(&serde_json::json!({"example.com/any": value}).to_string(), APP);
    let decision = decide(&rules, &object);
    assert_eq!(word(&decision), "applied", "{:?}", decision.warnings);
    let mut document = vestibule_patch::Document::parse(&object).unwrap();
    document.apply_all(decision.patch()).unwrap();
    let result: Value = serde_json::from_str(&document.to_json()).unwrap();
    assert_eq!(result["metadata"]["annotations"]["copy"], value);
    let mut found = Vec::new();
    shape(&result, "", &mut found);
    found
}

fn doubling(start: &str, step: impl Fn(&str) -> String, when: &str) -> String {
    let first = format!("variables:\n- {{name: v0, expression: {}}}\n", Value::from(start));
    let more: String = (1..60)
        .map(|n| {
            format!("- {{name: v{n}, expression: {}}}\n", Value::from(step(&format!("variables.v{}", n - 1))))
        })
        .collect();
    rule(
        "r",
        &format!(
            "{first}{more}matchConditions: [{{name: c0, expression: {}}}]\npod: {{labels: {{a: b}}}}",
            Value::from(when)
        ),
    )
}

/// Values with shared parts that unfold to very many, and texts that double: the budget stops each in bounded time and
/// memory.
#[test]
fn expressions_that_double_their_values_are_stopped() {
    for (text, wanted) in [
        (doubling("[1]", |v| format!("[{v}, {v}]"), "variables.v59 == variables.v58"), "ticks"),
        (doubling("[1]", |v| format!("{v} + {v}"), "size(variables.v59) > 0"), "ticks"),
        (doubling("'x'", |v| format!("{v} + {v}"), "size(variables.v59) > 0"), "more than 1048576 bytes"),
        (
            doubling("'x'", |v| format!("{v}.replace('', {v})"), "variables.v59 != ''"),
            "more than 1048576 bytes",
        ),
        (doubling("['x']", |v| format!("[{v}.join({v}[0])]"), "variables.v59 != ''"), ""),
        (
            doubling(
                "'(a*)*'",
                |v| format!("'(' + {v} + '){{9}}'"),
                "'aaaaaaaaaaaaaaaaaaaab'.matches(variables.v59)",
            ),
            "pattern",
        ),
        (
            doubling("{'a': 1}", |v| format!("{{'a': {v}, 'b': {v}}}"), "variables.v59 in [variables.v58]"),
            "ticks",
        ),
        (
            doubling(
                "'9'",
                |v| {
                    format!(
                        "({v} + {v} + {v}).substring(0, {v}.size() < 300000 ? {v}.size() * 3 : {v}.size())"
                    )
                },
                "lists.range(99999).all(x, quantity(variables.v20 + 'Ei').isGreaterThan(quantity('0')))",
            ),
            "ticks",
        ),
    ] {
        let work = ThreadTime::now();
        let decision = decide(&rules(&text), &annotated("{}", APP));
        assert!(work.elapsed().as_secs() < 30, "{text}: {:?}", work.elapsed());
        assert!(word(&decision) == "error" || wanted.is_empty(), "{text}");
        assert!(decision.warnings.concat().contains(wanted), "{:?}", decision.warnings);
    }
}

/// The budget suffices for an ordinary expression over a very large pod.
#[test]
fn ten_thousand_variables_fit_into_the_budget() {
    let variables: Vec<String> = (0..10_000).map(|n| format!(r#"{{"name":"N{n}","value":"{n}"}}"#)).collect();
    let spec =
        format!(r#"{{"containers":[{{"name":"app","image":"app","env":[{}]}}]}}"#, variables.join(","));
    let rules = rules(&rule(
        "r",
        "matchConditions: [{name: c0, expression: \"object.spec.containers.all(c, !c.?env.orValue([]).exists(e, e.name == 'TARGET'))\"}]\npod: {labels: {a: b}}",
    ));
    assert_eq!(word(&decide(&rules, &annotated("{}", &spec))), "applied");
}

/// The defect of Istio's `sidecar-annotation-yaml-injection`: a value must not become structure.
#[test]
fn an_annotation_adds_no_field() {
    let plain = shape_with("plain");
    for value in [
        "a\n  securityContext: {privileged: true}",
        "\"}],\"hostNetwork\":true,\"x\":[{\"y\":\"",
        "{$cel: object}",
        "$(SECRET)",
        "' + object.spec + '",
        "--- !!python/object\n\u{0}\u{202e}",
        "{{ .Values }}",
    ] {
        assert_eq!(shape_with(value), plain, "{value}");
    }
    let cut = "x".repeat(1_000_000);
    let rules = rules(&rule("r", TEXT));
    let object = annotated(&serde_json::json!({"example.com/any": cut}).to_string(), APP);
    assert_eq!(word(&decide(&rules, &object)), "error", "too long for a result");
}

fn piece() -> impl Strategy<Value = String> {
    let words = [
        "object",
        "request",
        "params.p",
        "variables.v",
        "owner",
        "spec",
        "containers",
        ".",
        ".?",
        "[",
        "]",
        "[?",
        "(",
        ")",
        "{",
        "}",
        "'",
        "\"",
        "'''",
        "r'",
        "\\",
        "+",
        "-",
        "*",
        "/",
        "%",
        "!",
        "&&",
        "||",
        "?",
        ":",
        ",",
        "<",
        "==",
        "in",
        "1",
        "9223372036854775807",
        "1u",
        "1.5",
        "-",
        "null",
        "true",
        "'a'",
        "map(x, x)",
        ".filter(x, ",
        ".join('')",
        "size(",
        "quantity('1')",
        ".orValue(",
        "lists.range(9)",
        ".replace('', 'aa')",
        "string(",
        "é",
        "\n",
        "//",
        "@",
        "$",
        "duration('1h')",
        ".matches('(a*)*b')",
        "has(",
        ".sort()",
        ".format([1])",
        "'%s'",
        "optional.of(",
        ".optMap(y, ",
        "b'x'",
        "timestamp('x')",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 1..14).prop_map(|words| words.concat())
}

/// Parts of rules that read what others, or they themselves, write.
fn part() -> impl Strategy<Value = String> {
    let count = "string(size(object.spec.containers))";
    let conditions = [
        "true",
        "size(object.spec.containers) < 2",
        "!object.spec.containers.exists(c, c.name == 's')",
        "has(object.metadata.labels.a)",
        "!has(object.metadata.labels.a)",
        "object.metadata.?labels[?'a'].orValue('x') == 'x'",
        "request.object.spec.containers.size() == 1",
        "size(object.spec.?volumes.orValue([])) == 0",
        "object.spec.containers[0].?env.orValue([]).exists(e, e.name == 'E')",
    ];
    let values = [
        count,
        "'x'",
        "object.metadata.?labels[?'a'].orValue('none')",
        "object.metadata.?labels[?'a'].orValue('x') == 'x' ? 'y' : 'x'",
        "string(size(object.spec.containers[0].?env.orValue([])))",
        "object.spec.containers.map(c, c.name).join('.')",
        "optional.ofNonZeroValue(object.metadata.?labels[?'b'].orValue(''))",
    ];
    let forms = [
        "pod: {labels: {a: {$cel: VALUE}}}",
        "pod: {labels: {b: {$cel: VALUE}}}",
        "pod: {annotations: {a: {$cel: VALUE}}}",
        "sidecars: [{name: s, image: s, mode: regular, args: [{$cel: VALUE}]}]",
        "sidecars: [{name: t, image: t, env: [{name: E, value: {$cel: VALUE}}]}]",
        "containerPatches: [{select: {all: true}, env: [{name: E, value: {$cel: VALUE}}]}]",
        "containerPatches: [{select: {index: 0}, env: [{name: F, value: {$cel: VALUE}}]}]",
        "volumes: [{name: v, emptyDir: {medium: {$cel: VALUE}}}]",
    ];
    let policies = ["keep", "override", "skipRule", "deny"];
    let chosen = (
        prop::sample::select(conditions.to_vec()),
        prop::sample::select(values.to_vec()),
        prop::sample::select(forms.to_vec()),
        prop::sample::select(policies.to_vec()),
        0..3,
    );
    chosen.prop_map(|(condition, value, form, policy, order)| {
        let value = Value::from(value).to_string();
        let condition = Value::from(condition).to_string();
        format!(
            "order: {order}\nonConflict: {policy}\nmatchConditions: [{{name: c0, expression: {condition}}}]\n{}",
            form.replace("VALUE", &value)
        )
    })
}

/// `VESTIBULE_CASES` sets the number of cases; the default keeps the suite within a minute.
fn cases(count: u32) -> ProptestConfig {
    let wanted = std::env::var("VESTIBULE_CASES").ok().and_then(|count| count.parse().ok());
    ProptestConfig { cases: wanted.unwrap_or(count), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(64))]

    /// A value out of bounds leaves the pod unchanged.
    #[test]
    fn parameters_accept_only_values_within_their_bounds(value in "\\PC{0,40}|[0-9.]{1,8}(m|Ki|Mi|k|e3|)|(\\n|\\$\\(X\\)|'|\"|:|\\{){1,9}") {
        let rules = rules(&rule("r", CPU));
        let object = annotated(&serde_json::json!({"example.com/cpu": value}).to_string(), APP);
        let decision = rules.evaluate(&creation(&object)).unwrap();
        let applied = word(&decision) == "applied";
        prop_assert!(applied || decision.changes().is_empty());
        prop_assert!(applied || word(&decision) == "invalid_parameter");
        if applied {
            let mut document = vestibule_patch::Document::parse(&object).unwrap();
            document.apply_all(decision.patch()).unwrap();
            let result: Value = serde_json::from_str(&document.to_json()).unwrap();
            let cpu = &result["spec"]["initContainers"][0]["resources"]["requests"]["cpu"];
            prop_assert_eq!(cpu, &Value::from(value));
        } else {
            prop_assert!(decision.warnings[0].contains("example.com/cpu"));
        }
    }

    /// Rules read the work of each other: a second evaluation changes nothing, and a rule that is left out changes nothing.
    #[test]
    fn a_second_evaluation_changes_nothing(parts in prop::collection::vec(part(), 1..5), labels in 0..3_usize) {
        let text: String = parts.iter().enumerate().map(|(n, part)| rule(&format!("r{n}"), part)).collect();
        let rules = rules(&text);
        let label = ["", r#","a":"x""#, r#","b":"z""#][labels];
        let object = format!(
            r#"{{"metadata":{{"name":"web","labels":{{"app":"web"{label}}}}},"spec":{{"containers":[{{"name":"app","image":"app"}}]}}}}"#
        );
        let decision = decide(&rules, &object);
        for verdict in &decision.verdicts {
            let out = matches!(
                verdict.outcome,
                vestibule_rules::Outcome::Skipped { .. } | vestibule_rules::Outcome::Denied { .. }
            );
            let wrote = decision.changes().iter().any(|change| change.origin.rule == verdict.rule);
            prop_assert!(!(out && wrote), "{} is left out and changed the object\n{text}", verdict.rule);
        }
        applied(&rules, &creation(&object));
    }

    /// Any text is refused with its place, has a value, or is an error of the rule.
    #[test]
    fn expressions_never_panic(condition in piece(), leaf in piece()) {
        let quoted = |text: &str| Value::from(text).to_string();
        let spec = format!(
            "parameters: [{{name: p, type: string, default: x}}]\nvariables: [{{name: v, expression: 'object.spec'}}]\nmatchConditions: [{{name: c0, expression: {}}}]\npod: {{annotations: {{a: {{$cel: {}}}}}}}",
            quoted(&condition), quoted(&leaf),
        );
        match load(&rule("r", &spec)) {
            Err(findings) => prop_assert!(findings.iter().all(|finding| finding.position().line >= 8)),
            Ok(rules) => {
                let object = annotated("{}", APP);
                let one = word(&decide(&rules, &object));
                prop_assert_eq!(one, word(&decide(&rules, &object)));
            }
        }
    }
}
