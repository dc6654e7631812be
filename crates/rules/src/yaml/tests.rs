use super::{MAX_DEPTH, Position, read};
use crate::diagnostic::Diagnostic;

fn json(text: &str) -> Vec<String> {
    read("test.yaml", text).unwrap().iter().map(super::Document::to_json).collect()
}

fn problems(text: &str) -> Vec<Diagnostic> {
    read("test.yaml", text).err().unwrap_or_default()
}

fn headlines(text: &str) -> Vec<String> {
    problems(text).iter().map(Diagnostic::headline).collect()
}

#[test]
fn empty_documents_are_left_out() {
    assert_eq!(json("a: 1\n---\n# nothing\n---\n- b\n...\n---\n"), [r#"{"a":1}"#, r#"["b"]"#]);
    assert!(json("").is_empty());
    assert!(json("# only a comment\n").is_empty());
}

#[test]
fn json_keeps_its_values() {
    let text =
        r#"{"a":[1.0,1e400,-0,123456789012345678901234567890],"b":"\u00e4\n\/","c":{},"d":null,"e":"0644"}"#;
    let expected =
        r#"{"a":[1.0,1e400,-0,123456789012345678901234567890],"b":"ä\n/","c":{},"d":null,"e":"0644"}"#;
    assert_eq!(json(text), [expected]);
    assert_eq!(json("{\n\t\"a\": [\n\t\t1\n\t]\n}"), [r#"{"a":[1]}"#]);
}

/// YAML forbids characters that JSON allows.
#[test]
fn json_that_yaml_forbids_is_read() {
    assert_eq!(json("{\"a\u{7f}\": \"b\u{7f}\\ud800\"}"), ["{\"a\u{7f}\":\"b\u{7f}\u{fffd}\"}"]);
    let key = "k".repeat(2000);
    assert_eq!(json(&format!("{{\"{key}\": [1E+3, {{}}, []]}}")), [format!("{{\"{key}\":[1E+3,{{}},[]]}}")]);
    assert_eq!(json("{\"a\": 1}\n---\n{\"b\": \"\u{7f}\"}\n").len(), 2, "each by itself");
    // Lines and columns are counted as in YAML.
    let documents = read("test.json", "{\n  \"é\": {\"b\": [1,\n    true]}}").unwrap();
    let list = documents[0].root().get("é").and_then(|node| node.get("b")).unwrap();
    let at: Vec<_> = list.as_list().unwrap().iter().map(|item| item.at().to_string()).collect();
    assert_eq!((list.at().to_string(), at), ("2:14".to_owned(), vec!["2:15".to_owned(), "3:5".to_owned()]));
    assert_eq!(
        headlines("{\"a\": 1,\n \"a\": 2}"),
        ["test.yaml:2:2: error[VST0102]: `a` appears twice; first at 1:2"]
    );
    assert!(read("test.json", "{\"a\": 1").is_err());
}

#[test]
fn json_with_long_members_is_read() {
    let long = "x".repeat(5000);
    let text = format!(r#"{{"a":"{long}","b":[{{"c":"{long}"}}]}}"#);
    assert_eq!(json(&text), [text]);
}

#[test]
fn scalars_keep_their_text() {
    let documents = read("test.yaml", "a: 1.10\nb: on\nc: 0644\nd: |\n  x\n  y\n").unwrap();
    let root = documents[0].root();
    let text = |key| root.get(key).and_then(super::Node::as_text).unwrap();
    assert_eq!([text("a"), text("b"), text("c"), text("d")], ["1.10", "on", "0644", "x\ny\n"]);
}

#[test]
fn every_value_has_its_location() {
    let documents = read("test.yaml", "spec:\n  list:\n  - {name: a, image: ä b, x: 1}\n").unwrap();
    let list = documents[0].root().get("spec").and_then(|spec| spec.get("list")).unwrap();
    let entries = list.as_list().unwrap()[0].as_map().unwrap();
    assert_eq!(entries[0].at, Position { line: 3, column: 6 });
    assert_eq!(entries[2].at, Position { line: 3, column: 27 });
    assert_eq!(entries[2].value.at(), Position { line: 3, column: 30 });
}

#[test]
fn all_problems_of_all_documents_are_reported() {
    let text = "a: 1\na: 2\n---\nb: [1, 2\n---\nc: !!str 3\n<<: {}\n---\nd: 4\n";
    let found = headlines(text);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].starts_with("test.yaml:2:1: error[VST0102]"), "{found:?}");
    assert!(found[1].contains("VST0101"), "{found:?}");
    assert!(found[2].starts_with("test.yaml:6:") && found[2].contains("VST0103"), "{found:?}");
    assert!(found[3].starts_with("test.yaml:7:1: error[VST0106]"), "{found:?}");
}

#[test]
fn a_broken_document_does_not_affect_the_others() {
    for broken in
        ["a: [1, 2", "a: {b: 1", "a: 'x", "a: \"x", "a:\n\tb: c", "a: b: c", "[{]}", "a: *x", "%YAML 9"]
    {
        let text = format!("a: 1\n---\n{broken}\n---\nb: 2\nb: 3\n---\n{broken}\n...\nc: 3\n");
        let found = headlines(&text);
        assert_eq!(found.len(), 3, "{broken}: {found:?}");
        assert!(found.iter().any(|line| line.contains("VST0102")), "{broken}: {found:?}");
    }
}

#[test]
fn split_documents_keep_their_line_numbers() {
    let text = "# head\nkind: A\nmetadata:\n  name: one\n---\n---\nkind: B\nspec: {a: [}\n---\nkind: C\nmetadata: {name: three\n---\nd: 1\nd: 2\n";
    let parts = super::split("test.yaml", text);
    let shown: Vec<_> = parts
        .iter()
        .map(|part| (part.kind.as_deref(), part.name.as_deref(), part.text.lines_before))
        .collect();
    let expected =
        [(Some("A"), Some("one"), 0), (Some("B"), None, 5), (Some("C"), Some("three"), 8), (None, None, 11)];
    assert_eq!(shown, expected);
    let whole: Vec<String> = problems(text).iter().map(ToString::to_string).collect();
    let one_by_one = parts.iter().flat_map(|part| super::read_all(part.text).1);
    assert_eq!(one_by_one.map(|problem| problem.to_string()).collect::<Vec<_>>(), whole);
    assert!(whole.last().is_some_and(|last| last.contains("test.yaml:14:1") && last.contains(" 14 | d: 2")));
}

#[test]
fn lists_and_maps_are_not_keys() {
    assert!(headlines("? [a]\n: 1\n")[0].contains("VST0106"));
    assert!(headlines("a: &x [1]\nb:\n  *x : 1\n")[0].contains("VST0106"));
    assert_eq!(json("1: a\ntrue: b\n"), [r#"{"1":"a","true":"b"}"#]);
}

/// As `sigs.k8s.io/yaml`, which kubectl uses, writes them, but for fractions and null.
#[test]
fn plain_keys_are_resolved_as_kubectl_does() {
    let text = "on: 1\n'yes': 2\n1: 3\n0644: 4\na: {n: 5}\n1.10: 6\n~: 7\n";
    let documents = read("test.yaml", text).unwrap();
    assert_eq!(
        documents[0].to_kubectl_json(),
        r#"{"true":1,"yes":2,"1":3,"420":4,"a":{"false":5},"1.10":6,"~":7}"#
    );
    assert_eq!(documents[0].to_json(), r#"{"on":1,"yes":2,"1":3,"0644":4,"a":{"n":5},"1.10":6,"~":7}"#);
}

#[test]
fn aliases_are_copies() {
    assert_eq!(json("a: &x {b: [1]}\nc: *x\n"), [r#"{"a":{"b":[1]},"c":{"b":[1]}}"#]);
    assert!(headlines("a: &x [*x]\n")[0].contains("VST0104"));
    assert!(!headlines("a: *nowhere\n").is_empty());
}

#[test]
fn alias_bombs_are_refused() {
    let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..30 {
        let below = format!("*a{}", level - 1);
        text += &format!("a{level}: &a{level} [{}]\n", vec![below; 10].join(","));
    }
    assert!(headlines(&text)[0].contains("VST0104"));

    // Few levels with many copies, and nested anchors, each of which keeps a copy.
    let wide = |aliases: usize| {
        format!("a: &a [{}]\nb: [{}]\n", ["x"; 900].join(","), vec!["*a"; aliases].join(","))
    };
    assert!(read("test.yaml", &wide(109)).is_ok());
    assert!(headlines(&wide(111))[0].contains("VST0104"));
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), ["*a"; 100].join(","));
    assert!(headlines(&long)[0].contains("VST0104"));
    let around = format!("{}[{}]{}", "[&a ".repeat(120), ["x"; 900].join(","), "]".repeat(120));
    assert!(headlines(&around)[0].contains("VST0104"));

    // Each of the 30 nested anchors keeps one copy.
    let few = format!("{}x{}", "&a [".repeat(30), "]".repeat(30));
    assert!(read("test.yaml", &few).is_ok());

    let mut deep = "a0: &a0 [x]\n".to_owned();
    for level in 1..400 {
        deep += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
    }
    assert!(headlines(&deep)[0].contains("VST0105"));
}

/// A key in which the document was stopped got a second finding, and one more for each map around it.
#[test]
fn a_key_that_is_read_in_part_is_reported_once() {
    for (text, code) in [("a: {{ \"x\" . }}".to_owned(), "VST0102"), ("{".repeat(MAX_DEPTH + 1), "VST0105")] {
        let found = headlines(&format!("{text}\n---\nb: 2\nb: 3\n"));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().any(|line| line.contains(code)), "{found:?}");
    }
}

#[test]
fn nesting_beyond_the_limit_is_refused() {
    for level in ["[", "{a: ", "- "] {
        assert!(headlines(&level.repeat(100_000))[0].contains("VST0105"), "{level}");
    }
    let levels = |count: usize| format!("{}{}", "[".repeat(count), "]".repeat(count));
    assert_eq!(json(&levels(MAX_DEPTH)).len(), 1);
    assert!(headlines(&levels(MAX_DEPTH + 1))[0].contains("VST0105"));
}

#[test]
fn a_diagnostic_shows_the_source_line_and_a_caret() {
    let shown = problems("metadata:\n  name: a\n  name: b\n")[0].to_string();
    let expected =
        "error[VST0102]: `name` appears twice; first at 2:3\n  --> test.yaml:3:3\n 3 |   name: b\n   |   ^";
    assert_eq!(shown, expected);
}
