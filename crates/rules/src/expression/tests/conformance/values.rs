//! Operators, functions and macros.

use super::super::refused;
use super::{all_are, all_fail};

#[test]
fn numbers() {
    all_are(&[
        ("40 + 2", "42"),
        ("42 - 9223372036854775807", "-9223372036854775765"),
        ("-5 * 5", "-25"),
        ("-7 / 2", "-3"),
        ("-7 % 2", "-1"),
        ("7 % -2", "1"),
        ("5u / 2u", "2u"),
        ("5u % 2u", "1u"),
        ("3u - 2u", "1u"),
        ("2.5 + 1.5", "4.0"),
        ("2.5 - 3.0", "-0.5"),
        ("0.5 * 4.0", "2.0"),
        ("1.0 / 4.0", "0.25"),
        ("1.0 / 0.0 > 1e300", "true"),
        ("0.0 / 0.0 == 0.0 / 0.0", "false"),
        ("0.0 == -0.0", "true"),
        ("int(-3.9)", "-3"),
        ("int(3.9)", "3"),
        ("int('-7')", "-7"),
        ("int(7u)", "7"),
        ("uint(3.9)", "3u"),
        ("uint('7')", "7u"),
        ("double('1e3')", "1000.0"),
        ("double(7u)", "7.0"),
        ("string(-7)", "'-7'"),
        ("string(7u)", "'7'"),
        ("string(1.5)", "'1.5'"),
        ("string(b'abc')", "'abc'"),
        ("string('a')", "'a'"),
        ("bool('true') && !bool('F' + 'alse')", "true"),
        ("bool('T') && !bool('F')", "true"),
        ("uint(0.5)", "0u"),
        ("double('inf') > 1e308", "true"),
    ]);
    all_fail(&[
        "9223372036854775807 + 1",
        "-9223372036854775808 - 1",
        "9223372036854775807 * 2",
        "-(-9223372036854775808)",
        "-9223372036854775808 / -1",
        "18446744073709551615u + 1u",
        "1u - 2u",
        "1 / 0",
        "1 % 0",
        "1u / 0u",
        "1.5 % 2.0",
        "1 + 1.0",
        "1 + 1u",
        "1 + 'a'",
        "true + true",
        "'a' * 2",
        "[1] - [1]",
        "int('1.5')",
        "int('0x1')",
        "int(1e99)",
        "uint(-1)",
        "uint(-1.0)",
        "uint(-0.5)",
        "uint('+1')",
        "bool('yes')",
        "double('x')",
        "double('1e400')",
        "string(b'\\xff')",
    ]);
}

