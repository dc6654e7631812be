use super::*;

const POD: &str = "\
# A pod of ours.
apiVersion: v1
kind: Pod
metadata: # names
  name: web   # short
  labels: {}   # none yet
  annotations:

spec:
  # The only one.
  containers:
    # app first
    - name: 'app'
      image: \"nginx:1\" # pinned
      args: [a, b]
      command:
        - sh

        - -c
        - |
          echo hi

    # the other
    - name: other
  volumes:   # two
    - name: a
    - name: b
  dnsPolicy: Default
# The end.
";

fn patched(text: &str, operations: &str) -> Patched {
    patch(text, &serde_json::from_str::<Vec<Operation>>(operations).unwrap()).unwrap()
}

/// The lines that one operation removes (`-`) and adds (`+`), in the order of the texts.
fn lines(operation: &str) -> Vec<String> {
    let Patched { text, rewritten } = patched(POD, &format!("[{operation}]"));
    assert_eq!(rewritten, None, "{operation}");
    let only = |one: &str, other: &str, sign| {
        let mut rest: Vec<String> = other.lines().map(str::to_owned).collect();
        let mut only = Vec::new();
        for line in one.lines() {
            match rest.iter().position(|other| other == line) {
                Some(index) => drop(rest.remove(index)),
                None => only.push(format!("{sign}{line}")),
            }
        }
        only
    };
    let mut lines = only(POD, &text, '-');
    lines.extend(only(&text, POD, '+'));
    lines
}

