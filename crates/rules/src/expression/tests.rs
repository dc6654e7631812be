mod conformance;

use std::collections::BTreeMap;
use std::sync::Arc;

use cpu_time::ThreadTime;
use kube_cel::cel::Value;
use vestibule_patch::Document;

use super::{
    Declared, EvaluationError, Expression, Mismatch, ObjectValue, RequestScope, Scope, SharedBudget, Type,
    Variable, values,
};
use crate::diagnostic::Source;
use crate::rule::{Resource, Verb};
use crate::subject::Subject;

const POD: &str = r#"{"metadata":{"generateName":"web-","labels":{"app":"web","pod-template-hash":"77f"},
    "ownerReferences":[{"kind":"ReplicaSet","name":"web-77f","controller":true}]},
    "spec":{"containers":[{"name":"a","image":"x","n":null},{"name":"b","ports":[{"containerPort":80}]}]}}"#;

fn compile(text: &str) -> Result<Expression, Vec<crate::Diagnostic>> {
    compile_and_check(text).map(|(expression, _)| expression)
}

fn compile_and_check(text: &str) -> Result<(Expression, Option<Mismatch>), Vec<crate::Diagnostic>> {
    let yaml = serde_json::Value::from(text).to_string();
    let documents = crate::yaml::read("a.yaml", &yaml).unwrap();
    let source = Arc::new(Source { name: "a.yaml".into(), text: yaml.clone(), lines_before: 0 });
    let variables = if text.contains("variables.names") { Vec::from(names()) } else { Vec::new() };
    let total = SharedBudget::of_a_load();
    let declared =
        Declared { parameters: &[("size", Type::Text)], variables: &variables, each: None, total: &total };
    Expression::compile(&source, documents[0].root(), "any", declared, 1)
}

/// The variable of the reference.
fn names() -> [Variable; 1] {
    let expression = compile("object.spec.containers.map(c, c.name)").unwrap();
    [Variable { name: "names".to_owned(), expression }]
}

fn evaluate(text: &str) -> Result<Value, EvaluationError> {
    let expression = compile(text).unwrap_or_else(|findings| panic!("{text}: {findings:?}"));
    let subject = Subject::new(POD, Resource::Pods, Verb::Create, "team-a");
    let document = Document::parse(POD).unwrap();
    let object = ObjectValue::default();
    let parameters = BTreeMap::from([("size".to_owned(), values::text("100m"))]);
    let total = SharedBudget::of_a_request();
    let request_scope = RequestScope::new(&subject, document.view(), &total);
    let variables = names();
    let scope = Scope::new(&request_scope, document.view(), &object, &parameters, &variables);
    super::interpret::Interpreter::new(&scope).value(&expression.tree)
}

#[track_caller]
fn holds(text: &str) {
    match evaluate(text) {
        Ok(Value::Bool(true)) => {}
        other => panic!("{text}: {:?}", other.map(|value| format!("{value:?}"))),
    }
}

#[track_caller]
fn fails(text: &str, wanted: &str) {
    let told = evaluate(text).map(|value| format!("{value:?}")).unwrap_err().sentence();
    assert!(told.contains(wanted), "{text}: {told}");
}

#[track_caller]
fn refused(text: &str, wanted: &str) {
    let findings = compile(text).err().unwrap_or_else(|| panic!("{text} is accepted"));
    let told: Vec<String> =
        findings.iter().map(|finding| format!("{} {:?}", finding.headline(), finding.help())).collect();
    assert!(told.iter().any(|told| told.contains(wanted)), "{text}: {told:?}");
}

