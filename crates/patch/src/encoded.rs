//! A value as JSON text, whose document need not read the text: the end of each container is recorded while it is written.

use std::cell::Cell;
use std::io::{self, Write};

use serde::Serialize;
use serde::ser::Error;
use serde_json::Serializer;
use serde_json::ser::Formatter;

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
        let length = Cell::new(0);
        let mut recorder =
            Recorder { indexer: Indexer::new(capacity), length: &length, has_all_containers: true };
        let mut written = Counted { bytes: Vec::with_capacity(capacity), length: &length };
        value.serialize(&mut Serializer::with_formatter(&mut written, &mut recorder))?;
        let text = String::from_utf8(written.bytes).map_err(serde_json::Error::custom)?;
        let Recorder { indexer, has_all_containers, .. } = recorder;
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

/// The bytes written so far. Their number is shared with the [`Recorder`].
struct Counted<'c> {
    bytes: Vec<u8>,
    length: &'c Cell<usize>,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        self.length.set(self.bytes.len());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Records where containers begin and end.
struct Recorder<'c> {
    indexer: Indexer,
    length: &'c Cell<usize>,
    has_all_containers: bool,
}

impl Recorder<'_> {
    #[inline]
    fn open<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.indexer.open(self.length.get());
        writer.write_all(bracket)
    }

    #[inline]
    fn close<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        writer.write_all(bracket)?;
        self.indexer.close(self.length.get());
        Ok(())
    }
}

impl Formatter for &mut Recorder<'_> {
    #[inline]
    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    #[inline]
    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    #[inline]
    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    #[inline]
    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    /// The text of a [`RawValue`](serde_json::value::RawValue).
    fn write_raw_fragment<W: Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        self.has_all_containers &= !fragment.starts_with(['[', '{']);
        writer.write_all(fragment.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

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

    #[test]
    fn a_value_that_is_not_json_is_refused() {
        let keys = std::collections::BTreeMap::from([(json!([1]).to_string().into_bytes(), 1)]);
        assert!(Encoded::new(&keys, 0).is_err());
    }
}