#[test]
fn only_the_lines_of_the_operation_change() {
    for (operation, expected) in [
        (
            r#"{"op":"add","path":"/metadata/labels/app","value":"web"}"#,
            &["-  labels: {}   # none yet", "+  labels:   # none yet", "+    app: web"][..],
        ),
        (
            r#"{"op":"add","path":"/metadata/labels","value":{"app":"web"}}"#,
            &["-  labels: {}   # none yet", "+  labels:   # none yet", "+    app: web"],
        ),
        (r#"{"op":"add","path":"/metadata/annotations","value":{"a":"on"}}"#, &["+    a: \"on\""]),
        (r#"{"op":"add","path":"/metadata/namespace","value":"shop"}"#, &["+  namespace: shop"]),
        (
            r#"{"op":"add","path":"/spec/containers/0/env","value":[{"name":"A","value":"1"}]}"#,
            &["+      env:", "+        - name: A", "+          value: \"1\""],
        ),
        (r#"{"op":"add","path":"/spec/containers/0","value":{"name":"x"}}"#, &["+    - name: x"]),
        (
            r#"{"op":"add","path":"/spec/containers/1","value":{"name":"x","args":["y"]}}"#,
            &["+    - name: x", "+      args:", "+        - \"y\""],
        ),
        (
            r#"{"op":"add","path":"/spec/volumes/-","value":{"name":"c","emptyDir":{}}}"#,
            &["+    - name: c", "+      emptyDir: {}"],
        ),
        (
            r#"{"op":"add","path":"/spec/initContainers","value":[{"name":"i"}]}"#,
            &["+  initContainers:", "+    - name: i"],
        ),
        (
            r#"{"op":"replace","path":"/spec/containers/0/image","value":"nginx:2"}"#,
            &["-      image: \"nginx:1\" # pinned", "+      image: nginx:2 # pinned"],
        ),
        (
            r#"{"op":"replace","path":"/spec/containers/0/args","value":["c"]}"#,
            &["-      args: [a, b]", "+      args:", "+        - c"],
        ),
        (
            r#"{"op":"replace","path":"/spec/containers/0/command/1","value":"-x"}"#,
            &["-        - -c", "+        - -x"],
        ),
        (r#"{"op":"remove","path":"/spec/volumes/0"}"#, &["-    - name: a"]),
        (r#"{"op":"remove","path":"/spec/dnsPolicy"}"#, &["-  dnsPolicy: Default"]),
        (
            r#"{"op":"remove","path":"/spec/containers/0/name"}"#,
            &[
                "-    - name: 'app'",
                "-      image: \"nginx:1\" # pinned",
                "+    - image: \"nginx:1\" # pinned",
            ],
        ),
        (r#"{"op":"remove","path":"/spec/volumes/0/name"}"#, &["-    - name: a", "+    - {}"]),
        (r#"{"op":"move","from":"/spec/volumes/1","path":"/spec/volumes/0"}"#, &[]),
    ] {
        assert_eq!(lines(operation), expected, "{operation}");
    }
}

/// The first member on the line of an item is removed, and the comment about the next member is kept.
#[test]
fn comments_stay_when_the_first_member_is_removed() {
    let text = "a:\n- name: x # gone\n  # pinned\n\n  # since 2020\n  image: y\n- name: z\n";
    let Patched { text, rewritten } = patched(text, r#"[{"op":"remove","path":"/a/0/name"}]"#);
    assert_eq!(rewritten, None);
    assert_eq!(text, "a:\n  # pinned\n  # since 2020\n- image: y\n- name: z\n");
}

#[test]
fn flow_style_anchors_and_tabs_rewrite_the_document() {
    let add = r#"[{"op":"add","path":"/spec/a/b","value":1}]"#;
    for (text, why, line) in [
        ("spec:\n  a: {c: 2} # lost\n", "flow style", 2),
        ("{spec: {\"a\": {}}}", "flow style", 1),
        ("x: &x 1\nspec:\n  a:\n    c: *x\n", "an anchor", 1),
    ] {
        let Patched { text, rewritten } = patched(text, add);
        assert_eq!(rewritten, Some(RewriteReason { line: Some(line), why }), "{text}");
        assert!(text.contains("    b: 1\n"), "{text}");
    }
}

#[test]
fn json_stays_json() {
    let add = r#"[{"op":"add","path":"/spec/a/b","value":1}]"#;
    for (text, expected) in [
        (r#"{"spec": {"a": {}}, "x": [1E+3, "\u00e9"]}"#, r#"{"spec":{"a":{"b":1}},"x":[1E+3, "\u00e9"]}"#),
        (
            "---\n{\n  \"spec\": {\"a\": {}}}\n\n",
            "---\n{\n  \"spec\": {\n    \"a\": {\n      \"b\": 1\n    }\n  }\n}\n\n",
        ),
    ] {
        let Patched { text, rewritten } = patched(text, add);
        assert_eq!((&*text, rewritten), (expected, None));
    }
}

#[test]
fn an_operation_that_does_not_apply_is_an_error() {
    let operations: Vec<Operation> = serde_json::from_str(r#"[{"op":"remove","path":"/b"}]"#).unwrap();
    for text in ["a: 1\n", "a: [", "a: 1\n---\nb: 1\n"] {
        assert!(patch(text, &operations).is_err(), "{text}");
    }
}

#[test]
fn line_endings_are_kept() {
    let add = r#"[{"op":"add","path":"/a/b","value":{"c":[1]}},{"op":"add","path":"/d","value":"e"}]"#;
    assert_eq!(
        patched("a:\r\n  x: y\r\n", add).text,
        "a:\r\n  x: y\r\n  b:\r\n    c:\r\n    - 1\r\nd: e\r\n"
    );
    assert_eq!(patched("a:\n  x: y", add).text, "a:\n  x: y\n  b:\n    c:\n    - 1\nd: e");
    assert_eq!(
        patched("---\na:\n  x: y\n...\n", add).text,
        "---\na:\n  x: y\n  b:\n    c:\n    - 1\nd: e\n...\n"
    );
}

#[test]
fn plain_scalars_are_resolved_as_in_kubectl() {
    let add = r#"[{"op":"add","path":"/b","value":"yes"}]"#;
    assert_eq!(patched("a: yes\n", add).text, "a: yes\nb: \"yes\"\n");
    assert_eq!(patched("{a: yes}\n", add).text, "a: true\nb: \"yes\"\n");
}
