//! Expressions that fail for every object.

use vestibule_rules::Severity;

use crate::kit::{decide, load, pod, rule, rules, words};

const DECLARED: &str = "parameters:\n\
    - {name: port, type: int, default: \"80\"}\n\
    - {name: on, type: bool, default: \"true\"}\n\
    - {name: cpu, type: quantity, default: 100m}\n\
    - {name: wait, type: duration, default: 1m}\n\
    - {name: text, type: string, default: x}\n\
    - {name: one, type: enum, values: [a, b], default: a}\n\
    variables:\n\
    - {name: next, expression: params.port + 1}\n\
    - {name: names, expression: 'object.spec.containers.map(c, c.name)'}\n\
    - {name: ports, expression: '[params.port, variables.next]'}\n";

/// Code, message and help of the findings for these lines of a rule.
fn told(spec: &str) -> Vec<String> {
    let findings = load(&rule("r", &format!("{DECLARED}{spec}"))).err().unwrap_or_default();
    let told = |one: &vestibule_rules::Diagnostic| {
        format!("{} {} | {}", one.code().id, one.headline(), one.help().unwrap_or_default())
    };
    findings.iter().filter(|one| one.severity() == Severity::Error).map(told).collect()
}

fn env(expression: &str) -> String {
    format!(
        "containerPatches:\n- select: {{all: true}}\n  env: [{{name: A, value: {{$cel: \"{expression}\"}}}}]"
    )
}

fn sidecar(fields: &str) -> String {
    format!("sidecars: [{{name: s, image: 'i:1', {fields}}}]")
}

/// `lint` found nothing, and the rule failed for every pod.
#[test]
fn a_number_in_the_place_of_text_is_found_with_its_place_and_what_to_write() {
    let told = told(&env("params.port"));
    let [one] = told.as_slice() else { panic!("{told:?}") };
    assert!(
        one.starts_with(
            "VST0140 rules.yaml:20:35: error[VST0140]: `value` wants text, and this is a whole number"
        ),
        "{one}"
    );
    assert!(one.ends_with("| write `string(params.port)`"), "{one}");
}

#[test]
fn places_are_checked_against_what_expressions_give() {
    for (spec, wanted) in [
        (env("params.on"), "string(params.on)"),
        (env("variables.next"), "string(variables.next)"),
        (env("params.on ? 1 : 2"), "string("),
        (env("size(variables.names)"), "string("),
        // No function makes text of a quantity.
        (env("quantity(params.cpu)"), "a quantity, a version or a URL | "),
        (env("ip('10.0.0.1')"), "this is an address | write `string(...)`"),
        (env("{'a': 'b'}"), "this is a map"),
        (env("duration(params.wait)"), "this is a duration"),
        (sidecar("ports: [{containerPort: {$cel: params.text}}]"), "int(params.text)"),
        (sidecar("ports: [{containerPort: {$cel: params.on}}]"), "`containerPort` wants a whole number"),
        (sidecar("tty: {$cel: params.text}"), "bool(params.text)"),
        (sidecar("tty: {$cel: params.port}"), "`tty` wants `true` or `false`"),
        (sidecar("args: {$cel: variables.ports}"), "`args` wants text"),
        (sidecar("args: [{$cel: params.port}]"), "string(params.port)"),
        ("sidecars: [{name: s, image: {$cel: params.port}}]".to_owned(), "`image` wants text"),
        (
            sidecar("livenessProbe: {periodSeconds: {$cel: params.wait}, exec: {command: [a]}}"),
            "int(params.wait)",
        ),
        ("pod: {labels: {l: {$cel: params.port}}}".to_owned(), "string(params.port)"),
        ("pod: {annotations: {a: {$cel: params.on}}}".to_owned(), "string(params.on)"),
        ("pod: {spec: {terminationGracePeriodSeconds: {$cel: params.text}}}".to_owned(), "int(params.text)"),
        (
            "containerPatches:\n- select: {all: true}\n  tty: {$cel: params.text}".to_owned(),
            "bool(params.text)",
        ),
        (
            "volumes: [{name: v, secret: {secretName: s, optional: {$cel: params.text}}}]".to_owned(),
            "bool(params.text)",
        ),
        (
            "matchConditions: [{name: c0, expression: params.text}]\npod: {labels: {a: b}}".to_owned(),
            "a condition is true or false, and this is text",
        ),
        (
            "matchConditions: [{name: c0, expression: 'variables.next'}]\npod: {labels: {a: b}}".to_owned(),
            "this is a whole number",
        ),
    ] {
        let told = told(&spec);
        assert!(
            told.len() == 1 && told[0].starts_with("VST0140") && told[0].contains(wanted),
            "{spec}: {told:?}"
        );
    }
}

