//! The smallest sensible operations on lists.

use vestibule_patch::{Document, Field, Key, List, Operation, Schema, Table, Type, diff, to_json};

use crate::sample::schema;

fn patch(list: &str, before: &str, after: &str) -> String {
    to_json(&operations(list, before, after, schema()))
        .replace(&format!("/{list}"), "")
        .replace(r#""op":"#, "")
}

/// The operations that turn one list into the other, which are applied to check that.
fn operations(list: &str, before: &str, after: &str, schema: Schema<'_>) -> Vec<Operation> {
    let (before, after) = (format!(r#"{{"{list}":{before}}}"#), format!(r#"{{"{list}":{after}}}"#));
    let operations = diff(&before, &after, schema).unwrap();
    let mut document = Document::parse(&before).unwrap();
    document.apply_all(&operations).unwrap();
    assert!(document.view().same_as(Document::parse(&after).unwrap().view()));
    operations
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
    assert_eq!(patch("atomic", "[1,2,1,2]", "[2,1,2,1]"), r#"[{"move","from":"/0","path":"/3"}]"#);
    assert_eq!(patch("set", r#"["a","b"]"#, r#"["b","a"]"#), r#"[{"move","from":"/1","path":"/0"}]"#);
    assert_eq!(patch("plain", "[]", "[1]"), r#"[{"add","path":"/0","value":1}]"#);
    assert_eq!(patch("plain", "[[1,2],[3]]", "[[1,2,4],[3]]"), r#"[{"add","path":"/0/2","value":4}]"#);
}

#[test]
fn a_list_in_a_list_with_keys_has_no_keys() {
    let item = schema().field("named").item();
    assert_eq!(item.list(), List::Unknown);
    assert_eq!(item.field("named").list(), schema().field("named").list());
}

#[test]
fn removals_name_places_of_the_list_received() {
    assert_eq!(patch("plain", "[1,2,3,4]", "[2,4]"), r#"[{"remove","path":"/2"},{"remove","path":"/0"}]"#);
}

#[test]
fn a_change_inside_an_item_replaces_a_part_of_it() {
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

#[test]
fn items_without_keys_are_matched_by_the_most_that_they_have_in_common() {
    for (before, after, expected) in [
        // Both of two changed items.
        (
            r#"[{"a":1,"b":1,"c":1},{"a":2,"b":2,"c":2}]"#,
            r#"[{"a":1,"b":1,"c":0},{"a":2,"b":2,"c":0}]"#,
            r#"[{"replace","path":"/0/c","value":0},{"replace","path":"/1/c","value":0}]"#,
        ),
        // The more similar one of two.
        (
            r#"[{"a":1,"b":2,"c":3,"d":4},{"a":1,"b":2,"c":0,"d":0}]"#,
            r#"[{"a":1,"b":2,"c":3,"d":5}]"#,
            r#"[{"remove","path":"/1"},{"replace","path":"/0/d","value":5}]"#,
        ),
        // An equal item rather than the similar one behind it.
        (
            r#"[1,{"a":1,"b":1},{"a":1,"b":2},2,3]"#,
            r#"[{"a":1,"b":1},3,4]"#,
            r#"[{"remove","path":"/3"},{"remove","path":"/2"},{"remove","path":"/0"},{"add","path":"/2","value":4}]"#,
        ),
        // An item that moved rather than a similar one in its old place.
        (
            r#"[{"a":1,"b":1},1,2,3]"#,
            r#"[{"a":1,"b":2},1,2,{"a":1,"b":1}]"#,
            concat!(
                r#"[{"remove","path":"/3"},{"add","path":"/0","value":{"a":1,"b":2}},"#,
                r#"{"move","from":"/1","path":"/3"}]"#
            ),
        ),
    ] {
        assert_eq!(patch("atomic", before, after), expected, "{before}");
    }
}

#[test]
fn each_new_item_between_two_that_stay_replaces_a_removed_one() {
    assert_eq!(
        patch("atomic", "[1,2,3,4]", "[1,8,9,4]"),
        r#"[{"replace","path":"/1","value":8},{"replace","path":"/2","value":9}]"#
    );
    // Not the removed item behind the old place of one that moves.
    assert_eq!(
        patch(
            "named",
            r#"[{"name":"moved"},{"name":"removed"},{"name":"a"},{"name":"b"}]"#,
            r#"[{"name":"a"},{"name":"b"},{"name":"moved"},{"name":"new"}]"#
        ),
        r#"[{"remove","path":"/1"},{"move","from":"/0","path":"/2"},{"add","path":"/3","value":{"name":"new"}}]"#
    );
}

#[test]
fn items_with_the_same_key_are_the_same_item_even_if_they_share_no_member() {
    static TYPES: &[Type] = &[Type {
        name: "Rule",
        fields: &[Field {
            name: "rules",
            list: List::Map(&[Key { name: "protocol", default: Some("\"TCP\"") }]),
            of: None,
        }],
    }];
    static TABLE: Table = Table { types: TYPES };
    let operations = operations(
        "rules",
        r#"[{"x":1},{"protocol":"UDP","y":1},{"protocol":"UDP","y":2}]"#,
        r#"[{"protocol":"TCP","z":1},{"protocol":"UDP","y":1},{"protocol":"UDP","y":3}]"#,
        Schema::new(&TABLE, 0),
    );
    assert_eq!(
        to_json(&operations),
        concat!(
            r#"[{"op":"remove","path":"/rules/0/x"},{"op":"add","path":"/rules/0/protocol","value":"TCP"},"#,
            r#"{"op":"add","path":"/rules/0/z","value":1},{"op":"replace","path":"/rules/2/y","value":3}]"#
        )
    );
}

/// Whether all pairs of items are compared, which finds that `after` has one item more at its front. Otherwise the items at the
/// same place are paired, and the last item of `after` is the new one.
fn finds_the_new_item(length: usize, filling: &str) -> bool {
    let item = |n, x| format!(r#"{{"n":{n},"m":{n},"x":{x},"y":0,"z":0,"filling":"{filling}"}}"#);
    let list = |items: Vec<String>| format!("[{}]", items.join(","));
    let before = list((1..=length).map(|n| item(n, 0)).collect());
    let after = list((0..=length).map(|n| item(n, 1)).collect());
    let operations = operations("plain", &before, &after, Schema::unknown());
    let count =
        |end: &str| operations.iter().filter(|operation| operation.path().as_str().ends_with(end)).count();
    assert_eq!(count("/x"), length, "each item is changed inside");
    assert_eq!(count("/n"), count("/m"));
    assert!(count("/n") == 0 || count("/n") == length);
    count("/n") == 0
}

#[test]
fn only_few_and_small_items_are_compared_pair_by_pair() {
    assert!(finds_the_new_item(20, "short"));
    assert!(!finds_the_new_item(20, &"long".repeat(1500)), "twice 20 times 20 items of 6 kB");
    assert!(!finds_the_new_item(40, "short"), "40 times 41 pairs");
}

#[test]
fn changed_items_of_a_long_list_are_found_between_their_equal_neighbours() {
    let item = |n: usize, x: usize| format!(r#"{{"n":{n},"m":{n},"x":{x}}}"#);
    let list = |items: Vec<String>| format!("[{}]", items.join(","));
    let before = (1..=800).map(|n| item(n, 0)).collect();
    let after = (0..=800).map(|n| item(n, usize::from(n == 400 || n == 800))).collect();
    assert_eq!(
        patch("plain", &list(before), &list(after)),
        concat!(
            r#"[{"add","path":"/0","value":{"n":0,"m":0,"x":0}},"#,
            r#"{"replace","path":"/400/x","value":1},{"replace","path":"/800/x","value":1}]"#
        )
    );
}
