//! The bounds of recursion, and of the work of a load and of a request.

use std::fmt::Write as _;

use cpu_time::ThreadTime;
use serde_json::Value;

use super::{APP, annotated};
use crate::kit::{creation, decide, headlines, load, rule, rules, word};

/// The stack of a thread of the server.
const STACK: usize = 2 * 1024 * 1024;

/// Does `work` on a thread with the stack of a server thread.
fn on_a_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).unwrap().join().unwrap()
    })
}

/// A rule with a condition and `count` variables, of which each names the previous one in `step`.
fn chain(first: &str, count: usize, step: impl Fn(&str) -> String, when: &str) -> String {
    let mut spec = format!("variables:\n- {{name: v0, expression: {}}}\n", Value::from(first));
    for number in 1..count {
        let expression = step(&format!("variables.v{}", number - 1));
        writeln!(spec, "- {{name: v{number}, expression: {}}}", Value::from(expression)).unwrap();
    }
    write!(
        spec,
        "matchConditions: [{{name: c0, expression: {}}}]\npod: {{labels: {{a: b}}}}",
        Value::from(when)
    )
    .unwrap();
    rule("r", &spec)
}

/// 100 variables of 398 terms, each of which names the previous one: these 82 KB overflowed the stack.
#[test]
fn depth_over_variables_is_refused_when_rules_are_read() {
    let text = chain("0", 100, |v| format!("{v}{}", "-1+1".repeat(199)), "variables.v99 > 0");
    let told = on_a_small_stack(|| headlines(&text));
    assert!(told[0].starts_with("rules.yaml:10:28: error[VST0133]: "), "{}", told[0]);
    assert!(
        told[0].contains("400 steps inside each other, those of the variables that it names"),
        "{}",
        told[0]
    );
}

/// Loads, proves, evaluates and explains every shape of expression at the greatest depth.
#[test]
fn the_deepest_rules_fit_two_mebibytes_of_stack() {
    type Step = fn(&str) -> String;
    let shapes: [(&str, Step, &str); 14] = [
        ("0", |v| format!("{v} + 1"), "variables.vN >= 0"),
        ("true", |v| format!("!{v}"), "variables.vN || true"),
        ("true", |v| format!("{v} && true"), "variables.vN"),
        ("true", |v| format!("[1].exists(x, {v})"), "variables.vN"),
        ("true", |v| format!("[1].all(x, {v})"), "variables.vN"),
        ("1", |v| format!("true ? {v} : 0"), "variables.vN == 1"),
        ("[1]", |v| format!("[{v}]"), "variables.vN == variables.vN"),
        ("[1]", |v| format!("[1].map(x, {v})"), "size(variables.vN) == 1"),
        ("{'a': 1}", |v| format!("{{'a': {v}}}"), "variables.vN in [variables.vN]"),
        ("optional.of(1)", |v| format!("optional.of({v})"), "variables.vN.?a.?b.hasValue()"),
        (
            "optional.of(1)",
            |v| format!("optional.of(optional.of(1).optMap(x, {v}).value())"),
            "variables.vN.hasValue()",
        ),
        ("'a'", |v| format!("{v}.trim()"), "variables.vN == 'a'"),
        ("object.metadata", |v| format!("{v}.labels"), "has(variables.vN.app)"),
        ("[[1]]", |v| format!("[{v}.flatten()]"), "variables.vN != []"),
    ];
    for (first, step, when) in shapes {
        let of = |count: usize| chain(first, count, step, &when.replace("vN", &format!("v{}", count - 1)));
        let (mut count, mut refused) = (60, 401);
        while refused - count > 1 {
            let middle = usize::midpoint(count, refused);
            *(if load(&of(middle)).is_ok() { &mut count } else { &mut refused }) = middle;
        }
        assert!(refused < 401, "{when}: a deeper one would be taken");
        let rules = rules(&of(count));
        on_a_small_stack(|| {
            drop(load(&of(count)));
            drop(rules.prove());
            let object = annotated("{}", APP);
            drop(rules.explain(&creation(&object)).unwrap());
            drop(decide(&rules, &object));
        });
    }
}

