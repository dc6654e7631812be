//! A value as JSON text, whose document need not read the text: the end of each container is recorded while it is written.

mod serializer;

use serde::Serialize;
use serde::ser::Error;

use self::serializer::Serializer;
use crate::index::Indexer;
use crate::{Document, DocumentError, Outline};

/// A value as JSON text. Its [`document`](Self::document) costs less than to parse the text.
///
/// ```
/// use vestibule_patch::Encoded;
///
/// let encoded = Encoded::new(&[("image", "alpine")], 0).unwrap();
/// assert_eq!(encoded.text(), r#"[["image","alpine"]]"#);
/// assert_eq!(encoded.document()?.view().items().len(), 1);
/// # Ok::<(), vestibule_patch::DocumentError>(())
/// ```
pub struct Encoded {
    text: String,
    /// [`None`] if the value has a container that was written as text.
    outline: Option<Outline>,
}

impl Encoded {
    /// Encodes `value`, with memory for `capacity` bytes from the start.
    ///
    /// # Errors
    /// The value cannot be encoded as JSON.
    pub fn new<T: Serialize>(value: &T, capacity: usize) -> serde_json::Result<Self> {
        let mut serializer = Serializer {
            text: Vec::with_capacity(capacity),
            indexer: Indexer::new(capacity),
            has_all_containers: true,
        };
        value.serialize(&mut serializer)?;
        let Serializer { text, indexer, has_all_containers } = serializer;
        let text = String::from_utf8(text).map_err(serde_json::Error::custom)?;
        let outline = has_all_containers.then(|| Outline::new(&text, indexer.finish(text.len())));
        Ok(Self { text, outline })
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The document of the text.
    ///
    /// # Errors
    /// The value has a part that was encoded before and nests too deeply.
    pub fn document(&self) -> Result<Document<'_>, DocumentError> {
        let resumed = self.outline.as_ref().and_then(|outline| Document::resume(&self.text, outline));
        resumed.map_or_else(|| Document::parse(&self.text), Ok)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use proptest::prelude::*;
    use serde::Serialize;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::Encoded;
    use crate::Document;

    fn value() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,6}|[\\[{\"\\\\]{0,4}".prop_map(Value::from),
        ];
        scalar.prop_recursive(6, 60, 6, |inner| {
            let key = "[a-z\"\\[]{0,3}";
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn spans(document: &Document<'_>) -> Vec<(usize, usize)> {
        document.index().spans().iter().map(|span| (span.length(), span.containers())).collect()
    }

    proptest! {
        /// The law of the fast path: the document is the one that reading the text makes.
        #[test]
        fn the_document_is_that_of_the_text(value in value(), capacity in 0_usize..100) {
            let encoded = Encoded::new(&value, capacity).unwrap();
            prop_assert_eq!(encoded.text(), value.to_string());
            prop_assert!(encoded.outline.is_some());
            let read = Document::parse(encoded.text()).unwrap();
            prop_assert_eq!(spans(&encoded.document().unwrap()), spans(&read));
        }
    }

    #[test]
    fn the_containers_of_a_part_that_is_text_are_found() {
        for (part, is_read) in
            [("[{}, [1]]", true), (r#"{"a": [ ]}"#, true), ("1.50", false), (r#""[""#, false)]
        {
            let raw = RawValue::from_string(part.to_owned()).unwrap();
            let encoded = Encoded::new(&[("a", &*raw)], 0).unwrap();
            assert_eq!(encoded.text(), format!(r#"[["a",{part}]]"#));
            assert_eq!(encoded.outline.is_none(), is_read, "{part}");
            let read = Document::parse(encoded.text()).unwrap();
            assert_eq!(spans(&encoded.document().unwrap()), spans(&read));
        }
    }

    /// Every kind of value that serde has.
    #[derive(Serialize)]
    enum Kind<'a> {
        Unit,
        Newtype(Option<&'a str>),
        Tuple(u8, (), char, UnitStruct),
        Struct { text: &'a str, nothing: Option<i8>, list: [Box<Kind<'a>>; 1] },
        Maps(BTreeMap<u64, i128>, BTreeMap<bool, f32>, HashMap<char, NewtypeStruct<'a>>, BTreeMap<Key, f64>),
    }

    #[derive(Serialize)]
    struct UnitStruct;

    #[derive(Serialize)]
    struct NewtypeStruct<'a>(&'a str);

    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Key {
        #[serde(rename = "a \"key\"")]
        Escaped,
    }

    proptest! {
        #[test]
        fn the_text_is_that_of_serde_json(text in ".{0,40}|[a-z\"]{0,40}", number in any::<i128>(), float in any::<f64>()) {
            let list = [Box::new(Kind::Newtype(Some(&text)))];
            let values = vec![
                Kind::Unit,
                Kind::Newtype(None),
                Kind::Tuple(number as u8, (), text.chars().next().unwrap_or('"'), UnitStruct),
                Kind::Struct { text: &text, nothing: None, list },
                Kind::Maps(
                    BTreeMap::from([(number as u64, number), (1, 0)]),
                    BTreeMap::from([(true, float as f32)]),
                    HashMap::from([('"', NewtypeStruct(&text))]),
                    BTreeMap::from([(Key::Escaped, float)]),
                ),
            ];
            let encoded = Encoded::new(&values, 0).unwrap();
            prop_assert_eq!(encoded.text(), serde_json::to_string(&values).unwrap());
            prop_assert_eq!(spans(&encoded.document().unwrap()), spans(&Document::parse(encoded.text()).unwrap()));
        }
    }

    #[test]
    fn a_key_that_is_no_string_is_refused() {
        let map = |key| BTreeMap::from([(key, 1)]);
        assert!(Encoded::new(&map(vec![b'1']), 0).is_err());
        assert!(Encoded::new(&map(vec![]), 0).is_err());
        assert!(Encoded::new(&BTreeMap::from([((), 1)]), 0).is_err());
        assert!(Encoded::new(&BTreeMap::from([(BTreeMap::from([(1, 1)]), 1)]), 0).is_err());
    }
}