#[test]
fn operators_macros_and_variables() {
    for text in [
        "1 + 2 * 3 == 7 && 7 / 2 == 3 && 7 % 2 == 1 && -1 < 0",
        "1.5 + 1.0 == 2.5 && 1u + 2u == 3u && 'a' + 'b' == 'ab' && [1] + [2] == [1, 2]",
        "true || object.nothing.there",
        "object.nothing == 1 || true",
        "!(false && object.nothing == 1)",
        "object.spec.containers.exists(c, c.ports[0].containerPort == 80)",
        "!object.spec.containers.all(c, c.ports[0].containerPort < 80)",
        "has(object.metadata) && !has(object.metadata.name)",
        "object.spec.containers.size() == 2 && size(object.spec.containers) == 2",
        "object.spec.containers.map(c, c.name) == ['a', 'b']",
        "object.spec.containers.map(c, c.name == 'a', c.image) == ['x']",
        "object.spec.containers.filter(c, has(c.ports))[0].name == 'b'",
        "object.spec.containers.exists(c, c.image == 'x')",
        "object.spec.containers.all(c, c.name in ['a', 'b'])",
        "object.spec.containers.exists_one(c, c.name == 'a')",
        "object.metadata.labels.map(k, k) == ['app', 'pod-template-hash']",
        "'app' in object.metadata.labels && object.metadata.labels['app'] == 'web'",
        "object.?metadata.?labels[?'none'].orValue('no') == 'no'",
        "object.?spec.?containers[?7].?name.hasValue() == false",
        "object.metadata[?'labels'].app.value() == 'web'",
        "optional.of(1).or(optional.of(2)).value() == 1 && optional.none().or(optional.of(2)).value() == 2",
        "optional.of(2).optMap(x, x * 2).value() == 4 && !optional.none().optMap(x, x).hasValue()",
        "optional.of(2).optFlatMap(x, optional.of(x + 1)).value() == 3",
        "[1, ?optional.none(), ?optional.of(2)] == [1, 2] && {'a': 1, ?'b': optional.none()} == {'a': 1}",
        "params.size == '100m' && request.namespace == 'team-a' && request.operation == 'CREATE'",
        "!request.dryRun && request.object.metadata.generateName == 'web-' && request.resource.resource == 'pods'",
        "owner.kind == 'Deployment' && owner.name == 'web'",
        "pod.displayName() == 'web-*****' && oldObject == null",
        "namespaceObject.metadata.name == 'team-a'",
        "!has(object.spec.containers[0].n)",
        "(object.spec.containers.size() > 1 ? 'many' : 'one') == 'many'",
        "duration('90s') > duration('1m') && duration('1h') - duration('1h') == duration('0s')",
    ] {
        holds(text);
    }
}

