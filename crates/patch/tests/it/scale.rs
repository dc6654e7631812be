//! Long lists take time in proportion to their length, with every kind of change.

use std::time::Duration;

use cpu_time::ThreadTime;
use vestibule_patch::{Document, Operation, diff, diff_onto};

use crate::sample::schema;

const LENGTH: usize = 10_000;

fn check(list: &str, before: &[String], after: &[String], most: usize) {
    let text = |items: &[String]| format!(r#"{{"{list}":[{}]}}"#, items.join(","));
    let (before, after) = (text(before), text(after));
    let work = ThreadTime::now();
    let operations = diff(&before, &after, schema()).unwrap();
    let mut document = Document::parse(&before).unwrap();
    document.apply_all(&operations).unwrap();
    // A minute is what a quadratic alignment takes here; the bound leaves room for a slow machine.
    assert!(work.elapsed() < Duration::from_secs(20), "{list}: {:?}", work.elapsed());
    assert!(document.view().same_as(Document::parse(&after).unwrap().view()));
    assert!(operations.len() <= most, "{list}: {} operations", operations.len());
}

fn objects(range: std::ops::Range<usize>, x: usize) -> Vec<String> {
    range.map(|n| format!(r#"{{"name":"n{n}","x":{x},"y":{n},"z":[1]}}"#)).collect()
}

#[test]
fn an_insertion_at_either_end_or_between() {
    for list in ["named", "plain"] {
        for place in [0, LENGTH / 2, LENGTH] {
            let (before, mut after) = (objects(0..LENGTH, 0), objects(0..LENGTH, 0));
            after.insert(place, r#"{"name":"new"}"#.to_owned());
            check(list, &before, &after, 1);
            check(list, &after, &before, 1);
        }
    }
}

#[test]
fn changes_far_apart() {
    for list in ["named", "plain"] {
        let (before, mut after) = (objects(0..LENGTH, 0), objects(0..LENGTH, 0));
        after[0] = r#"{"name":"n0","x":1,"y":0,"z":[1]}"#.to_owned();
        after[LENGTH - 1] = after[LENGTH - 1].replace("\"x\":0", "\"x\":1");
        after.remove(LENGTH / 2);
        check(list, &before, &after, 3);
    }
}

#[test]
fn a_change_in_every_item() {
    for list in ["named", "plain"] {
        check(list, &objects(0..LENGTH, 0), &objects(0..LENGTH, 1), LENGTH);
    }
}

#[test]
fn nothing_in_common_and_everything_alike() {
    check("plain", &objects(0..LENGTH, 0), &objects(LENGTH..2 * LENGTH, 1), LENGTH);
    let (ones, mut twos) = (vec!["1".to_owned(); LENGTH], vec!["1".to_owned(); LENGTH]);
    (twos[0], twos[LENGTH - 1]) = ("2".to_owned(), "2".to_owned());
    check("plain", &ones, &twos, 3);
}

#[test]
fn the_other_way_round() {
    let (before, mut after) = (objects(0..LENGTH, 0), objects(0..LENGTH, 0));
    after.rotate_left(1);
    check("named", &before, &after, 1);
    check("plain", &before, &after, 1);
    let (before, mut after) = (objects(0..1000, 0), objects(0..1000, 0));
    after.reverse();
    check("named", &before, &after, 999);
}

#[test]
fn unknown_fields_in_every_item() {
    let text = |items: Vec<String>| format!(r#"{{"named":[{}]}}"#, items.join(","));
    let (before, onto) = (objects(0..LENGTH, 0), objects(0..LENGTH, 0));
    let onto: Vec<String> = onto.iter().map(|item| item.replacen('{', r#"{"unknown":1.0,"#, 1)).collect();
    let mut after = before.clone();
    after.insert(0, r#"{"name":"new"}"#.to_owned());
    let operations = diff_onto(&text(before), &text(after), &text(onto), schema()).unwrap();
    assert_eq!(operations.iter().map(Operation::name).collect::<Vec<_>>(), ["add"]);
}

#[test]
fn deep_and_large_items_that_differ_at_the_bottom() {
    for (width, length) in [(1, 1_000_000), (30, 30_000)] {
        let (open, close, filling) = ("[".repeat(100), "]".repeat(100), "x".repeat(length));
        let items = |end: char| (0..width).map(|n| format!(r#"{open}"{n}{filling}{end}"{close}"#)).collect();
        let (before, after): (Vec<_>, Vec<_>) = (items('a'), items('b'));
        check("plain", &before, &after, width);
    }
}

#[test]
fn every_member_of_a_large_object() {
    let text = |range: std::ops::Range<usize>, x: usize| {
        let members: Vec<_> = range.map(|n| format!(r#""n{n}":{x}"#)).collect();
        format!("{{{}}}", members.join(","))
    };
    let (many, work) = (5 * LENGTH, ThreadTime::now());
    for (before, after, count) in [
        (text(0..many, 0), text(0..many, 1), many),
        (text(0..many, 0), text(many..2 * many, 0), 2 * many),
        (text(0..0, 0), text(0..many, 0), many),
    ] {
        let operations = diff(&before, &after, schema()).unwrap();
        assert_eq!(operations.len(), count);
        let mut document = Document::parse(&before).unwrap();
        document.apply_all(&operations).unwrap();
        assert!(document.view().same_as(Document::parse(&after).unwrap().view()));
    }
    // Minutes are what a search from member to member takes here.
    assert!(work.elapsed() < Duration::from_secs(30), "{:?}", work.elapsed());
}

#[test]
fn a_duplicate_member_counts_once_in_every_lookup() {
    let operations: Vec<Operation> = (0..20)
        .map(|n| format!(r#"{{"op":"add","path":"/n{n}","value":{n}}}"#))
        .chain([r#"{"op":"remove","path":"/a/b"}"#.to_owned(), r#"{"op":"remove","path":"/d"}"#.to_owned()])
        .map(|operation| serde_json::from_str(&operation).unwrap())
        .collect();
    let mut document = Document::parse(r#"{"a":1,"d":1,"a":{"b":2,"c":3},"\u0064":2,"n3":4}"#).unwrap();
    document.apply_all(&operations).unwrap();
    let made = document.to_json();
    assert!(!made.contains(r#""d""#) && !made.contains("u0064"), "{made}");
    assert_eq!(document.view().get("a").unwrap().to_json(), r#"{"c":3}"#);
    assert_eq!(document.view().entries().len(), 21);
}

#[test]
fn a_long_list_that_the_type_sorts_and_an_item_of_many_members() {
    let text = |items: &[String]| format!(r#"{{"plain":[{}]}}"#, items.join(","));
    let work = ThreadTime::now();
    for key in ["host", "name"] {
        let item = |n: usize, x: usize| format!(r#"{{"{key}":"n{n:05}","x":{x},"y":[{n}]}}"#);
        let before: Vec<String> = (0..LENGTH).map(|n| item(n, 0)).collect();
        let mut after = before.clone();
        after[7] = item(7, 1);
        let onto: Vec<String> =
            before.iter().rev().map(|item| item.replacen('{', r#"{"u":1.0,"#, 1)).collect();
        let operations = diff_onto(&text(&before), &text(&after), &text(&onto), schema()).unwrap();
        assert!(operations.len() <= LENGTH, "{key}: {} operations", operations.len());
        if key == "name" {
            assert_eq!(operations[0].path().as_str(), format!("/plain/{}/x", LENGTH - 8));
        }
    }
    let members = |from: usize, end: &str| {
        let members: Vec<_> = (from..5 * LENGTH).map(|n| format!(r#""n{n}":{n}{end}"#)).collect();
        format!("{{{}}}", members.join(","))
    };
    let (before, after) = ([members(1, ""), "1".to_owned()], [members(1, ""), "2".to_owned()]);
    let onto = [members(0, ".0"), "1".to_owned()];
    let operations = diff_onto(&text(&before), &text(&after), &text(&onto), schema()).unwrap();
    assert_eq!(
        operations.iter().map(|operation| operation.path().as_str()).collect::<Vec<_>>(),
        ["/plain/1"]
    );
    // Minutes are what a search from member to member, or from item to item, takes here.
    assert!(work.elapsed() < Duration::from_secs(20), "{:?}", work.elapsed());
}

/// Regression: each item was compared with nearly all others, because each of its many values is in some other item.
#[test]
fn normalized_items_with_many_common_values() {
    const MEMBERS: usize = 90;
    const ITEMS: usize = 2_000;
    let item = |item: usize, first: &str| {
        let members =
            (0..MEMBERS).map(|member| format!(r#""m{member}":{}"#, item * (member + 1) % 2003 / 16));
        format!("{{{first},{}}}", members.collect::<Vec<_>>().join(","))
    };
    let list = |first: &str| {
        let items: Vec<_> = (0..ITEMS).map(|index| item(index, first)).collect();
        format!(r#"{{"plain":[{}]}}"#, items.join(","))
    };
    let (onto, before) = (list(r#""zone":"+00:00","unknown":1"#), list(r#""zone":"Z""#));
    let after = before.replacen(r#""m0":0"#, r#""m0":1"#, 1);
    let work = ThreadTime::now();
    let operations = diff_onto(&before, &after, &onto, schema()).unwrap();
    assert!(work.elapsed() < Duration::from_secs(20), "{:?}", work.elapsed());
    assert_eq!(operations.len(), 1);
}