#[test]
fn expressions_that_may_have_the_right_type_are_accepted() {
    for spec in [
        env("string(params.port)"),
        env("string(ip('10.0.0.1')) + string(cidr('10.0.0.0/8').masked())"),
        env("params.cpu"),
        env("params.one"),
        env("params.wait"),
        env("owner.name + '-' + request.namespace"),
        env("object.metadata.name"),
        env("params.on ? object.metadata.name : 1"),
        env("object.metadata.?annotations[?'a'].orValue('none')"),
        env("object.metadata.?annotations[?'a']"),
        env("variables.names.join(',')"),
        env("variables.names[0]"),
        env("params.port > 80 ? 'high' : 'low'"),
        env("['a', 'b'].filter(x, x != 'a').map(x, x + 'y')[0]"),
        sidecar("ports: [{containerPort: {$cel: params.port}}]"),
        sidecar("ports: [{containerPort: {$cel: int(params.text)}}]"),
        sidecar("tty: {$cel: params.on}"),
        sidecar("args: {$cel: variables.names}"),
        sidecar("resources: {requests: {cpu: {$cel: params.cpu}, memory: {$cel: params.port}}}"),
        sidecar("livenessProbe: {httpGet: {port: {$cel: params.port}}}"),
        sidecar("livenessProbe: {httpGet: {port: {$cel: params.text}}}"),
        "pod: {spec: {terminationGracePeriodSeconds: {$cel: math.floor(1.5)}}}".to_owned(),
        "pod: {labels: {l: {$cel: \"params.on ? optional.of('x') : optional.none()\"}}}".to_owned(),
        "matchConditions: [{name: c0, expression: params.on}, {name: c1, expression: 'object.spec.hostPID'}, {name: c2, expression: 'params.port == 80 || params.text'}]\npod: {labels: {a: b}}"
            .replace(" || params.text", ""),
        "matchConditions: [{name: c0, expression: \"variables.names.all(n, n != '') && variables.ports.exists(p, p > 80)\"}]\npod: {labels: {a: b}}".to_owned(),
    ] {
        assert_eq!(told(&spec), [""; 0], "{spec}");
    }
}

#[test]
fn the_parts_of_expressions_are_checked_too() {
    for (expression, wanted) in [
        ("params.port + 'x'", "a whole number and text cannot be added"),
        ("params.cpu < 5", "text and a whole number have no order"),
        ("params.port.startsWith('8')", "`startsWith` wants text, and this is a whole number"),
        ("params.cpu.asInteger() > 1", "`asInteger` wants a quantity"),
        ("quantity(params.port).isInteger()", "`quantity` wants text"),
        ("string(quantity(params.cpu)) == ''", "`string` wants a single value, and this is a quantity"),
        ("variables.names.string() == ''", "`string` wants a single value, and this is a list"),
        ("params.text.name == ''", "text has no field `name`"),
        ("params.text && true", "a condition is true or false, and this is text"),
        ("!params.port", "a condition is true or false, and this is a whole number"),
        ("-params.text == ''", "text has no negative"),
        ("params.port in params.text", "`in` asks a list or a map"),
        ("params.text.all(c, c != '')", "a loop goes over a list or a map, and this is text"),
        ("variables.ports.all(p, p.startsWith('8'))", "`startsWith` wants text, and this is a whole number"),
        ("size(params.port) > 1", "`size` wants text, a list or a map"),
        ("params.text.orValue('x') == ''", "`orValue` wants an optional, and this is text"),
        ("object.?metadata.startsWith('x')", "`startsWith` wants text, and this is optional"),
        ("variables.ports['a'] == 1", "the place in a list wants a whole number, and this is text"),
        ("quantity(params.cpu) + quantity('1') == quantity('2')", "cannot be added"),
    ] {
        let told = told(&format!(
            "matchConditions: [{{name: c0, expression: \"{expression}\"}}]\npod: {{labels: {{a: b}}}}"
        ));
        assert!(
            told.len() == 1 && told[0].starts_with("VST0140") && told[0].contains(wanted),
            "{expression}: {told:?}"
        );
    }
}