/// The results that the API server documents for its libraries.
#[test]
fn the_functions_of_the_api_server() {
    for text in [
        "isQuantity('1.3Gi') && isQuantity('200K') == false && !isQuantity('1.3GiB') && !isQuantity('x')",
        "quantity('50k').isInteger() && !quantity('50000000m').sub(quantity('1m')).isInteger()",
        "quantity('50000000G').asInteger() == 50000000000000000 && quantity('1Ki').asInteger() == 1024",
        "quantity('50.703k').asApproximateFloat() == 50703.0 && sign(quantity('10k')) == 1 && quantity('-1').sign() == -1",
        "quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('200M') == quantity('0.2G')",
        "quantity('50M').compareTo(quantity('50Mi')) == -1 && quantity('150Mi').isGreaterThan(quantity('100Mi'))",
        "quantity('50M').isLessThan(quantity('100M')) && quantity('50k').add(quantity('20')) == quantity('50020')",
        "isQuantity('1e99') && isQuantity('1234567890123456789e999999999') && quantity('1e28').add(quantity('1n')).isGreaterThan(quantity('1e28'))",
        "quantity('1e28').isGreaterThan(quantity('1e27')) && quantity('9E').add(quantity('9E')) == quantity('18E') && quantity('9Ei') == quantity('8Ei')",
        "quantity('50k').add(20) == quantity('50020') && quantity('50k').sub(20000) == quantity('30k')",
        "[1, 2, 3].sum() == 6 && [].sum() == 0 && sum([quantity('1Gi'), quantity('2Gi')]).asInteger() == 3221225472",
        "[1, 3].max() == 3 && [2, 1].min() == 1 && [1, 2].isSorted() && ![2, 1].isSorted()",
        "[1, 2, 2].indexOf(2) == 1 && [1, 2, 2].lastIndexOf(2) == 2 && ['b', 'a'].sort() == ['a', 'b']",
        "[[1], [2, [3]]].flatten() == [1, 2, [3]] && [1, 1, 2].distinct() == [1, 2] && [1, 2, 3].slice(1, 3) == [2, 3]",
        "[1, 2].reverse() == [2, 1] && [1, 2].first().value() == 1 && [1, 2].last().value() == 2",
        "lists.range(3) == [0, 1, 2]",
        "[duration('1s'), duration('1m')].sum() == duration('61s') && [1u, 2u].sum() == 3u && [1.5, 2.0].sum() == 3.5",
        "[2u, 1u].sort() == [1u, 2u] && [2.5, 1.0, -1.0].sort() == [-1.0, 1.0, 2.5] && [true, false].sort() == [false, true]",
        "[duration('1m'), duration('1s')].sort() == [duration('1s'), duration('1m')] && [].sort() == []",
        "[duration('1m'), duration('1s')].max() == duration('1m') && [1.5, 0.5].min() == 0.5 && ![2u, 1u].isSorted()",
        "sets.contains([1, 2], [1]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 1], [1])",
        "'abc 123'.find('[0-9]+') == '123' && '1 2 3'.findAll('[0-9]', 2) == ['1', '2'] && 'x'.find('y') == ''",
        "'abc'.matches('^a') && matches('abc', 'c$') && !'abc'.matches('^b')",
        "url('https://example.com:80/a?k=v').getHost() == 'example.com:80' && !isURL('a b')",
        "url('https://[::1]:80/a').getHostname() == '::1' && url('https://x.y/').getPort() == ''",
        "url('https://x.y/a%20b?k=v').getEscapedPath() == '/a%20b' && url('https://x.y/?k=v').getQuery()['k'] == ['v']",
        "url('https://x.y/').getScheme() == 'https'",
        "ip('127.0.0.1').family() == 4 && ip('::1').isLoopback() && isIP('10.0.0.1') && !isIP('x')",
        "ip.isCanonical('127.0.0.1') && ip('0.0.0.0').isUnspecified() && ip('8.8.8.8').isGlobalUnicast()",
        "ip('224.0.0.1').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast()",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
        "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').prefixLength() == 8 && isCIDR('10.0.0.0/8')",
        "string(cidr('10.0.0.0/8').ip()) == '10.0.0.0'",
        "semver('1.2.3').isLessThan(semver('1.3.0')) && isSemver('1.2.3') && !isSemver('1.2') && isSemver('v1.2', true)",
        "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3",
        "'hello'.charAt(1) == 'e' && 'a,b'.split(',') == ['a', 'b'] && ['a', 'b'].join('-') == 'a-b'",
        "'ab'.split('') == ['a', 'b'] && 'abc'.substring(1) == 'bc' && 'abc'.substring(1, 2) == 'b'",
        "'hello'.replace('l', 'L') == 'heLLo' && 'hello'.replace('l', 'L', 1) == 'heLlo'",
        "' a '.trim() == 'a' && 'Ab'.lowerAscii() == 'ab' && 'Ab'.upperAscii() == 'AB' && 'ab'.reverse() == 'ba'",
        "'%s is %d'.format(['a', 1]) == 'a is 1' && '%.2f'.format([1.0]) == '1.00'",
        "'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c') && 'abc'.indexOf('c') == 2",
        "math.greatest(1, 2) == 2 && math.least([1, 2]) == 1 && math.abs(-1) == 1 && math.ceil(1.2) == 2.0",
        "string(1) == '1' && int('2') == 2 && double('1.5') == 1.5 && bool('true') && uint(1) == 1u && string(true) == 'true'",
        "size('äb') == 2 && dyn(1) == 1 && strings.quote('a\"') == '\"a\\\\\"\"'",
        "labelValue('a/b') == 'a-b' && 'a.'.labelValue() == 'a'",
        "string(1000000.0) == '1e+06' && string(duration('90s')) == '90s' && string(b'abc') == 'abc' && uint(1.9) == 1u",
        "'%s %s'.format([1e6, duration('90s')]) == '1e+06 90s' && duration('+1.5s') == duration('1500000\u{b5}s') && duration('1\u{3bc}s') == duration('1us') && '%x %X%%%b'.format([-255, 10, 5]) == '-ff A%101'",
        "'%f %.0f'.format([-1234.5, 999.5]) == '-1,234.500000 1,000' && '%.2f'.format([1234567.0]) == '1,234,567.00'",
        "'%.1s%%'.format(['ab']) == 'ab%' && '%s %s'.format([null, true]) == 'null true' && '%o'.format([8u]) == '10'",
        "!quantity('1000m').isInteger() && !quantity('100Ti').isInteger() && quantity('10Ti').isInteger() && !quantity('1Pi').isInteger()",
        "!quantity('1').add(quantity('1000m')).isInteger() && quantity('-5Gi').sub(1).asInteger() == -5368709121 && quantity('0e25').isInteger() && !quantity('0.000').isInteger()",
        "semver('1.0.0+a') == semver('1.0.0+b') && semver('v1.0.0-a+b', true) == semver('1.0.0-a') && !isSemver('1.0.0+')",
        "semver('v01.0.0+a', true) == semver('1.0.0') && !isSemver('1.0-a', true) && !isSemver('V1.0.0', true) && !isSemver('', true)",
        "duration('-90m').getHours() == -1 && duration('90s').getMinutes() == 1 && duration('1.5s').getSeconds() == 1 && duration('1.5s').getMilliseconds() == 1500",
        "url('HTTPS://u:p@X.Y:/a b?c=1+2#d').getHost() == 'X.Y:' && url('HTTPS://X.Y').getScheme() == 'https' && url('/a').getHost() == ''",
        "!isURL('http://[1.2.3.4]/') && !isURL('x') && !isURL('http://a/%zz') && !isURL('http://a:b/') && !isURL('http://a:1:2/') && isURL('kafka://a:1,b:2/') && !isURL('http://u p@a/') && url('x:y').getEscapedPath() == ''",
        "url('/%FF b').getEscapedPath() == '/%FF%20b' && url('/?%FF=').getQuery() == {'\u{fffd}': ['']}",
        "url('http://u:@a/') != url('http://u@a/') && url('HTTP://a/?b') == url('http://a/?b') && url('http://a/#b') != url('http://a/')",
        "url('http://a/b c?d=%41&e=1+2&d').getQuery() == {'d': ['A', ''], 'e': ['1 2']} && url('https://x.y:443').getPort() == '443' && url('https://x.y').getEscapedPath() == ''",
        "url('http://a/?x=1;y=2&z=3&w=%zz&%=1&v=%4').getQuery() == {'z': ['3']}",
        "!isCIDR('10.0.0.0/08') && !isCIDR('010.0.0.0/8') && !isCIDR('::/00') && isCIDR('10.0.0.0/0') && isCIDR('::/128')",
        "'äbcb'.lastIndexOf('b', 2) == 1 && 'abc'.indexOf('', 1) == 1 && 'abc'.lastIndexOf('') == 3 && ''.indexOf('a') == -1",
        "'äbc'.split('', 2) == ['ä', 'bc'] && ''.split('', 2) == [] && 'ab'.split('', 9) == ['a', 'b'] && lists.range(-1) == []",
    ] {
        holds(text);
    }
}

