//! Pointers, written, taken apart and put together.

use vestibule_patch::{Operation, Patch, Pointer, PointerError};

fn pointer(text: &str) -> Pointer {
    text.parse().unwrap()
}

#[test]
fn a_pointer_is_split_into_its_parent_and_its_last_token() {
    let cases = [
        ("/a", "", "a"),
        ("/a/0", "/a", "0"),
        ("/a~1b/c~0d", "/a~1b", "c~d"),
        ("/", "", ""),
        ("/x/~01", "/x", "~1"),
    ];
    for (text, parent, last) in cases {
        let pointer = pointer(text);
        assert_eq!(pointer.parent().unwrap().as_str(), parent, "{text}");
        let (above, token) = pointer.split_last().unwrap();
        assert_eq!((above.as_str(), &*token), (parent, last), "{text}");
        assert!(!pointer.is_root());
    }
    assert_eq!(Pointer::root().parent(), None);
    assert_eq!(Pointer::root().split_last(), None);
    assert!(Pointer::root().is_root());
}

#[test]
fn tokens_are_unescaped_and_items_are_numbers() {
    let pointer = Pointer::root().child("a/b").child("~").item(0).item(9).item(10).item(256);
    assert_eq!(pointer.to_string(), "/a~1b/~0/0/9/10/256");
    assert_eq!(pointer.tokens().collect::<Vec<_>>(), ["a/b", "~", "0", "9", "10", "256"]);
    let tokens = |text: &str| pointer_tokens(text);
    assert_eq!(tokens("/a~0/b"), ["a~", "b"]);
    assert_eq!(tokens("/~1~0~01/"), ["/~~1", ""]);
    assert_eq!(tokens("//"), ["", ""]);
    assert!(tokens("").is_empty());
}

fn pointer_tokens(text: &str) -> Vec<String> {
    pointer(text).tokens().map(std::borrow::Cow::into_owned).collect()
}

#[test]
fn a_text_that_is_no_pointer_is_refused_with_the_reason() {
    assert_eq!("a".parse::<Pointer>(), Err(PointerError::NoSlash));
    assert_eq!("a/b".parse::<Pointer>(), Err(PointerError::NoSlash));
    for text in ["/~", "/~2", "/a~/b", "/~0~"] {
        assert_eq!(text.parse::<Pointer>(), Err(PointerError::Escape), "{text}");
    }
    assert_eq!(PointerError::NoSlash.to_string(), "a JSON pointer is empty or starts with `/`");
    assert_eq!(serde_json::to_string(&pointer("/a~1b")).unwrap(), r#""/a~1b""#);
    assert!(serde_json::from_str::<Pointer>(r#""a""#).is_err());
}

#[test]
fn a_patch_of_hand_made_operations_is_their_list_and_proves_nothing() {
    let text = r#"[{"op":"remove","path":"/a"},{"op":"add","path":"/b","value":1.0}]"#;
    let operations: Vec<Operation> = serde_json::from_str(text).unwrap();
    let patch = Patch::from(operations);
    assert_eq!(patch.len(), 2);
    assert_eq!(patch.to_json(), text);
    assert_eq!(serde_json::to_string(&patch).unwrap(), text);
    assert!(!patch.was_carried_out_on(&vestibule_patch::Document::parse(r#"{"a":1}"#).unwrap()));
}
