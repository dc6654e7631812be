//! Makes a [`RawValue`] of JSON text that is known to be valid, without reading the text again.

use serde::de::value::{BorrowedStrDeserializer, Error, MapDeserializer};
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use serde_json::value::RawValue;

/// `text`, which the caller knows to be one JSON value without white space around it.
pub(crate) fn of_valid_json(text: &str) -> Option<&RawValue> {
    <&RawValue>::deserialize(ValidJson(text)).ok()
}

/// A deserializer of a [`RawValue`] only. serde_json's own would read the text.
struct ValidJson<'a>(&'a str);

impl<'de> Deserializer<'de> for ValidJson<'de> {
    type Error = Error;

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        // A `RawValue` asks for a map with this one name, and takes the text of its value.
        let text = BorrowedStrDeserializer::<Error>::new(self.0);
        visitor.visit_map(MapDeserializer::new(std::iter::once((name, text))))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("only the text is known"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}
