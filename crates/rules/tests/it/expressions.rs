//! Conditions, parameters, variables and values of rules.

mod bounds;
mod data;
mod hostile;

use cpu_time::ThreadTime;
use vestibule_rules::{Decision, NamespaceFacts, Reason, Resource, RuleSet, Subject, Verb};

use crate::kit::{applied, creation, decide, evaluate, load, pod, rule, rules, steps, word};

fn annotated(annotations: &str, spec: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"web","labels":{{"app":"web"}},"annotations":{annotations}}},"spec":{spec}}}"#
    )
}

const APP: &str = r#"{"containers":[{"name":"app","image":"app"}]}"#;

const CPU: &str = r#"
parameters:
- {name: cpu, type: quantity, default: 50m, max: "2", annotation: example.com/cpu}
sidecars:
- name: envoy
  image: envoy
  resources: {requests: {cpu: {$cel: params.cpu}, memory: 64Mi}}
"#;

fn warnings(decision: &Decision) -> Vec<&str> {
    decision.warnings.iter().map(String::as_str).collect()
}

/// Row 31 of the table of cases.
#[test]
fn a_parameter_from_an_annotation() {
    let rules = rules(&rule("r", CPU));
    let pod = annotated(r#"{"example.com/cpu":"100m"}"#, APP);
    assert!(applied(&rules, &creation(&pod)).contains(r#""requests":{"cpu":"100m","memory":"64Mi"}"#));
    let pod = annotated("{}", APP);
    assert!(applied(&rules, &creation(&pod)).contains(r#""requests":{"cpu":"50m","memory":"64Mi"}"#));
}

#[test]
fn a_value_out_of_bounds_leaves_the_rule_out() {
    let wanted = "rule r was left out: annotation `example.com/cpu` of the pod wants a quantity such as `100m`, at most 2";
    let rules_ = rules(&rule("r", CPU));
    for value in ["3", "much", ""] {
        let pod = annotated(&format!(r#"{{"example.com/cpu":"{value}"}}"#), APP);
        let decision = decide(&rules_, &pod);
        assert_eq!((word(&decision), warnings(&decision)), ("invalid_parameter", vec![wanted]));
        assert!(decision.changes().is_empty());
    }
    let required = rules(&rule("r", &format!("required: true\n{CPU}")));
    let decision = decide(&required, &annotated(r#"{"example.com/cpu":"3"}"#, APP));
    let denial = decision.denial().unwrap();
    assert!(denial.contains("example.com/cpu") && denial.contains("rules.yaml:"), "{denial}");
}

#[test]
fn a_parameter_without_annotation_and_default_is_an_error_of_the_rule() {
    let rules = rules(&rule(
        "r",
        "parameters: [{name: team, type: string, annotation: example.com/team}]\npod: {labels: {team: {$cel: params.team}}}",
    ));
    let decision = decide(&rules, &annotated("{}", APP));
    assert_eq!(word(&decision), "invalid_parameter");
    assert!(warnings(&decision)[0].contains("no annotation `example.com/team`"));
    let decision = decide(&rules, &annotated(r#"{"example.com/team":"blue"}"#, APP));
    assert_eq!(steps(&decision), [r#"add /metadata/labels/team "blue""#]);
}

#[test]
fn every_type_of_parameter() {
    for (parameter, value, wanted) in [
        ("type: int, min: 1, max: 5", "3", Ok("3")),
        ("type: int, min: 1, max: 5", "6", Err("a whole number, from 1 to 5")),
        ("type: int", "3.5", Err("a whole number")),
        ("type: bool", "true", Ok("true")),
        ("type: bool", "yes", Err("`true` or `false`")),
        ("type: duration, max: 1h", "30m", Ok("30m")),
        ("type: duration, max: 1h", "90m", Err("a duration such as `1m30s`, at most 1h")),
        ("type: enum, values: [a, b]", "b", Ok("b")),
        ("type: enum, values: [a, b]", "c", Err("one of `a`, `b`")),
        ("type: quantity, min: 1Mi", "1024Ki", Ok("1024Ki")),
        ("type: quantity, min: 1Mi", "1k", Err("a quantity such as `100m`, at least 1Mi")),
        ("type: string", "a b", Ok("a b")),
        ("type: string", "$(X)", Err("text without control characters and `$(`, at most 1024 characters")),
        (
            "type: string, max: 3",
            "abcd",
            Err("text without control characters and `$(`, at most 3 characters"),
        ),
        ("type: string, pattern: '[a-z]+|[$][(]X[)]'", "$(X)", Ok("$(X)")),
        (
            "type: string, pattern: '[a-z]+|b'",
            "b9",
            Err("text that fits the rule's pattern, at most 1024 characters"),
        ),
    ] {
        let text = rule(
            "r",
            &format!(
                "parameters: [{{name: p, {parameter}, annotation: example.com/p}}]\npod: {{annotations: {{got: {{$cel: string(params.p)}}}}}}"
            ),
        );
        let rules = rules(&text);
        let decision = decide(&rules, &annotated(&format!(r#"{{"example.com/p":"{value}"}}"#), APP));
        match wanted {
            Ok(wanted) => {
                assert_eq!(steps(&decision), [format!(r#"add /metadata/annotations/got "{wanted}""#)]);
            }
            Err(wanted) => {
                let wanted =
                    format!("rule r was left out: annotation `example.com/p` of the pod wants {wanted}");
                assert_eq!(warnings(&decision), [wanted], "{parameter} {value}");
            }
        }
    }
}

#[test]
fn parameters_that_cannot_be_used_are_refused() {
    for (parameter, code) in [
        ("type: int", "VST0136"),
        ("type: int, default: x", "VST0136"),
        ("type: int, default: 5, max: 4", "VST0136"),
        ("type: int, default: 5, min: 9, max: 4", "VST0136"),
        ("type: int, default: 5, pattern: x", "VST0136"),
        ("type: bool, default: true, max: 4", "VST0136"),
        ("type: enum, default: a", "VST0136"),
        ("type: string, default: 'a$(B)'", "VST0136"),
        ("type: string, default: a, pattern: '('", "VST0137"),
        ("type: string, default: a, pattern: 'a)|(b'", "VST0137"),
        ("type: strnig, default: a", "VST0113"),
        ("type: string, default: a, anotation: b", "VST0110"),
        ("type: string, default: a, annotation: 'b c'", "VST0113"),
    ] {
        let spec = format!("parameters: [{{name: p, {parameter}}}]\npod: {{labels: {{a: b}}}}");
        let findings = load(&rule("r", &spec)).err().unwrap_or_else(|| panic!("{parameter}"));
        assert!(findings.iter().any(|finding| finding.code().id == code), "{parameter}: {findings:?}");
    }
}

#[test]
fn parameters_and_facts_of_the_namespace() {
    let rules = rules(&rule(
        "r",
        "parameters: [{name: team, type: string, annotation: example.com/team, from: namespace, default: none}]\n\
         pod: {labels: {team: {$cel: params.team}, tier: {$cel: \"namespaceObject.metadata.?labels[?'tier'].orValue('x')\"}}}",
    ));
    assert!(rules.needs_namespace_facts());
    let pod = annotated("{}", APP);
    let mut facts = NamespaceFacts::default();
    facts.annotations.insert("example.com/team".to_owned(), "blue".to_owned());
    facts.labels.insert("tier".to_owned(), "one".to_owned());
    let decision = evaluate(&rules, &creation(&pod).facts(&facts));
    assert_eq!(
        steps(&decision),
        [r#"add /metadata/labels/team "blue""#, r#"add /metadata/labels/tier "one""#]
    );
    assert_eq!(word(&evaluate(&rules, &creation(&pod))), Reason::NamespaceUnknown.as_str());
}

#[test]
fn a_rule_acts_when_all_conditions_hold() {
    let rules = rules(&rule(
        "r",
        "variables:\n- {name: count, expression: size(object.spec.containers)}\n- {name: many, expression: variables.count > 1}\n\
         matchConditions: [{name: c0, expression: request.namespace == 'team-a'}, {name: c1, expression: '!variables.many'}]\npod: {labels: {a: b}}",
    ));
    let decision = decide(&rules, &pod(APP));
    assert_eq!(word(&decision), "applied");
    let decision = decide(&rules, &pod(r#"{"containers":[{"name":"a"},{"name":"b"}]}"#));
    assert_eq!((word(&decision), warnings(&decision)), ("match_condition_false", vec![]));
    let line = decision.verdicts[0].line;
    assert_eq!(line, 10);
}

#[test]
fn a_condition_that_fails_is_the_error_of_the_rule() {
    let text = |more: &str| {
        rule(
            "r",
            &format!(
                "{more}matchConditions: [{{name: c0, expression: object.spec.nothing == 1}}]\npod: {{labels: {{a: b}}}}"
            ),
        )
    };
    let decision = decide(&rules(&text("")), &pod(APP));
    assert_eq!(word(&decision), "error");
    assert!(
        warnings(&decision)[0].contains("`matchConditions[c0]`: there is no field `nothing`"),
        "{:?}",
        decision.warnings
    );
    let decision = decide(&rules(&text("onError: deny\n")), &pod(APP));
    assert!(decision.denial().unwrap().contains("there is no field `nothing`"));
    let decision = decide(
        &rules(&rule(
            "r",
            "matchConditions: [{name: c0, expression: dyn(request.name)}]\npod: {labels: {a: b}}",
        )),
        &pod(APP),
    );
    assert!(warnings(&decision)[0].contains("a condition is true or false, and this is text"));
}

#[test]
fn an_explanation_tells_which_condition_stopped_it() {
    let gates = |spec: &str, pod: &str| {
        let explanation = rules(&rule("r", spec)).explain(&creation(pod)).unwrap();
        let own = explanation.rules[0].gates.iter();
        let own = own.filter(|gate| gate.name == "parameters" || gate.name.starts_with("matchConditions"));
        own.map(|gate| format!("{} {:?} {} {:?}", gate.name, gate.result, gate.sentence, gate.line))
            .collect::<Vec<_>>()
    };
    let spec = "parameters: [{name: n, type: int, annotation: n, default: 1}]\nmatchConditions: [{name: c0, expression: 'params.n > 0'}, {name: c1, expression: 'params.n > 1'}, {name: c2, expression: 'params.n > 2'}]\npod: {labels: {a: b}}";
    assert_eq!(
        gates(spec, &annotated("{}", APP)),
        [
            "parameters Passed all of them have values Some(7)",
            "matchConditions[c0] Passed it holds Some(8)",
            "matchConditions[c1] Failed it does not hold Some(8)",
            "matchConditions[c2] NotReached it was decided before Some(8)",
        ]
    );
    let told = gates(spec, &annotated(r#"{"n":"x"}"#, APP));
    assert!(
        told[0].starts_with("parameters Failed annotation `n` of the pod wants a whole number"),
        "{told:?}"
    );
    assert!(told[1].starts_with("matchConditions[c0] NotReached"), "{told:?}");
    assert!(gates(spec, &annotated(r#"{"n":"3"}"#, APP)).iter().all(|gate| gate.contains("Passed")));
}

#[test]
fn an_expression_may_stand_in_place_of_any_value() {
    let rules = rules(&rule(
        "r",
        r#"
variables: [{name: all, expression: "object.spec.containers.map(c, c.name)"}]
pod:
  labels: {owner: {$cel: labelValue(owner.name)}}
  annotations: {names: {$cel: "variables.all.join(',')"}}
volumes: [{name: v, emptyDir: {sizeLimit: {$cel: "string(64) + 'Mi'"}}}]
initContainers:
- name: first
  image: {$cel: "'registry/' + request.namespace"}
  args: [a, {$cel: "variables.all[0]"}, {$cel: optional.none()}]
  command: {$cel: "['x', owner.kind]"}
  tty: {$cel: "true"}
  workingDir: {$cel: optional.none()}
  env: [{name: N, value: {$cel: pod.displayName()}}]
  volumeMounts: [{name: {$cel: "'v'"}, mountPath: /v}]
containerPatches:
- select: {all: true}
  env: [{name: X, value: {$cel: string(size(variables.all))}}]
  resources: {limits: {cpu: {$cel: "1 + 1"}}}
"#,
    ));
    let result = applied(&rules, &creation(&pod(APP)));
    for part in [
        r#""owner":"web""#,
        r#""names":"app""#,
        r#""sizeLimit":"64Mi""#,
        r#""image":"registry/team-a","args":["a","app"],"command":["x","Pod"],"tty":true,"env":[{"name":"N","value":"web"}]"#,
        r#""env":[{"name":"X","value":"1"}]"#,
        r#""limits":{"cpu":"2"}"#,
    ] {
        assert!(result.contains(part), "{part} in {result}");
    }
    assert!(!result.contains("workingDir"));
}

/// The types of these expressions are not known when the rule is loaded.
#[test]
fn results_are_checked_as_written_values_are() {
    for (spec, wanted) in [
        ("pod: {labels: {a: {$cel: \"'b c'\"}}}", "`labels` wants at most 63"),
        ("pod: {labels: {a: {$cel: dyn(1)}}}", "`labels` wants text, and this is a whole number; `string()`"),
        ("sidecars: [{name: s, image: {$cel: \"dyn(['a'])\"}}]", "`image` wants text, and this is a list"),
        ("sidecars: [{name: s, image: x, tty: {$cel: \"dyn('yes')\"}}]", "`tty` wants `true` or `false`"),
        (
            "sidecars: [{name: s, image: x, resources: {limits: {cpu: {$cel: \"'much'\"}}}}]",
            "`limits` wants a quantity",
        ),
        (
            "sidecars: [{name: s, image: x, ports: [{containerPort: 80, name: {$cel: \"'A'\"}}]}]",
            "name of a port wants",
        ),
        ("sidecars: [{name: s, image: x, fieldOfTomorrow: {$cel: \"dyn({'a': 1})\"}}]", "and this is a map"),
        ("pod: {labels: {a: {$cel: \"dyn(null)\"}}}", "and this is null"),
        (
            "pod: {annotations: {a: {$cel: \"lists.range(100000).map(x, 'x').join('') + lists.range(100000).map(x, 'x').join('')\"}}}",
            "ticks",
        ),
        (
            "pod: {annotations: {a: {$cel: \"lists.range(3000).map(x, string(x)).join('').split('').map(c, 'abcdefghijklmnopqrstuvwxyz').join('')\"}}}",
            "more than 262144 bytes",
        ),
    ] {
        let decision = decide(&rules(&rule("r", spec)), &pod(APP));
        assert_eq!(word(&decision), "error", "{spec}");
        assert!(warnings(&decision)[0].contains(wanted), "{spec}: {:?}", decision.warnings);
        assert!(decision.changes().is_empty());
    }
}

/// Row 33 of the table of cases.
#[test]
fn a_label_from_the_name_of_the_owner() {
    let rules = rules(&rule("r", "pod: {labels: {owner: {$cel: labelValue(owner.name)}}}"));
    let name = format!("{}.{}", "a".repeat(62), "b".repeat(17));
    let pod = format!(
        r#"{{"metadata":{{"name":"web","labels":{{"app":"web"}},"ownerReferences":[{{"kind":"StatefulSet","name":"{name}"}},{{"kind":"StatefulSet","name":"{name}","controller":true}}]}},"spec":{APP}}}"#
    );
    let result = applied(&rules, &creation(&pod));
    let label = result.split(r#""owner":""#).nth(1).unwrap().split('"').next().unwrap();
    assert!(label.len() == 63 && label.starts_with(&"a".repeat(54)), "{label}");
    assert!(label.ends_with(|c: char| c.is_ascii_alphanumeric()));
}

#[test]
fn a_condition_sees_what_earlier_rules_did_and_leaves_no_trace() {
    let text = rule("a", "sidecars: [{name: s, image: s, mode: regular}]")
        + &rule(
            "b",
            "order: 1\nmatchConditions: [{name: c0, expression: \"object.spec.containers.exists(c, c.name == 's')\"}]\npod: {labels: {saw: s}}",
        )
        + &rule(
            "c",
            "order: 1\nmatchConditions: [{name: c0, expression: \"request.object.spec.containers.exists(c, c.name == 's')\"}]\npod: {labels: {never: s}}",
        );
    let rules = rules(&text);
    let result = applied(&rules, &creation(&pod(APP)));
    assert!(result.contains(r#""saw":"s""#), "{result}");
    // In the second evaluation the object has the sidecar, so the third rule acts in the same request.
    assert!(result.contains(r#""never":"s""#), "{result}");
}

/// The condition is false after the rule has acted.
#[test]
fn a_rule_may_end_its_own_condition() {
    let rules = rules(&rule(
        "r",
        "matchConditions: [{name: c0, expression: \"!object.spec.containers.exists(c, c.name == 's')\"}]\nsidecars: [{name: s, image: s, mode: regular}]",
    ));
    let result = applied(&rules, &creation(&pod(APP)));
    assert!(result.contains(r#""name":"s""#));
    assert_eq!(word(&decide(&rules, &result)), "match_condition_false");
}

/// Expressions read the work of rules, so the rules are evaluated until nothing changes.
#[test]
fn a_rule_that_never_settles_is_left_out() {
    for spec in [
        "onConflict: override\npod: {labels: {n: {$cel: \"object.metadata.?labels[?'n'].orValue('a') == 'a' ? 'b' : 'a'\"}}}",
        "onConflict: override\npod: {annotations: {n: {$cel: \"object.metadata.?annotations[?'n'].orValue('') + 'x'\"}}}",
        "sidecars: [{name: s, image: s, mode: regular, args: [{$cel: string(size(object.spec.containers))}]}]",
    ] {
        let rules = rules(&rule("r", spec));
        let decision = decide(&rules, &pod(APP));
        assert_eq!(word(&decision), "error", "{spec}: {:?}", steps(&decision));
        assert!(warnings(&decision)[0].contains("every evaluation would change the object again"), "{spec}");
        assert!(decision.changes().is_empty());
    }
    for (spec, wanted) in [
        (
            "onConflict: override\npod: {labels: {n: {$cel: \"string(size(object.spec.containers))\"}}}\nsidecars: [{name: s, image: s, mode: regular}]",
            r#""n":"2""#,
        ),
        (
            "onConflict: override\ncontainerPatches: [{select: {all: true}, env: [{name: N, value: {$cel: \"string(size(object.spec.containers[0].?env.orValue([])))\"}}]}]",
            r#""value":"1""#,
        ),
    ] {
        let result = applied(&rules(&rule("r", spec)), &creation(&pod(APP)));
        assert!(result.contains(wanted), "{result}");
    }
}

/// `request.object` is the result of the evaluation before, so the rule adds one `x` in each evaluation. The last of the five
/// evaluations of one rule has to change nothing.
#[test]
fn a_rule_may_change_the_object_in_four_evaluations() {
    for (size, expected) in [(4, "applied"), (5, "error")] {
        let spec = format!(
            "onConflict: override\nvariables: [{{name: n, expression: \"request.object.metadata.?labels[?'n'].orValue('')\"}}]\n\
             pod: {{labels: {{n: {{$cel: \"size(variables.n) < {size} ? variables.n + 'x' : variables.n\"}}}}}}"
        );
        let decision = decide(&rules(&rule("r", &spec)), &pod(APP));
        assert_eq!(word(&decision), expected, "{size}: {:?}", steps(&decision));
    }
}

/// The first rule changes its own result until the second rule has acted.
#[test]
fn a_rule_that_a_later_rule_settles_is_applied() {
    let text =
        rule("a", "sidecars: [{name: s, image: s, args: [{$cel: string(size(object.spec.containers))}]}]")
            + &rule("b", "order: 1\nsidecars: [{name: t, image: t, mode: regular}]");
    let result = applied(&rules(&text), &creation(&pod(APP)));
    assert!(result.contains(r#""args":["2"]"#), "{result}");
}

#[test]
fn the_claim_of_a_rule_ends_with_its_condition() {
    let text = rule(
        "a",
        "onConflict: override\ncontainerPatches: [{select: {all: true}, env: [{name: X, value: a}]}]",
    ) + &rule(
        "b",
        "order: 1\nonConflict: override\nmatchConditions: [{name: c0, expression: \"!has(object.metadata.labels.done)\"}]\ncontainerPatches: [{select: {all: true}, env: [{name: X, value: b}]}]\npod: {labels: {done: 'yes'}}",
    );
    let rules = rules(&text);
    // `applied` asserts that a second evaluation changes nothing.
    applied(&rules, &creation(&pod(APP)));
}

#[test]
fn a_rule_that_writes_what_a_parameter_reads_is_refused() {
    let text = rule("a", "pod: {annotations: {example.com/cpu: '1'}}") + &rule("b", CPU);
    let findings = load(&text).err().unwrap();
    assert!(findings[0].code().id == "VST0123", "{findings:?}");
}

#[test]
fn findings_point_into_folded_and_quoted_expressions() {
    let text = rule(
        "r",
        "matchConditions:\n- name: named\n  expression: >-\n    request.name == ''\n    && has(objct.spec)\npod: {labels: {a: {$cel: \"'x' + nme\"}}}",
    );
    let findings = load(&text).err().unwrap();
    let places: Vec<String> = findings.iter().map(|finding| finding.position().to_string()).collect();
    assert_eq!(places, ["11:14", "12:35"], "{findings:?}");
}

/// Regression test: `sort` and `find` were proposed, and the variables of the macro were reported too.
#[test]
fn a_function_of_the_api_server_that_is_left_out_is_one_finding() {
    for (text, help) in [
        ("object.spec.containers.sortBy(c, c.name)", "`sort` sorts"),
        ("has(object.metadata, object.spec)", "one field"),
        ("cel.bind(x, 1, x + 1)", "under `variables`"),
        ("object.spec.containers.all(i, c, c.name != '')", "one variable"),
        ("object.metadata.labels.transformList(k, v, v)", "one variable"),
        ("authorizer.group('').resource('pods').check('get').allowed()", "no `authorizer`"),
        ("format.dns1123Label().validate('a')", "no named formats"),
    ] {
        let lines = format!("variables: [{{name: v, expression: \"{text}\"}}]\npod: {{labels: {{a: b}}}}");
        let Err(findings) = load(&rule("r", &lines)) else { panic!("{text}") };
        let told = findings[0].help().unwrap_or_default();
        assert!(findings.len() == 1 && told.contains(help), "{text}: {findings:?}");
    }
}

#[test]
fn the_members_of_request() {
    let rules = rules(&rule(
        "r",
        "matchConditions: [{name: c0, expression: \"request.userInfo.username == 'ann' && request.dryRun && request.name == 'web' && oldObject.metadata.name == 'old' && request.oldObject != null && request.operation == 'UPDATE' && request.resource.group == 'apps'\"}]\ntargets: [deployments]\npod: {labels: {a: b}}",
    ));
    let object = r#"{"metadata":{"name":"web","labels":{"app":"web"}},"spec":{"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[]}}}}"#;
    let subject = Subject::new(object, Resource::Deployments, Verb::Update, "team-a")
        .name("web")
        .user(Some(r#"{"username":"ann"}"#))
        .old_object(Some(r#"{"metadata":{"name":"old"}}"#))
        .dry_run(true);
    assert_eq!(word(&evaluate(&rules, &subject)), "applied");
    assert_eq!(word(&evaluate(&rules, &subject.dry_run(false))), "match_condition_false");
}

/// Three nested loops over 200 items, the example of docs/adr/0027.
#[test]
fn a_budget_that_is_used_up_is_the_error_of_the_rule() {
    let containers: Vec<String> = (0..200).map(|n| format!(r#"{{"name":"c{n}"}}"#)).collect();
    let object = pod(&format!(r#"{{"containers":[{}]}}"#, containers.join(",")));
    let cs = "object.spec.containers";
    let text = rule(
        "r",
        &format!(
            "matchConditions: [{{name: c0, expression: \"{cs}.all(a, {cs}.all(b, {cs}.all(c, a.name != b.name || c.name != '')))\"}}]\npod: {{labels: {{a: b}}}}"
        ),
    );
    let rules: RuleSet = rules(&(text + &rule("s", "pod: {labels: {c: d}}")));
    let work = ThreadTime::now();
    let decision = decide(&rules, &object);
    assert!(work.elapsed().as_secs() < 30, "{:?}", work.elapsed());
    assert_eq!(
        warnings(&decision),
        [
            "rule r was left out: `matchConditions[c0]`: the expressions of the rule need more than 100000 ticks"
        ]
    );
    assert_eq!(steps(&decision), [r#"add /metadata/labels/c "d""#]);
}