#[test]
fn errors_of_evaluation_quote_no_values() {
    fails("object.spec.nothing", "there is no field `nothing`; `.?nothing`");
    fails("object.spec.containers.exists(c, c.ports[0].containerPort == 81)", "there is no field `ports`");
    fails("object.spec.containers.map(c, c.ports) == []", "there is no field `ports`");
    fails("object.metadata.labels['secret']", "nothing under this key");
    fails("object.metadata.generateName.x", "text has no field `x`");
    fails("1 + 'a'", "a whole number and text cannot be added");
    fails("1 / 0 == 1", "division by zero");
    fails("9223372036854775807 + 1", "too large");
    fails("quantity('much')", "`quantity` wants");
    fails("semver('secret')", "`semver` cannot take");
    fails("[1, 'a'].sort()", "`sort` wants");
    fails("[1, 2.0].sort()", "`sort` wants");
    fails("[1, duration('1s')].sum()", "`sum` wants");
    fails("[duration('9000000000s'), duration('9000000000s')].sum()", "`sum` wants");
    fails("duration('9223372037s') > duration('1s')", "292 years");
    fails("duration('-200000h-9e99h') > duration('1s')", "`duration` wants");
    fails("duration('90sx') > duration('1s')", "`duration` wants");
    fails("'abc'.indexOf('b', -1)", "no negative place");
    fails("string(b'\\xff')", "bytes of UTF-8");
    // As in the API server, only whole numbers are accepted.
    fails("'%d'.format([1.0])", "`format` wants a whole number for `%d`");
    fails("optional.none().value()", "holds none");
    fails("'%s'.format([[1]])", "`format` wants a single value for `%s`");
    fails("'%f'.format([1.0 / 0.0])", "`format` wants a number with a fraction");
    fails("('%.100' + 'f').format([1.0])", "`format` wants 99 digits");
    fails("semver('1.0.0+') == semver('1.0.0')", "`semver` cannot take");
    fails("cidr('10.0.0.0/08').prefixLength() == 8", "`cidr` cannot take");
    fails("cidr('10.0.0.0/8').containsCIDR('10.0.0.0/010')", "`containsCIDR` cannot take");
    fails("url('a b').getHost() == ''", "`url` wants an address");
    fails("'x'.getHost() == ''", "`getHost` wants an address");
    fails("1 ? 2 : 3", "a condition is true or false");
    fails(
        "quantity('1e20').add(quantity('1n')).isInteger() || quantity('9e20').asInteger() == 1",
        "fits 64 bits",
    );
    fails("quantity('1e1000').add(1) == quantity('1')", "more than 38 digits");
    fails("quantity('1e29').add(quantity('1e29')).isInteger()", "more than 38 digits");
}