/// The same rules without declared types, with values from the object, fail when they run.
#[test]
fn only_what_fails_for_every_object_is_refused() {
    let web = pod(r#"{"containers":[{"name":"app"}],"port":80,"on":true,"text":"x"}"#);
    for (place, field) in [
        ("containerPatches: [{select: {all: true}, env: [{name: A, value: {$cel: X}}]}]", "object.spec.port"),
        ("sidecars: [{name: s, image: 'i:1', tty: {$cel: X}}]", "object.spec.text"),
        ("matchConditions: [{name: c0, expression: X}]\npod: {labels: {a: b}}", "object.spec.text"),
        (
            "matchConditions: [{name: c0, expression: X + 'x' == ''}]\npod: {labels: {a: b}}",
            "object.spec.port",
        ),
    ] {
        let dynamic = rules(&rule("r", &place.replace('X', field)));
        assert_eq!(words(&decide(&dynamic, &web)), ["error"], "{place}");
        let declared = place.replace('X', &field.replace("object.spec", "params"));
        assert_eq!(told(&declared).len(), 1, "{place}");
    }
}

/// An annotation in the place of a number, and a comparison of a label with a number, failed only when they were evaluated.
#[test]
fn labels_and_annotations_are_texts() {
    let condition = |expression: &str| {
        mistyped(&rule(
            "r",
            &format!(
                "matchConditions: [{{name: c, expression: \"{expression}\"}}]\npod: {{labels: {{ours: b}}}}"
            ),
        ))
    };
    for expression in [
        "object.metadata.labels.tier > 1",
        "object.metadata.labels['tier'] > 1",
        "object.metadata.annotations.tier",
        "object.metadata.?labels[?'tier'].orValue('') > 1",
        "object.metadata.?labels.tier.value() > 1",
        "object.metadata.labels.?tier.value() > 1",
        "object.spec.template.metadata.labels.tier > 1",
        "namespaceObject.metadata.labels.tier > 1",
        "request.object.metadata.labels.tier > 1",
        "request.oldObject.metadata.?annotations.?tier.value() > 1",
    ] {
        assert_eq!(condition(expression), 1, "{expression}");
    }
    for expression in [
        "object.metadata.labels.tier == 'a' && int(object.metadata.labels.tier) > 1",
        "object.metadata.?labels[?'tier'].orValue('a').startsWith('a')",
        "has(object.metadata.labels.tier) && object.metadata.labels.size() > 1",
        "object.metadata.generation > 1 && object.spec.labels.tier > 1",
        "[{'metadata': {'labels': {'a': 1}}}].all(object, object.metadata.labels.a > 0)",
        "object.metadata.labels.all(key, object.metadata.labels[key] != '')",
    ] {
        assert_eq!(condition(expression), 0, "{expression}");
    }
    let user =
        |value: &str| told(&sidecar(&format!("securityContext: {{runAsUser: {{$cel: \"{value}\"}}}}"))).len();
    assert_eq!(user("object.metadata.annotations['user']"), 1);
    assert_eq!(user("int(object.metadata.annotations['user'])"), 0);
}

/// Variables that hold lists of lists of lists have types of bounded depth.
#[test]
fn types_do_not_grow_with_the_number_of_variables() {
    let variables: String =
        (1..300).map(|n| format!("- {{name: v{n}, expression: '[variables.v{}]'}}\n", n - 1)).collect();
    let spec = format!("variables:\n- {{name: v0, expression: '[1]'}}\n{variables}pod: {{labels: {{a: b}}}}");
    assert_eq!(mistyped(&rule("r", &spec)), 0);
}

/// The longest chains of operators, methods, brackets and conditionals that an expression may have, on the stack of a thread.
#[test]
fn types_of_the_longest_expressions_need_little_of_the_stack() {
    let operators = format!("size('{}' + 'x') > 0", "x' + '".repeat(100));
    let terms = format!("0{} > 0", " + 1".repeat(390));
    let methods = format!("'x'{} == ''", ".trim()".repeat(130));
    let brackets = format!("{}true{}", "(true && ".repeat(30), ")".repeat(30));
    let choices = format!("{}true", "true ? true : ".repeat(30));
    let fields = format!("has(object{}.x)", ".x".repeat(380));
    let specs = [operators, terms, methods, brackets, choices, fields].map(|expression| {
        rule(
            "r",
            &format!(
                "matchConditions: [{{name: c0, expression: \"{expression}\"}}]\npod: {{labels: {{a: b}}}}"
            ),
        )
    });
    let check = move || specs.iter().map(|spec| mistyped(spec)).sum::<usize>();
    let checked = std::thread::Builder::new().stack_size(2 << 20).spawn(check).unwrap().join().unwrap();
    assert_eq!(checked, 0);
}

/// The number of expressions with a wrong type. Errors about their length are not counted.
fn mistyped(text: &str) -> usize {
    let findings = load(text).err().unwrap_or_default();
    findings.iter().filter(|one| one.code().id == "VST0140").count()
}
