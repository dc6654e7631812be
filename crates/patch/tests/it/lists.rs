//! The smallest sensible operations on lists.

use vestibule_patch::{Document, diff, to_json};

use crate::sample::schema;

fn patch(list: &str, before: &str, after: &str) -> String {
    let (before, after) = (format!(r#"{{"{list}":{before}}}"#), format!(r#"{{"{list}":{after}}}"#));
    let operations = diff(&before, &after, schema()).unwrap();
    let mut document = Document::parse(&before).unwrap();
    document.apply_all(&operations).unwrap();
    assert!(document.view().same_as(Document::parse(&after).unwrap().view()));
    to_json(&operations).replace(&format!("/{list}"), "").replace(r#""op":"#, "")
}

#[test]
fn scalars() {
    assert_eq!(patch("atomic", "[1,2,3]", "[1,3]"), r#"[{"remove","path":"/1"}]"#);
    assert_eq!(patch("atomic", "[1,2,3]", "[1,4,3]"), r#"[{"replace","path":"/1","value":4}]"#);
    assert_eq!(
        patch("atomic", "[1,2]", "[0,1,2,3]"),
        r#"[{"add","path":"/0","value":0},{"add","path":"/3","value":3}]"#
    );
    assert_eq!(patch("atomic", "[1,2,3]", "[2,3,1]"), r#"[{"move","from":"/0","path":"/2"}]"#);
    assert_eq!(patch("atomic", "[1,1,1]", "[1,1]"), r#"[{"remove","path":"/2"}]"#);
    assert_eq!(patch("set", r#"["a","b"]"#, r#"["b","a"]"#), r#"[{"move","from":"/1","path":"/0"}]"#);
    assert_eq!(patch("plain", "[]", "[1]"), r#"[{"add","path":"/0","value":1}]"#);
    assert_eq!(patch("plain", "[[1,2],[3]]", "[[1,2,4],[3]]"), r#"[{"add","path":"/0/2","value":4}]"#);
}

#[test]
fn removals_name_places_of_the_list_received() {
    assert_eq!(patch("plain", "[1,2,3,4]", "[2,4]"), r#"[{"remove","path":"/2"},{"remove","path":"/0"}]"#);
}

#[test]
fn a_change_inside_an_item_is_laid_inside_it() {
    assert_eq!(
        patch("atomic", r#"[{"a":1,"b":2,"c":3}]"#, r#"[{"z":0},{"a":1,"b":2,"c":4}]"#),
        r#"[{"add","path":"/0","value":{"z":0}},{"replace","path":"/1/c","value":4}]"#
    );
    assert_eq!(
        patch("named", r#"[{"name":"a","x":1}]"#, r#"[{"name":"b"},{"name":"a"}]"#),
        r#"[{"add","path":"/0","value":{"name":"b"}},{"remove","path":"/1/x"}]"#
    );
}

#[test]
fn an_item_of_which_little_is_left_is_replaced() {
    assert_eq!(
        patch("atomic", r#"[{"a":1,"b":2,"c":3}]"#, r#"[{"a":1,"b":0,"c":0}]"#),
        r#"[{"replace","path":"/0","value":{"a":1,"b":0,"c":0}}]"#
    );
}

#[test]
fn everything_at_once() {
    assert_eq!(
        patch(
            "named",
            r#"[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"},{"name":"e"}]"#,
            r#"[{"name":"d"},{"name":"new"},{"name":"a","x":1},{"name":"e"},{"name":"b"}]"#
        ),
        concat!(
            r#"[{"remove","path":"/2"},{"move","from":"/2","path":"/0"},{"add","path":"/1","value":{"name":"new"}},"#,
            r#"{"move","from":"/4","path":"/3"},{"add","path":"/2/x","value":1}]"#
        )
    );
}

#[test]
fn a_list_of_which_nothing_is_left_is_replaced_at_once() {
    assert_eq!(patch("atomic", "[1,2,3]", "[]"), r#"[{"replace","path":"","value":[]}]"#);
    assert_eq!(patch("set", r#"["a","b"]"#, r#"["c"]"#), r#"[{"replace","path":"","value":["c"]}]"#);
    assert_eq!(
        patch("named", r#"[{"name":"a"},{"name":"b"}]"#, r#"[{"name":"c"},{"name":"d"}]"#),
        r#"[{"replace","path":"","value":[{"name":"c"},{"name":"d"}]}]"#
    );
    assert_eq!(patch("atomic", "[1]", "[]"), r#"[{"remove","path":"/0"}]"#);
}