#[test]
fn names_calls_and_syntax_are_checked_when_rules_are_loaded() {
    refused(
        "objct.metadata",
        "a.yaml:1:2: error[VST0131]: `objct` is not known Some(\"did you mean `object`?\")",
    );
    refused("1 + size", "VST0131");
    refused(
        "params.sise",
        "a.yaml:1:9: error[VST0131]: `params` has no `sise` Some(\"did you mean `size`?\")",
    );
    refused("size", "a parameter is `params.size`");
    refused("request", "name a member of it");
    refused("request.user == 'a'", "`request` has no `user`");
    refused("variables.x", "declares no `variables` before this");
    refused(
        "object.a.startWith('x')",
        "a.yaml:1:11: error[VST0132]: there is no function `startWith` Some(\"did you mean `startsWith`?\")",
    );
    refused("now()", "there is no function `now`");
    refused("timestamp('2020-01-01T00:00:00Z')", "there is no function `timestamp`");
    refused("math.random()", "there is no function `math.random`");
    refused("'a'.quantity()", "write `quantity(value)`");
    refused("startsWith('a', 'b')", "write `value.startsWith()`");
    refused("quantity('a', 'b')", "takes 1 argument(s) here, and these are 2");
    refused("[1].map(x)", "it takes one variable");
    refused("Pod{name: 'a'}", "VST0130");
    refused("1 +", "VST0130");
    refused("object.\nmetadata +", "a.yaml:1:");
    refused("'%e'.format([1.0])", "VST0132");
    refused("'%.100f'.format([1.0])", "`format` wants 99 digits");
    refused("'%'.format([])", "`format` wants `%%`");
    refused("'a'.matches('(')", "VST0137");
    refused("'a'.matches('((x{1000}){1000}){1000}')", "VST0137");
    refused(&"1+".repeat(401), "VST0133");
    refused(&format!("'{}'", "x".repeat(9000)), "VST0133");
}

