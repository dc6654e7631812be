//! A change made on what the types can hold, applied to the object as it was received.

use vestibule_patch::{Document, Schema, diff, diff_onto, to_json};

use crate::sample::schema;

fn check(before: &str, after: &str, onto: &str, patch: &str, result: &str) {
    let operations = diff_onto(before, after, onto, schema()).unwrap();
    assert_eq!(to_json(&operations), patch);
    let mut document = Document::parse(onto).unwrap();
    document.apply_all(&operations).unwrap();
    assert_eq!(document.to_json(), result);
}

#[test]
fn a_prepended_item_does_not_inherit() {
    check(
        r#"{"named":[{"name":"old"}]}"#,
        r#"{"named":[{"name":"new"},{"name":"old"}]}"#,
        r#"{"named":[{"name":"old","restartPolicy":"Always"}]}"#,
        r#"[{"op":"add","path":"/named/0","value":{"name":"new"}}]"#,
        r#"{"named":[{"name":"new"},{"name":"old","restartPolicy":"Always"}]}"#,
    );
}

#[test]
fn a_prepended_item_does_not_inherit_without_keys_either() {
    check(
        r#"{"plain":[{"a":1,"b":2}]}"#,
        r#"{"plain":[{"a":1,"b":3},{"a":1,"b":2,"c":3}]}"#,
        r#"{"plain":[{"a":1,"b":2,"unknown":1.0}]}"#,
        r#"[{"op":"add","path":"/plain/0","value":{"a":1,"b":3}},{"op":"add","path":"/plain/1/c","value":3}]"#,
        r#"{"plain":[{"a":1,"b":3},{"a":1,"b":2,"unknown":1.0,"c":3}]}"#,
    );
}

#[test]
fn a_moved_item_takes_along_what_is_its_own() {
    check(
        r#"{"named":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#,
        r#"{"named":[{"name":"c","x":1},{"name":"a"},{"name":"b"}]}"#,
        r#"{"named":[{"name":"a"},{"name":"b"},{"name":"c","unknown":1e400}]}"#,
        r#"[{"op":"move","from":"/named/2","path":"/named/0"},{"op":"add","path":"/named/0/x","value":1}]"#,
        r#"{"named":[{"name":"c","unknown":1e400,"x":1},{"name":"a"},{"name":"b"}]}"#,
    );
}

#[test]
fn a_removed_item_takes_its_unknown_fields_away() {
    check(
        r#"{"named":[{"name":"a"},{"name":"b"}]}"#,
        r#"{"named":[{"name":"b"}]}"#,
        r#"{"named":[{"name":"a","unknown":1},{"name":"b","unknown":2}]}"#,
        r#"[{"op":"remove","path":"/named/0"}]"#,
        r#"{"named":[{"name":"b","unknown":2}]}"#,
    );
}

#[test]
fn another_item_in_the_same_place_inherits_nothing() {
    check(
        r#"{"named":[{"name":"a"},{"name":"b"}]}"#,
        r#"{"named":[{"name":"a"},{"name":"c"}]}"#,
        r#"{"named":[{"name":"a"},{"name":"b","unknown":2}]}"#,
        r#"[{"op":"replace","path":"/named/1","value":{"name":"c"}}]"#,
        r#"{"named":[{"name":"a"},{"name":"c"}]}"#,
    );
}