#[test]
fn comparisons() {
    all_are(&[
        ("1 == 1", "true"),
        ("1 != 2", "true"),
        ("1 == 1.0", "true"),
        ("1u == 1", "true"),
        ("1.5 == 1", "false"),
        ("1 < 1.5", "true"),
        ("2u > 1.5", "true"),
        ("1u <= 1", "true"),
        ("-1 < 1u", "true"),
        ("'a' < 'b' && 'a' < 'aa' && 'Z' < 'a'", "true"),
        ("'abc' >= 'abc'", "true"),
        ("b'a' < b'b'", "true"),
        ("false < true", "true"),
        ("true >= true", "true"),
        ("'a' == 1", "false"),
        ("'a' != 1", "true"),
        ("null == 1", "false"),
        ("null == null", "true"),
        ("[] == []", "true"),
        ("[1, 2] == [1, 2]", "true"),
        ("[1, 2] == [2, 1]", "false"),
        ("[1] == [1.0]", "true"),
        ("[1] == 1", "false"),
        ("{} == {}", "true"),
        ("{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "true"),
        ("{'a': 1} == {'a': 1, 'b': 2}", "false"),
        ("{'a': [1, {'b': null}]} == {'a': [1, {'b': null}]}", "true"),
        ("'é' == '\\u00e9'", "true"),
        ("duration('60s') == duration('1m')", "true"),
        ("duration('1s') < duration('1m')", "true"),
        ("duration('1m') + duration('1s') == duration('61s')", "true"),
        ("optional.of(1) == optional.of(1)", "true"),
        ("optional.none() == optional.of(1)", "false"),
    ]);
    all_fail(&["1 < 'a'", "[1] < [2]", "{} < {}", "null < 1", "'a' < b'a'", "true < 1"]);
}

/// A `uint` or a `double` under which an item stood was refused.
#[test]
fn a_whole_number_of_any_type_is_a_place_in_a_list() {
    all_are(&[
        ("[7, 8, 9][dyn(0u)]", "7"),
        ("[7, 8, 9][dyn(2.0)]", "9"),
        ("[7, 8, 9][dyn(-0.0)]", "7"),
        ("[7, 8, 9][?dyn(3u)].hasValue()", "false"),
        ("[7, 8, 9][?dyn(-1.0)].hasValue()", "false"),
    ]);
    all_fail(&["[7, 8, 9][dyn(0.1)]", "[7, 8, 9][dyn(3.0)]", "[7, 8, 9][dyn(1e300)]", "[7, 8, 9][dyn('0')]"]);
}

#[test]
fn bytes_of_texts() {
    all_are(&[
        ("bytes('abc')", "b'abc'"),
        ("bytes('é')", "b'é'"),
        ("bytes(b'a')", "b'a'"),
        ("string(bytes('a'))", "'a'"),
    ]);
    all_fail(&["bytes(1)", "bytes(['a'])"]);
}

/// The library's durations are products of floating-point numbers: `1.001s` was a nanosecond less than `1001ms`.
#[test]
fn durations_are_exact() {
    all_are(&[
        ("duration('1.001s')", "duration('1001ms')"),
        ("duration('0.1234567899s')", "duration('123456789ns')"),
        ("duration('-1.001s')", "duration('-1001ms')"),
        ("duration('9223372036854775807ns')", "duration('2562047h47m16.854775807s')"),
    ]);
}

#[test]
fn lists_and_maps() {
    all_are(&[
        ("[1, 2, 3][0]", "1"),
        ("[[1], [2]][1][0]", "2"),
        ("[1] + [2, 3]", "[1, 2, 3]"),
        ("[] + []", "[]"),
        ("[1, 2,]", "[1, 2]"),
        ("{'a': 1,}", "{'a': 1}"),
        ("2 in [1, 2]", "true"),
        ("2.0 in [1, 2]", "true"),
        ("'a' in []", "false"),
        ("'a' in ['b', 1, 'a']", "true"),
        ("{'a': 1}['a']", "1"),
        ("{'a': {'b': 2}}.a.b", "2"),
        ("{'a b': 1}['a b']", "1"),
        ("{'a b': 1}.`a b`", "1"),
        ("{'app.kubernetes.io/name': 'x'}.`app.kubernetes.io/name`", "'x'"),
        ("'a' in {'a': 1}", "true"),
        ("'b' in {'a': 1}", "false"),
        ("{'in': 1}['in']", "1"),
        ("{'a': 1, 'b': 2}.size()", "2"),
        ("size([1, [2]])", "2"),
        ("size({})", "0"),
        ("has({'a': 1}.a)", "true"),
        ("has({'a': 1}.b)", "false"),
        ("has({'a': {'b': 1}}.a.b)", "true"),
        ("has({'a': null}.a)", "true"),
        ("[?optional.none(), 1, ?optional.of(2)]", "[1, 2]"),
        ("[?optional.of(1)] + [2]", "[1, 2]"),
        ("{?'a': optional.none(), 'b': 1}", "{'b': 1}"),
        ("{'a': 1}.?a.value()", "1"),
        ("{'a': 1}.?b.hasValue()", "false"),
        ("{'a': {'b': 1}}.?a.?b.orValue(2)", "1"),
        ("{'a': {}}.?a.?b.orValue(2)", "2"),
        ("{'a': {'b': 1}}.?a.b.value()", "1"),
        ("[1, 2][?5].orValue(0)", "0"),
        ("[1, 2][?1].orValue(0)", "2"),
        ("{'a': [1]}.?a[0].value()", "1"),
        ("{'a': [1]}[?'a'][?3].hasValue()", "false"),
        ("optional.of(1).optMap(x, x + 1).value()", "2"),
        ("optional.ofNonZeroValue(0).hasValue()", "false"),
    ]);
    all_fail(&[
        "[1, 2][2]",
        "[1, 2][-1]",
        "[][0]",
        "{'a': 1}['b']",
        "{'a': 1}.b",
        "{'a': {}}.a.b.c",
        "has({'a': {}}.b.c)",
        "'a' in 'abc'",
        "'abc'[0]",
        "'abc'.a",
        "1.a",
        "null.a",
        "optional.none().value()",
    ]);
    refused("has(1)", "VST0130");
    refused("has(object)", "VST0130");
    refused("has(object['a'])", "VST0130");
}

#[test]
fn macros() {
    all_are(&[
        ("[1, 2].all(e, e > 0)", "true"),
        ("[1, 2].all(e, e > 1)", "false"),
        ("[].all(e, e > 0)", "true"),
        ("[1, 'a', 3].all(e, e % 2 == 0)", "false"),
        ("[1, 2].exists(e, e == 2)", "true"),
        ("[].exists(e, e == 2)", "false"),
        ("[1, 'a'].exists(e, e == 'a')", "true"),
        ("[0, 1].exists(e, 1 / e == 1)", "true"),
        ("[1, 0].exists(e, 1 / e == 1)", "true"),
        ("[0, 2].all(e, 1 / e == 1)", "false"),
        ("[2, 0].all(e, 1 / e == 1)", "false"),
        ("[1, 2, 2].exists_one(e, e == 1)", "true"),
        ("[1, 2, 2].exists_one(e, e == 2)", "false"),
        ("[].exists_one(e, e == 2)", "false"),
        ("[1, 2].existsOne(e, e == 2)", "true"),
        ("[1, 2, 3].map(e, e * e)", "[1, 4, 9]"),
        ("[].map(e, e)", "[]"),
        ("[1, 2, 3].map(e, e > 1, e * 10)", "[20, 30]"),
        ("[1, 2, 3].filter(e, e > 1)", "[2, 3]"),
        ("[1, 2].filter(e, false)", "[]"),
        ("[1, 2].map(x, [3, 4].map(y, x * y))", "[[3, 4], [6, 8]]"),
        ("[1, 2].exists(x, [2, 3].exists(y, x == y))", "true"),
        ("[[1, 2], [3]].map(x, x.map(x, x + 1))", "[[2, 3], [4]]"),
        ("[1].map(object, object + 1)", "[2]"),
        ("{'a': 1, 'b': 2}.all(k, k in ['a', 'b'])", "true"),
        ("{'a': 1, 'b': 2}.exists(k, k == 'b')", "true"),
        ("{'a': 1, 'b': 2}.map(k, k).size()", "2"),
        ("{'a': 1, 'b': 2}.filter(k, k > 'a')", "['b']"),
        ("{'a': 1}.exists_one(k, k == 'a')", "true"),
        ("[1, 2, 3].filter(e, e > 1).map(e, e + 1).exists(e, e == 4)", "true"),
        ("[{'n': 'a'}, {'n': 'b'}].map(e, e.n)", "['a', 'b']"),
        ("[{'n': 'a'}, {}].filter(e, has(e.n)).size()", "1"),
    ]);
    all_fail(&[
        "[1, 0].all(e, 1 / e == 1)",
        "[0].exists(e, 1 / e == 1)",
        "[1, 0].map(e, 1 / e)",
        "[0].filter(e, 1 / e == 1)",
        "1.map(e, e)",
        "'abc'.all(e, true)",
        "[1].filter(e, e)",
    ]);
    refused("[1].map(1, 2)", "VST0130");
    refused("[1].all(a.b, true)", "VST0130");
    refused("[1].exists('a', true)", "VST0130");
    refused("all([1], e, true)", "VST0132");
    refused("[1].has(e)", "VST0132");
}

#[test]
fn texts() {
    all_are(&[
        ("''.size()", "0"),
        ("size('äöü')", "3"),
        ("'foobar'.startsWith('foo')", "true"),
        ("'foobar'.startsWith('')", "true"),
        ("'foobar'.startsWith('bar')", "false"),
        ("'foobar'.endsWith('bar')", "true"),
        ("''.endsWith('a')", "false"),
        ("'foobar'.contains('ob')", "true"),
        ("'foobar'.contains('')", "true"),
        ("''.contains('a')", "false"),
        ("'hubba'.matches('ubb')", "true"),
        ("'abcd'.matches('^bc')", "false"),
        ("'abcd'.matches('^a.*d$')", "true"),
        ("'mañana'.matches('a+ñ+a+n+a+')", "true"),
        ("'x'.matches('')", "true"),
        ("'0aZ_ \\t'.matches('^\\\\d\\\\w\\\\w\\\\w\\\\s\\\\s$')", "true"),
        // RE2's classes are ASCII.
        ("'\\u0663'.matches('\\\\d')", "false"),
        ("'é'.matches('\\\\w')", "false"),
        ("'é'.matches('[^\\\\D]|[^\\\\W_]')", "false"),
        ("'é'.matches('^\\\\W\\\\D?$')", "true"),
        ("'\\u00a0'.matches('\\\\s')", "false"),
        ("'éa'.find('\\\\b.*')", "'a'"),
        ("'ea'.find('\\\\B.*')", "'a'"),
        ("'\\u0663'.matches('\\\\p{Nd}')", "true"),
        // Within a class they have no meaning of their own.
        ("'[a&~b]'.matches('^[][a-b&&~~]+$')", "true"),
        ("'a]'.matches('^[[:alpha:]]]$') && !'a'.matches('[^[:alpha:]]')", "true"),
        ("'[x'.matches('^[[:x]+$') && ':'.matches('^[[:x]$')", "true"),
        ("'-'.matches('^[a-z--]$') && 'b'.matches('^[a-z--]$') && !'&'.matches('^[a-z--]$')", "true"),
        ("','.matches('^[+--]$') && '5'.matches('^[--9]$') && '-'.matches('^[--]$')", "true"),
        ("'he' + 'llo'", "'hello'"),
        ("'' + ''", "''"),
        ("b'a' == b'a'", "true"),
        ("'tacocat'.charAt(3)", "'o'"),
        ("'tacocat'.charAt(7)", "''"),
        ("'tacocat'.indexOf('ac')", "1"),
        ("'tacocat'.indexOf('none')", "-1"),
        ("'tacocat'.indexOf('a', 3)", "5"),
        ("'tacocat'.indexOf('a', 30)", "-1"),
        ("'tacocat'.lastIndexOf('at')", "5"),
        ("'tacocat'.lastIndexOf('a', 3)", "1"),
        ("'TacoCat'.lowerAscii()", "'tacocat'"),
        ("'TacoCÆt'.lowerAscii()", "'tacocÆt'"),
        ("'tacoCat'.upperAscii()", "'TACOCAT'"),
        ("'12 days 12 hours'.replace('{0}', '2')", "'12 days 12 hours'"),
        ("'{0} days {0} hours'.replace('{0}', '2')", "'2 days 2 hours'"),
        ("'{0} days {0} hours'.replace('{0}', '2', 1)", "'2 days {0} hours'"),
        ("'hello world'.split(' ')", "['hello', 'world']"),
        ("'hello world events!'.split(' ', 0)", "[]"),
        ("'hello world events!'.split(' ', 1)", "['hello world events!']"),
        ("'o©o©o©o'.split('©', -1)", "['o', 'o', 'o', 'o']"),
        ("'tacocat'.substring(4)", "'cat'"),
        ("'tacocat'.substring(0, 4)", "'taco'"),
        ("'tacocat'.substring(4, 4)", "''"),
        ("' \\ttrim\\n    '.trim()", "'trim'"),
        ("['x', 'y'].join()", "'xy'"),
        ("['x', 'y'].join('-')", "'x-y'"),
        ("[].join('-')", "''"),
        ("'%s is %d years'.format(['a', 3])", "'a is 3 years'"),
    ]);
    all_fail(&[
        "'tacocat'.charAt(30)",
        "'tacocat'.substring(40)",
        "'tacocat'.substring(3, 1)",
        "'%d'.format(['a'])",
        "'a'.startsWith(1)",
        "['a', 1].join()",
    ]);
}
