//! Expressions and their values from the definition of CEL: the facts of the suite `simple` of cel-spec, and the examples of
//! Kubernetes' page on CEL. Messages, timestamps, types as values, enums and namespaces are left out; rules do not have them.

mod values;

use std::mem::discriminant;

use super::{compile, evaluate, refused};

/// Each row has an expression, and an expression with the same value.
#[track_caller]
fn all_are(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(expression, wanted)| {
            let value = match evaluate(expression) {
                Ok(value) => value,
                Err(trouble) => return Some(format!("{expression}: {}", trouble.sentence())),
            };
            let wanted = evaluate(wanted).unwrap();
            let same = value == wanted && discriminant(&value) == discriminant(&wanted);
            (!same).then(|| format!("{expression}: {value:?}, not {wanted:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[track_caller]
fn all_fail(rows: &[&str]) {
    let valued: Vec<&&str> = rows.iter().filter(|expression| evaluate(expression).is_ok()).collect();
    assert!(valued.is_empty(), "{valued:?}");
}

/// The library evaluated `!!` and `--` to the opposite.
#[test]
fn an_even_run_of_operators_is_no_operator() {
    all_are(&[
        ("!!has(object.metadata.labels)", "true"),
        ("!!true", "true"),
        ("!!false", "false"),
        ("!!!true", "false"),
        ("!!!!(1 == 1)", "true"),
        ("!! !!! (1 == 1)", "false"),
        ("--1", "1"),
        ("---1", "-1"),
        ("----1", "1"),
        ("--1 == 1", "true"),
        ("1--1", "2"),
        ("1---1", "0"),
        ("- -1", "1"),
        ("-(-1)", "1"),
        ("--(1 + 1)", "2"),
        ("-(1 + 1)", "-2"),
        ("--1.5", "1.5"),
        ("!(!(!true))", "false"),
    ]);
}

/// The library parsed the operand of an even run twice at every level: 130 bytes took minutes.
#[test]
fn nested_runs_are_read_once() {
    for (run, inner, value) in [("!!", "true", "true"), ("--", "1", "1"), ("!!!", "true", "true")] {
        let text = format!("{}{inner}{}", format!("{run}(").repeat(32), ")".repeat(32));
        all_are(&[(&text, value)]);
    }
}

#[test]
fn literals() {
    all_are(&[
        ("0", "1 - 1"),
        ("42", "40 + 2"),
        ("0x2A", "42"),
        ("-0x2a", "-42"),
        ("0x7fffffffffffffff", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775807 - 1"),
        ("-0x8000000000000000", "-9223372036854775808"),
        ("42u", "uint(42)"),
        ("0x2AU", "42u"),
        ("18446744073709551615u", "18446744073709551614u + 1u"),
        ("1e3", "1000.0"),
        ("1E+2", "100.0"),
        ("-2.5e-1", "-0.25"),
        (".5", "0.5"),
        ("-.5e1", "-5.0"),
        ("12.0", "double(12)"),
        ("\"\"", "''"),
        ("\"it's\"", "'it\\'s'"),
        ("'''it's 'quoted' '''", "\"it's 'quoted' \""),
        ("\"\"\"two\nlines\"\"\"", "'two\\nlines'"),
        ("'''two\r\nlines'''", "'two\\nlines'"),
        ("r'a\\nb'", "'a\\\\nb'"),
        ("R\"\\\"", "'\\\\'"),
        ("r'''a'b'''", "\"a'b\""),
        ("size(r'\\d')", "2"),
        ("'\\a\\b\\f\\n\\r\\t\\v' == '\\x07\\x08\\x0c\\x0a\\x0d\\x09\\x0b'", "true"),
        ("'\\\"\\'\\\\\\?\\`'", "\"\\\"'\\\\?\" + '`'"),
        ("'\\x41\\X42\\u0043\\U00000044\\105'", "'ABCDE'"),
        ("'\\u00e9'", "'é'"),
        ("'\\xe9'", "'é'"),
        ("'\\U0001F431'", "'🐱'"),
        ("size('\\U0001F431')", "1"),
        ("b'abc'", "b'\\x61\\142c'"),
        ("b'\\303\\277'", "b'\\xc3\\xbf'"),
        ("size(b'é')", "2"),
        ("b'ÿ'", "b'\\303\\277'"),
        ("size(b'\\xff')", "1"),
        ("br'\\x'", "b'\\\\x'"),
        ("b'''a'b'''", "b\"a'b\""),
        ("null == null", "true"),
        ("true", "!false"),
    ]);
    for text in [
        "9223372036854775808",
        "-9223372036854775809",
        "0x8000000000000000",
        "18446744073709551616u",
        "1e400",
        "'\\z'",
        "'\\x4'",
        "'\\u12'",
        "'\\ud800'",
        "'\\U00110000'",
        "'\\400'",
        "b'\\u0041'",
        "b'\\400'",
        "'a\nb'",
        "r'a\nb'",
        "'abc",
        "'''abc''",
        "1.",
        "0x",
        "1u2",
        "rb'a'",
    ] {
        refused(text, "VST0130");
    }
}

#[test]
fn blanks_and_comments() {
    all_are(&[
        (" \t\r\n\u{c}1 \n", "1"),
        ("[1,// one\n2]", "[1, 2]"),
        ("1 // the end", "1"),
        ("'// no comment'.size()", "13"),
        ("// first\n// second\n3", "3"),
        ("object\n  .metadata\n  .labels\n  .app", "'web'"),
    ]);
}

#[test]
fn precedence_and_order() {
    all_are(&[
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 3 - 2", "5"),
        ("100 / 10 / 5", "2"),
        ("7 % 4 * 2", "6"),
        ("2 * 7 % 4", "2"),
        ("1 + 2 - 3 + 4", "4"),
        ("-2 * 3", "-6"),
        ("-(2) + 3", "1"),
        ("3 - -2", "5"),
        ("3-2", "1"),
        ("1 < 2 == true", "true"),
        ("1 + 1 == 2 && 2 * 2 == 4", "true"),
        ("true || false && false", "true"),
        ("(true || false) && false", "false"),
        ("!true || true", "true"),
        ("!false && false", "false"),
        ("false && true || true", "true"),
        ("true ? 1 : 2 + 10", "1"),
        ("false ? 1 : 2 + 10", "12"),
        ("false ? 1 : true ? 2 : 3", "2"),
        ("false ? 1 : false ? 2 : 3", "3"),
        ("(true ? false : true) ? 1 : 2", "2"),
        ("true || false ? 1 : 2", "1"),
        ("true ? false || true : false", "true"),
        ("1 in [1] == true", "true"),
        ("1 + 1 in [2]", "true"),
        ("!(1 in [2])", "true"),
        ("-[1, 2][1]", "-2"),
        ("!{'a': true}['a']", "false"),
        ("-object.spec.containers[1].ports[0].containerPort", "-80"),
        ("[1, 2, 3].map(x, x * 2)[1] + 1", "5"),
        ("1 < 2 ? 'a' : 'b'", "'a'"),
        ("{'a': 1}.a + 1", "2"),
        ("'a' + 'b' + 'c' == 'abc'", "true"),
        ("1 == 1 != false", "true"),
        ("((((1))))", "1"),
    ]);
    for text in [
        "1 +",
        "* 1",
        "1 2",
        "(1",
        "1)",
        "[1",
        "{'a'}",
        "{'a': }",
        "a ? b",
        "true ? false ? 1 : 2 : 3",
        "1 === 1",
        "1 = 1",
        "true & false",
        "object.",
        "object..metadata",
        "object.in",
        "object.true",
        "-!true",
        "!--1",
        "f(,)",
        "f(1,)",
        "[,]",
        "{,}",
        "1 @ 2",
        "é",
        "if",
        "namespace == 'a'",
        "void(1)",
        "`a`",
        "object.`a",
        "object.`a$`",
        "",
        "  ",
        "// nothing",
    ] {
        refused(text, "VST0130");
    }
}

#[test]
fn logic_and_errors() {
    all_are(&[
        ("true && true", "true"),
        ("false && 1 / 0 == 1", "false"),
        ("1 / 0 == 1 && false", "false"),
        ("true || 1 / 0 == 1", "true"),
        ("1 / 0 == 1 || true", "true"),
        ("false && object.none", "false"),
        ("object.none.there || true", "true"),
        ("true ? 1 : 1 / 0", "1"),
        ("false ? 1 / 0 : 2", "2"),
        ("1 / 0 == 1 || false || true", "true"),
        ("!(1 / 0 == 1 && false)", "true"),
    ]);
    all_fail(&[
        "1 / 0 == 1 || false",
        "1 / 0 == 1 && true",
        "false || 1 / 0 == 1",
        "true && 1 / 0 == 1",
        "1 / 0 == 1 ? 1 : 2",
        "!(1 / 0 == 1)",
        "'a' && true",
        "true && 1",
        "false || 'a'",
        "!1",
        "-'a'",
        "-1u",
        "!!!'a'",
        "'a' ? 1 : 2",
    ]);
}

/// The table of Kubernetes' page on CEL without the examples about types and times.
#[test]
fn the_examples_of_kubernetes() {
    const OBJECT: &str = "{'minReplicas': 1, 'replicas': 2, 'maxReplicas': 3, 'stateCounts': {'Available': 1}, \
        'list1': [], 'list2': [1], 'envars': [{'name': 'MY_ENV', 'value': 'abc'}, {'name': 'X', 'value': '1'}], \
        'health': 'ok: all', 'widgets': [{'key': 'x', 'foo': 9}], 'metadata': {'name': 'singleton'}, \
        'set1': [1, 2], 'set2': [3], 'names': ['a', 'b'], 'details': {'a': 'abc', 'b': 'def'}, \
        'items': [{'weight': 0.25}, {'weight': 0.75}], 'low': [{'priority': 1}], 'high': [{'priority': 2}]}";
    for text in [
        "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas",
        "'Available' in self.stateCounts",
        "(self.list1.size() == 0) != (self.list2.size() == 0)",
        "self.envars.filter(e, e.name == 'MY_ENV').all(e, e.value.matches('^[a-zA-Z]*$'))",
        "!has(self.expired) || self.created < self.expired",
        "self.health.startsWith('ok')",
        "self.widgets.exists(w, w.key == 'x' && w.foo < 10)",
        "self.metadata.name == 'singleton'",
        "self.set1.all(e, !(e in self.set2))",
        "self.names.size() == self.details.size() && self.names.all(n, n in self.details)",
        "self.details.all(key, key.matches('^[a-zA-Z]*$'))",
        "self.details.all(key, self.details[key].matches('^[a-zA-Z]*$'))",
        "self.names.isSorted()",
        "self.items.map(x, x.weight).sum() == 1.0",
        "self.low.map(x, x.priority).max() < self.high.map(x, x.priority).min()",
        "self.names.indexOf('b') == 1",
        "'1, 2, 3, 4'.findAll('[0-9]+').map(x, int(x)).sum() < 100",
        "'abc 123'.find('[0-9]+') == '123'",
        "url('https://example.com:80/').getHost() == 'example.com:80'",
        "url('https://example.com/path with spaces/').getEscapedPath() == '/path%20with%20spaces/'",
        "isIP('127.0.0.1') && !isIP('127.0.0.256')",
        "ip('::ffff:1').family() == 6 && !ip('10.0.0.1').isLoopback()",
        "cidr('192.168.0.0/24').containsIP(ip('192.168.0.1'))",
        "cidr('192.168.0.0/24').containsCIDR(cidr('192.168.10.0/24')) == false",
        "cidr('::1/128').ip().family() == 6 && cidr('127.0.0.0/8').prefixLength() == 8",
        "quantity('50000000G').isInteger() && quantity('50k').asInteger() == 50000",
        "quantity('99999999999999999999G').asApproximateFloat() > 9e28",
        "quantity('50k').add(quantity('20')).sub(quantity('20')) == quantity('50k')",
        "quantity('200M').compareTo(quantity('0.2G')) == 0",
        "isSemver('1.0.0') && !isSemver('hello') && semver('1.2.3').compareTo(semver('1.2.4')) == -1",
        "sets.contains(self.names, ['a']) && sets.intersects(self.set1, [2, 9])",
        "self.?metadata.?annotations[?'x'].orValue('none') == 'none'",
    ] {
        all_are(&[(&format!("[{OBJECT}].all(self, {text})"), "true")]);
    }
}

#[test]
fn spaces_between_tokens_change_nothing() {
    let text = "!!(object.spec.containers.exists(c,c.?ports[?0].?containerPort.orValue(-1)==80))&&{'a':[1,2u]}.a[0]in[1,?optional.of(2)]?1:--2";
    let tokens = "!! ( object . spec . containers . exists ( c , c .? ports [? 0 ] .? containerPort . orValue ( -1 ) == 80 ) ) && { 'a' : [ 1 , 2u ] } . a [ 0 ] in [ 1 , ? optional . of ( 2 ) ] ? 1 : - - 2";
    assert_eq!(format!("{:?}", evaluate(text).unwrap()), format!("{:?}", evaluate(tokens).unwrap()));
    assert!(compile(&tokens.replace(' ', "\n\t// more\n")).is_ok());
}