#[test]
fn a_missing_parent_is_added_once_and_whole() {
    for (onto, result) in
        [("{}", r#"{"child":{"a":1,"b":2}}"#), (r#"{"child":null}"#, r#"{"child":{"a":1,"b":2}}"#)]
    {
        check(
            r#"{"child":{}}"#,
            r#"{"child":{"a":1,"b":2}}"#,
            onto,
            r#"[{"op":"add","path":"/child","value":{"a":1,"b":2}}]"#,
            result,
        );
    }
}

#[test]
fn a_null_list_counts_as_absent() {
    check(
        r#"{"named":[]}"#,
        r#"{"named":[{"name":"a"}]}"#,
        r#"{"named":null}"#,
        r#"[{"op":"add","path":"/named","value":[{"name":"a"}]}]"#,
        r#"{"named":[{"name":"a"}]}"#,
    );
    check(r#"{"named":[]}"#, r#"{"named":[]}"#, r#"{"named":null}"#, "[]", r#"{"named":null}"#);
}

#[test]
fn a_whole_document_of_another_kind_is_replaced() {
    check("{}", r#"{"a":1}"#, "null", r#"[{"op":"replace","path":"","value":{"a":1}}]"#, r#"{"a":1}"#);
}

#[test]
fn a_member_that_types_see_nothing_in_keeps_what_it_holds() {
    check(
        "{}",
        r#"{"child":{"a":1},"plain":[1]}"#,
        r#"{"child":{"unknown":1},"plain":["unknown"]}"#,
        r#"[{"op":"add","path":"/child/a","value":1},{"op":"add","path":"/plain/1","value":1}]"#,
        r#"{"child":{"unknown":1,"a":1},"plain":["unknown",1]}"#,
    );
}

#[test]
fn defaults_of_keys_are_filled_in() {
    check(
        r#"{"ports":[{"port":53},{"port":53,"protocol":"UDP"}]}"#,
        r#"{"ports":[{"port":53,"protocol":"UDP","x":1},{"port":53,"protocol":"TCP","x":2}]}"#,
        r#"{"ports":[{"port":53,"protocol":null,"unknown":1},{"port":53,"protocol":"UDP"}]}"#,
        concat!(
            r#"[{"op":"move","from":"/ports/1","path":"/ports/0"},"#,
            r#"{"op":"add","path":"/ports/0/x","value":1},{"op":"add","path":"/ports/1/protocol","value":"TCP"},"#,
            r#"{"op":"add","path":"/ports/1/x","value":2}]"#
        ),
        concat!(
            r#"{"ports":[{"port":53,"protocol":"UDP","x":1},"#,
            r#"{"port":53,"protocol":"TCP","unknown":1,"x":2}]}"#
        ),
    );
}

#[test]
fn doubled_keys_are_told_apart_by_what_they_hold() {
    check(
        r#"{"named":[{"name":"a","x":1},{"name":"a","x":2}]}"#,
        r#"{"named":[{"name":"a","x":1},{"name":"b"},{"name":"a","x":3}]}"#,
        r#"{"named":[{"name":"a","x":1,"unknown":1},{"name":"a","x":2,"unknown":2}]}"#,
        concat!(
            r#"[{"op":"add","path":"/named/1","value":{"name":"b"}},"#,
            r#"{"op":"replace","path":"/named/2/x","value":3}]"#
        ),
        r#"{"named":[{"name":"a","x":1,"unknown":1},{"name":"b"},{"name":"a","x":3,"unknown":2}]}"#,
    );
}

#[test]
fn items_that_decoding_left_out_stay_where_they_are() {
    check(
        r#"{"named":[{"name":"a"},{"name":"c"}]}"#,
        r#"{"named":[{"name":"z"},{"name":"a"},{"name":"c","x":1}]}"#,
        r#"{"named":[{"name":"a"},{"other":"b"},{"name":"c"}]}"#,
        concat!(
            r#"[{"op":"add","path":"/named/0","value":{"name":"z"}},"#,
            r#"{"op":"add","path":"/named/3/x","value":1}]"#
        ),
        r#"{"named":[{"name":"z"},{"name":"a"},{"other":"b"},{"name":"c","x":1}]}"#,
    );
}

#[test]
fn a_number_is_replaced_only_if_it_is_written_otherwise() {
    check(r#"{"x":1}"#, r#"{"x":1}"#, r#"{"x":1.0}"#, "[]", r#"{"x":1.0}"#);
    let operations = diff(r#"{"x":1}"#, r#"{"x":1.0}"#, Schema::unknown()).unwrap();
    assert_eq!(to_json(&operations), r#"[{"op":"replace","path":"/x","value":1.0}]"#);
}

#[test]
fn an_unchanged_value_is_not_added() {
    check(
        r#"{"named":[],"x":1}"#,
        r#"{"named":[],"x":2}"#,
        r#"{"x":1}"#,
        r#"[{"op":"replace","path":"/x","value":2}]"#,
        r#"{"x":2}"#,
    );
    check(
        r#"{"named":[{"name":"a"},{"name":"default"}]}"#,
        r#"{"named":[{"name":"a"},{"name":"default"},{"name":"new"}]}"#,
        r#"{"named":[{"name":"a"}]}"#,
        r#"[{"op":"add","path":"/named/1","value":{"name":"new"}}]"#,
        r#"{"named":[{"name":"a"},{"name":"new"}]}"#,
    );
}

#[test]
fn a_value_that_decoding_has_added_is_added_once_it_changes() {
    check(
        r#"{"named":[{"name":"a"},{"name":"default"}]}"#,
        r#"{"named":[{"name":"a"},{"name":"default","x":1}]}"#,
        r#"{"named":[{"name":"a"}]}"#,
        r#"[{"op":"add","path":"/named/1","value":{"name":"default","x":1}}]"#,
        r#"{"named":[{"name":"a"},{"name":"default","x":1}]}"#,
    );
}

#[test]
fn an_equal_value_is_not_written() {
    check(r#"{"x":1}"#, r#"{"x":2}"#, r#"{"x":2}"#, "[]", r#"{"x":2}"#);
    check(r#"{"set":["a"]}"#, r#"{"set":["A"]}"#, r#"{"set":["A"]}"#, "[]", r#"{"set":["A"]}"#);
}

#[test]
fn items_whose_key_decoding_has_changed_are_known_by_their_place() {
    check(
        r#"{"named":[{"name":"a"},{"name":"b"}],"set":["a","b"]}"#,
        r#"{"named":[{"name":"a","x":1},{"name":"b"}],"set":["a","b","c"]}"#,
        r#"{"named":[{"name":"A","unknown":1},{"name":"b"}],"set":["A","b"]}"#,
        r#"[{"op":"add","path":"/named/0/x","value":1},{"op":"add","path":"/set/2","value":"c"}]"#,
        r#"{"named":[{"name":"A","unknown":1,"x":1},{"name":"b"}],"set":["A","b","c"]}"#,
    );
}

/// The API server's JSON has a key in one item that a type adds to another.
#[test]
fn a_key_that_decoding_has_added_to_one_item_is_no_key_of_another() {
    for list in ["named", "plain"] {
        check(
            &format!(r#"{{"{list}":[{{"name":"","x":1}},{{"name":"","x":2}}]}}"#),
            &format!(r#"{{"{list}":[{{"name":"","x":1}},{{"name":"","x":3}}]}}"#),
            &format!(r#"{{"{list}":[{{"x":1,"unknown":1}},{{"name":"","x":2}}]}}"#),
            &format!(r#"[{{"op":"replace","path":"/{list}/1/x","value":3}}]"#),
            &format!(r#"{{"{list}":[{{"x":1,"unknown":1}},{{"name":"","x":3}}]}}"#),
        );
    }
}

/// Go writes `1` for a number that Rust writes as `1.0`, and a type normalizes other values too.
#[test]
fn items_with_normalized_values_are_not_taken_for_items_without_them() {
    for (received, decoded) in [("1", "1.0"), ("1e+21", "1e21"), (r#""1000m""#, r#""1""#)] {
        check(
            &format!(r#"{{"plain":[{{"name":"a","x":{decoded}}},{{"name":"a","y":{decoded}}}]}}"#),
            &format!(r#"{{"plain":[{{"name":"a","y":{decoded}}}]}}"#),
            &format!(r#"{{"plain":[{{"name":"a","x":{received}}},{{"name":"a","y":{received}}}]}}"#),
            r#"[{"op":"remove","path":"/plain/0"}]"#,
            &format!(r#"{{"plain":[{{"name":"a","y":{received}}}]}}"#),
        );
    }
}

#[test]
fn items_that_decoding_has_sorted_are_known_by_their_key() {
    check(
        r#"{"named":[{"name":"a"},{"name":"b"}]}"#,
        r#"{"named":[{"name":"a","x":1},{"name":"b"}]}"#,
        r#"{"named":[{"name":"b","unknown":2},{"name":"a","unknown":1}]}"#,
        r#"[{"op":"add","path":"/named/1/x","value":1}]"#,
        r#"{"named":[{"name":"b","unknown":2},{"name":"a","unknown":1,"x":1}]}"#,
    );
}

/// A `BTreeSet` or a map that is written as a list: the item at the same index in the received list was removed or changed.
#[test]
fn items_that_decoding_has_sorted_are_known_without_a_key() {
    check(
        r#"{"plain":["a","b"]}"#,
        r#"{"plain":["b","c"]}"#,
        r#"{"plain":["b","a"]}"#,
        r#"[{"op":"replace","path":"/plain/1","value":"c"}]"#,
        r#"{"plain":["b","c"]}"#,
    );
    check(
        r#"{"plain":[{"name":"a","x":1},{"name":"b","x":2}]}"#,
        r#"{"plain":[{"name":"a","x":3},{"name":"b","x":2},{"name":"c","x":4}]}"#,
        r#"{"plain":[{"name":"b","x":2,"unknown":2},{"name":"a","x":1,"unknown":1}]}"#,
        r#"[{"op":"add","path":"/plain/2","value":{"name":"c","x":4}},{"op":"replace","path":"/plain/1/x","value":3}]"#,
        r#"{"plain":[{"name":"b","x":2,"unknown":2},{"name":"a","x":3,"unknown":1},{"name":"c","x":4}]}"#,
    );
    check(
        r#"{"plain":[{"host":"a","path":"/"},{"host":"b","path":"/"},{"host":"c","path":"/"}]}"#,
        r#"{"plain":[{"host":"a","path":"/x"},{"host":"c","path":"/"}]}"#,
        r#"{"plain":[{"host":"c","path":"/","u":3},{"host":"b","path":"/","u":2},{"host":"a","path":"/","u":1}]}"#,
        r#"[{"op":"remove","path":"/plain/1"},{"op":"replace","path":"/plain/1/path","value":"/x"}]"#,
        r#"{"plain":[{"host":"c","path":"/","u":3},{"host":"a","path":"/x","u":1}]}"#,
    );
}

/// Regression test: the item was added a second time, since the item at its index had fewer members that the type adds.
#[test]
fn a_sorted_item_is_known_beside_one_without_a_member_that_the_type_adds() {
    check(
        r#"{"plain":[{"x":"a","w":0},{"x":"b","w":0}]}"#,
        r#"{"plain":[{"x":"a","w":5},{"x":"b","w":0}]}"#,
        r#"{"plain":[{"x":"b","w":0,"u":1},{"x":"a","u":2}]}"#,
        r#"[{"op":"add","path":"/plain/1/w","value":5}]"#,
        r#"{"plain":[{"x":"b","w":0,"u":1},{"x":"a","u":2,"w":5}]}"#,
    );
}

/// The removed item was still there.
#[test]
fn an_item_that_a_set_has_dropped_as_a_duplicate_is_removed_with_the_other() {
    check(
        r#"{"plain":["a","b"]}"#,
        r#"{"plain":["b"]}"#,
        r#"{"plain":["a","b","a"]}"#,
        r#"[{"op":"remove","path":"/plain/2"},{"op":"remove","path":"/plain/0"}]"#,
        r#"{"plain":["b"]}"#,
    );
}

#[test]
fn an_item_without_a_key_that_changes_while_others_are_exchanged_keeps_its_unknown_members() {
    check(
        r#"{"plain":[{"x":1,"y":1},{"x":2,"y":2},{"x":3,"y":3}]}"#,
        r#"{"plain":[{"x":3,"y":3},{"x":2,"y":4},{"x":1,"y":1}]}"#,
        r#"{"plain":[{"x":1,"y":1,"u":1},{"x":2,"y":2,"u":2},{"x":3,"y":3,"u":3}]}"#,
        concat!(
            r#"[{"op":"move","from":"/plain/2","path":"/plain/0"},{"op":"move","from":"/plain/2","path":"/plain/1"},"#,
            r#"{"op":"replace","path":"/plain/1/y","value":4}]"#
        ),
        r#"{"plain":[{"x":3,"y":3,"u":3},{"x":2,"y":4,"u":2},{"x":1,"y":1,"u":1}]}"#,
    );
}

#[test]
fn an_item_with_another_key_inherits_nothing_where_keys_are_doubled_either() {
    check(
        r#"{"named":[{"name":"a","x":1},{"name":"a","x":2},{"name":"b","x":3,"y":4}]}"#,
        r#"{"named":[{"name":"a","x":0},{"name":"a","x":2},{"name":"c","x":3,"y":4}]}"#,
        r#"{"named":[{"name":"a","x":1},{"name":"a","x":2},{"name":"b","x":3,"y":4,"unknown":1}]}"#,
        concat!(
            r#"[{"op":"replace","path":"/named/0/x","value":0},"#,
            r#"{"op":"replace","path":"/named/2","value":{"name":"c","x":3,"y":4}}]"#
        ),
        r#"{"named":[{"name":"a","x":0},{"name":"a","x":2},{"name":"c","x":3,"y":4}]}"#,
    );
}

#[test]
fn a_null_key_is_the_default_key() {
    check(
        r#"{"ports":[{"port":53},{"port":53,"protocol":"UDP"}]}"#,
        r#"{"ports":[{"port":53,"x":1},{"port":53,"protocol":"UDP"}]}"#,
        r#"{"ports":[{"left":"out"},{"port":53,"protocol":null,"u":1,"v":2,"w":3},{"port":53,"protocol":"UDP"}]}"#,
        r#"[{"op":"add","path":"/ports/1/x","value":1}]"#,
        r#"{"ports":[{"left":"out"},{"port":53,"protocol":null,"u":1,"v":2,"w":3,"x":1},{"port":53,"protocol":"UDP"}]}"#,
    );
}

#[test]
fn items_that_types_do_not_show_outlive_all_the_others() {
    check(
        r#"{"named":[{"name":"a"},{"name":"b"}]}"#,
        r#"{"named":[]}"#,
        r#"{"named":[{"name":"a"},{"other":1},{"name":"b"}]}"#,
        r#"[{"op":"remove","path":"/named/2"},{"op":"remove","path":"/named/0"}]"#,
        r#"{"named":[{"other":1}]}"#,
    );
}

#[test]
fn an_item_is_known_by_its_name_where_nothing_is_known_about_the_list() {
    check(
        r#"{"plain":[{"name":"a","x":1,"y":1}]}"#,
        r#"{"plain":[{"name":"a","x":2,"y":2}]}"#,
        r#"{"plain":[{"name":"a","x":1,"y":1,"unknown":1.0}]}"#,
        r#"[{"op":"replace","path":"/plain/0/x","value":2},{"op":"replace","path":"/plain/0/y","value":2}]"#,
        r#"{"plain":[{"name":"a","x":2,"y":2,"unknown":1.0}]}"#,
    );
    // Another name and little in common: another item. Much in common: renamed.
    check(
        r#"{"plain":[{"name":"a","x":1,"y":1},{"name":"b","x":1,"y":1}]}"#,
        r#"{"plain":[{"name":"c","x":2,"y":2},{"name":"d","x":1,"y":1}]}"#,
        r#"{"plain":[{"name":"a","x":1,"y":1,"unknown":1},{"name":"b","x":1,"y":1,"unknown":2}]}"#,
        r#"[{"op":"replace","path":"/plain/0","value":{"name":"c","x":2,"y":2}},{"op":"replace","path":"/plain/1/name","value":"d"}]"#,
        r#"{"plain":[{"name":"c","x":2,"y":2},{"name":"d","x":1,"y":1,"unknown":2}]}"#,
    );
}

/// Regression: an item was added beside the received one, which lost its unknown members, or a removed item stayed.
#[test]
fn items_stay_known_if_the_type_leaves_another_one_out() {
    let received = r#"{"plain":[{"a":1,"b":1,"u":1},{"a":2,"b":1,"u":2},{"bad":true}]}"#;
    let before = r#"{"plain":[{"a":1,"b":1},{"a":2,"b":1}]}"#;
    check(
        before,
        r#"{"plain":[{"a":1,"b":1},{"a":2,"b":9}]}"#,
        received,
        r#"[{"op":"replace","path":"/plain/1/b","value":9}]"#,
        r#"{"plain":[{"a":1,"b":1,"u":1},{"a":2,"b":9,"u":2},{"bad":true}]}"#,
    );
    check(
        before,
        r#"{"plain":[{"a":1,"b":1}]}"#,
        received,
        r#"[{"op":"remove","path":"/plain/1"}]"#,
        r#"{"plain":[{"a":1,"b":1,"u":1},{"bad":true}]}"#,
    );
    check(
        before,
        r#"{"plain":[{"a":1,"b":1},{"a":2,"b":9}]}"#,
        r#"{"plain":[{"bad":true},{"a":1,"b":1,"u":1},{"a":2,"b":1,"u":2}]}"#,
        r#"[{"op":"replace","path":"/plain/2/b","value":9}]"#,
        r#"{"plain":[{"bad":true},{"a":1,"b":1,"u":1},{"a":2,"b":9,"u":2}]}"#,
    );
    // An item without a member of the decoded one is a poorer match than a later item that has all of them.
    check(
        r#"{"plain":[{"a":1,"b":2}]}"#,
        r#"{"plain":[{"a":1,"b":9}]}"#,
        r#"{"plain":[{"a":1},{"a":1,"b":2,"u":1}]}"#,
        r#"[{"op":"replace","path":"/plain/1/b","value":9}]"#,
        r#"{"plain":[{"a":1},{"a":1,"b":9,"u":1}]}"#,
    );
}