/// They are parsed and evaluated on the default stack of a thread.
#[test]
fn the_longest_expressions() {
    for text in [
        format!("{}1", "1+".repeat(399)),
        format!("{}true", "!".repeat(399)),
        format!("{}1{}", "(".repeat(32), ")".repeat(32)),
        format!("{}1{}", "[".repeat(32), "]".repeat(32)),
        format!("{}1{}", "[1].map(x, ".repeat(16), ")".repeat(16)),
        format!("{}1", "true ? 1 : ".repeat(399)),
        format!("{}true", "true || ".repeat(1_000)),
        format!("'a'{}", ".trim()".repeat(399)),
        format!("optional.of(1){}", ".?a".repeat(390)),
        format!("object{}", ".a".repeat(399)),
        format!("[[]]{}", "[0]".repeat(390)),
        format!("{}1", "-1 + ".repeat(399)),
        format!("[{}]", vec!["1"; 4_000].join(",")),
    ] {
        if let Err(findings) = compile(&text) {
            panic!("{text}: {findings:?}");
        }
        drop(evaluate(&text));
    }
    for text in [
        "(".repeat(33),
        "[".repeat(33),
        "{".repeat(400),
        format!("{}1", "true ? 1 : ".repeat(400)),
        format!("{}1", "1 + ".repeat(400)),
        format!("'a'{}", ".trim()".repeat(400)),
        format!("object{}", ".a".repeat(400)),
    ] {
        refused(&text, "VST0133");
    }
    for text in ["(".repeat(32), "[".repeat(32), "{".repeat(32), "!".repeat(400)] {
        refused(&text, "VST0130");
    }
}

#[test]
fn the_object_becomes_a_value_only_when_an_expression_names_it() {
    let subject = Subject::new(POD, Resource::Pods, Verb::Create, "team-a");
    let document = Document::parse(POD).unwrap();
    let (object, parameters) = (ObjectValue::default(), BTreeMap::new());
    let total = SharedBudget::of_a_request();
    let request_scope = RequestScope::new(&subject, document.view(), &total);
    let scope = Scope::new(&request_scope, document.view(), &object, &parameters, &[]);
    for text in [
        "request.namespace == 'team-a' || size(object.spec) == 1",
        "owner.name == 'web'",
        "pod.displayName() != ''",
    ] {
        assert!(compile(text).unwrap().holds(&scope).unwrap());
        assert!(object.0.get().is_none(), "{text}");
    }
    assert!(compile("has(object.spec)").unwrap().holds(&scope).unwrap());
    assert!(object.0.get().is_some());
}

#[test]
fn nothing_costs_more_than_its_budget() {
    let two_hundred = "lists.range(200)";
    for text in [
        format!("{two_hundred}.all(a, {two_hundred}.all(b, {two_hundred}.all(c, a + b + c >= 0)))"),
        format!("{two_hundred}.map(a, {two_hundred}.map(b, {two_hundred}.map(c, [a, b, c])))"),
        format!(
            "{two_hundred}.exists(a, {two_hundred}.exists(b, {two_hundred}.exists(c, a + b + c < 0))) || true"
        ),
        "lists.range(1000000000)".to_owned(),
        format!("lists.range(30000).distinct().size() == {}", 1),
        "lists.range(100000).map(x, lists.range(100000))".to_owned(),
        "lists.range(10000).map(x, 'abcdefghijklmnopqrstuvwxyz'.matches('(a|b|c)*' + string(x)))".to_owned(),
    ] {
        let work = ThreadTime::now();
        let told = evaluate(&text).map(|_| ()).unwrap_err().sentence();
        assert!(told.contains("100000 ticks"), "{text}: {told}");
        assert!(work.elapsed().as_secs() < 30, "{text}: {:?}", work.elapsed());
    }
    let mut doubled = "'xxxxxxxxxxxxxxxx'".to_owned();
    for _ in 0..6 {
        doubled = format!("[{doubled}, {doubled}].join('')");
    }
    fails(
        &format!("[{doubled}].map(t, t.replace('x', t)).map(t, t.replace('x', t)).map(t, t.replace('x', t))"),
        "more than 1048576 bytes",
    );
    fails("('%.99999999' + 'f').format([1.0])", "99 digits");
}