/// An object and a parameter as deep and as long as they may come.
#[test]
fn the_deepest_objects_fit_two_mebibytes_of_stack() {
    let text = rule(
        "r",
        "parameters:\n- {name: p, type: string, pattern: '(?s).*', max: 2000000, annotation: example.com/p}\n\
         variables: [{name: same, expression: 'object == object'}]\n\
         matchConditions: [{name: c0, expression: variables.same}, {name: c1, expression: 'object.spec == request.object.spec'}, {name: c2, expression: 'params.p.size() > 0'}]\n\
         pod: {annotations: {copy: {$cel: \"string(size(params.p))\"}}}",
    );
    let rules = rules(&text);
    let parameter = serde_json::json!({"example.com/p": "[".repeat(100_000)}).to_string();
    for depth in [10, 100, 124] {
        let deep = format!("{}{}", r#"{"a":["#.repeat(depth / 2), "]}".repeat(depth / 2));
        let object = annotated(&parameter, &format!(r#"{{"containers":[{{"name":"app"}}],"deep":{deep}}}"#));
        on_a_small_stack(|| {
            let decision = decide(&rules, &object);
            assert_eq!(word(&decision), "applied", "{depth}: {:?}", decision.warnings);
            drop(rules.explain(&creation(&object)).unwrap());
        });
    }
}

/// The search for places stops at the number of findings that are shown.
#[test]
fn a_mebibyte_of_expressions() {
    for (expression, code) in
        [("x", "VST0131"), ("'", "VST0130"), ("1 +", "VST0130"), ("a(", "VST0130"), ("request.name", "")]
    {
        let label = |number: usize| format!("l{number}: {{$cel: {expression}}}");
        let count = (1 << 20) / (label(10_000).len() + 2);
        let many = (0..count).map(label).collect::<Vec<_>>().join(", ");
        let text = rule("r", &format!("pod: {{labels: {{{many}}}}}"));
        let told = on_a_small_stack(|| headlines(&text));
        assert!(told.len() <= 201, "{expression}: {}", told.len());
        assert!(told.first().is_none_or(|told| told.contains(code)), "{expression}: {:?}", told.first());
        assert_eq!(told.is_empty(), code.is_empty(), "{expression}");
    }
}

/// `findAll` read the rest of the text for every match: 190 KB took most of a minute at the cost of one search.
#[test]
fn a_pattern_costs_what_it_may_take() {
    let letters = "A".repeat(190_000);
    let object = annotated(&serde_json::json!({ "text": letters }).to_string(), APP);
    let text = "object.metadata.annotations.text";
    for condition in [
        format!("{text}.findAll('.*[^A-Z]|[A-Z]').size() > 0"),
        format!(r"{text}.matches(r'(?:A?){{400}}A{{400}}B')"),
        format!(r"{text}.find(r'(?i)(?:\pL|\pN)*\pL{{3}}B') == ''"),
        r"lists.range(9000).map(x, ''.matches(r'(?i)\pL\PL' + string(x))).size() == 0".to_owned(),
    ] {
        let rules = rules(&rule(
            "r",
            &format!(
                "matchConditions: [{{name: c0, expression: {}}}]\npod: {{labels: {{a: b}}}}",
                Value::from(condition.as_str())
            ),
        ));
        let work = ThreadTime::now();
        let decision = decide(&rules, &object);
        assert!(work.elapsed().as_secs() < 30, "{condition}: {:?}", work.elapsed());
        assert_eq!(word(&decision), "error");
        assert!(
            decision.warnings[0].contains("more than 100000 ticks"),
            "{condition}: {:?}",
            decision.warnings
        );
    }
    // Ordinary patterns are cheap.
    let honest = format!(
        r"object.spec.containers.all(c, !c.image.matches(r'^(\w+\.)*example\.com/')) && {text}.findAll(r'[^A]+').size() == 0 && {text}.matches('^A*$')"
    );
    let rules = rules(&rule(
        "r",
        &format!(
            "matchConditions: [{{name: c0, expression: {}}}]\npod: {{labels: {{a: b}}}}",
            Value::from(honest)
        ),
    ));
    assert_eq!(word(&decide(&rules, &object)), "applied");
}

/// The pattern of a parameter is charged to the budget of the request.
#[test]
fn the_match_of_a_parameter_is_bounded() {
    let text = rule(
        "r",
        "parameters:\n- {name: p, type: string, pattern: '(?:A?){400}A{400}B', max: 2000000, annotation: text}\npod: {labels: {a: b}}",
    );
    let object = annotated(&serde_json::json!({ "text": "A".repeat(900_000) }).to_string(), APP);
    let work = ThreadTime::now();
    let decision = decide(&rules(&text), &object);
    assert!(work.elapsed().as_secs() < 30, "{:?}", work.elapsed());
    assert_eq!(word(&decision), "invalid_parameter");
    assert!(decision.warnings[0].contains("fewer ticks"), "{:?}", decision.warnings);
}

/// 60 rules within their own budgets exceed the shared budget; a rule without expressions still acts.
#[test]
fn one_budget_bounds_all_expressions_of_a_request() {
    let costly = "matchConditions: [{name: c0, expression: 'lists.range(60000).all(x, x >= 0)'}]\npod: {labels: {a: b}}";
    let mut text: String = (0..60).map(|number| rule(&format!("r{number}"), costly)).collect();
    text += &rule("plain", "pod: {labels: {plain: yes}}").replace("yes", "'yes'");
    let work = ThreadTime::now();
    let decision = decide(&rules(&text), &annotated("{}", APP));
    assert!(work.elapsed().as_secs() < 60, "{:?}", work.elapsed());
    let stopped =
        decision.warnings.iter().filter(|told| told.contains("together need more than 2000000 ticks"));
    assert!(stopped.count() > 30, "{:?}", decision.warnings.first());
    assert!(decision.changes().iter().any(|change| &*change.origin.rule == "plain"));
}

/// Every expression is compared with every declared name.
#[test]
fn a_rule_has_at_most_256_variables_and_256_parameters() {
    let variables = |count: usize| -> String {
        let names: String =
            (0..count).map(|number| format!("- {{name: v{number}, expression: '1'}}\n")).collect();
        rule(
            "r",
            &format!(
                "variables:\n{names}matchConditions: [{{name: c0, expression: 'variables.v0 == 1'}}]\npod: {{labels: {{a: b}}}}"
            ),
        )
    };
    let parameters = |count: usize| -> String {
        let name = |number| format!("- {{name: p{number}, type: int, default: 1}}\n");
        let names: String = (0..count).map(name).collect();
        rule(
            "r",
            &format!(
                "parameters:\n{names}matchConditions: [{{name: c0, expression: 'params.p0 == 1'}}]\npod: {{labels: {{a: b}}}}"
            ),
        )
    };
    assert!(headlines(&variables(256)).is_empty() && headlines(&parameters(256)).is_empty());
    assert!(
        headlines(&variables(300))[0].contains("VST0133")
            && headlines(&parameters(300))[0].contains("VST0136")
    );
}