/// Every turn of the loop reads or copies 256 KiB.
#[test]
fn long_texts_cost_more() {
    let digits = "0".repeat(64);
    let long = format!("lists.range(64).map(x, lists.range(64).map(y, '{digits}').join('')).join('')");
    for body in [
        "size(t)",
        "int(t)",
        "double(t)",
        "t.startsWith(t)",
        "t in {}",
        "{}[?t].hasValue()",
        "{t: 1}",
        "[t, t, t].sort()",
        "t.reverse()",
    ] {
        fails(&format!("[{long}].map(t, lists.range(60000).map(i, {body}))"), "100000 ticks");
    }
}

/// A URL of 256 KiB.
#[test]
fn a_url_costs_as_much_as_its_text() {
    for (start, letter, body) in [
        ("/?", ";", "u.getQuery().size()"),
        ("/?", "&", "u.getQuery().size()"),
        ("http://", "a", "u.getPort()"),
        ("/", "a", "u == u"),
        ("/", " ", "u in [u]"),
    ] {
        let part = letter.repeat(64);
        let long = format!("lists.range(64).map(x, lists.range(64).map(y, '{part}').join('')).join('')");
        let loops = format!("lists.range(20000).map(i, {body})");
        fails(&format!("[{long}].map(t, url('{start}' + t)).map(u, {loops})"), "100000 ticks");
    }
}

/// The parser does not recurse beyond its bound, and quotes no text.
#[test]
fn texts_that_do_not_end() {
    for start in ["'\n", "ar'\\''", "&'"] {
        for more in ["(", "a?b:", "!", "+1", ".a", "[a"] {
            let text = format!("{start}{}", more.repeat(8000 / more.len()));
            refused(&text, "VST013");
        }
    }
    for text in ["'hunter2", "a 'hunter2'", "['a' \"hunter2\"]", "'a' b'hunter2'"] {
        let told = compile(text).err().unwrap()[0].headline();
        assert!(told.contains("a text does not end, or is out of place"), "{told}");
    }
}

/// `docs/reference/expressions.md`: every example holds, and everything has one.
#[test]
fn every_function_has_an_example_in_the_reference_that_holds() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages/expressions.md"));
    let page = page.unwrap();
    let page = page.split("## Parameters").next().unwrap();
    let code = |cell: &str| cell.trim().strip_prefix('`')?.strip_suffix('`').map(str::to_owned);
    let rows = page.lines().filter_map(|line| {
        let cells = line.strip_prefix("| ")?.splitn(3, " | ").collect::<Vec<_>>();
        Some((code(cells.first()?)?, code(cells.get(1)?)?))
    });
    let rows: Vec<(String, String)> = rows.collect();
    for (name, example) in &rows {
        holds(example);
        // An example that holds has no type error.
        let (_, mismatch) = compile_and_check(example).unwrap();
        assert!(mismatch.is_none(), "{example}: {}", mismatch.unwrap().message);
        let word = name.split('.').next_back().unwrap();
        assert!(example.contains(word) || name.starts_with('['), "{name}: {example}");
    }
    let described = |name: &str| rows.iter().any(|(row, _)| row == name);
    for function in super::functions::TABLE {
        assert!(described(function.name), "{}", function.name);
    }
    for name in super::functions::MACROS {
        assert!(described(name), "{name}");
    }
    for (name, members) in super::scope::VARIABLES {
        assert!(!members.is_empty() || described(name), "{name}");
        for (member, _) in *members {
            assert!(described(&format!("{name}.{member}")), "{name}.{member}");
        }
    }
}
