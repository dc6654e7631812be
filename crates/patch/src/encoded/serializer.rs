//! Writes a value as JSON, in the same bytes as serde_json, and records its containers.
//!
//! Strings are most of a Kubernetes object. serde_json looks at them byte by byte and writes each quote by a call of its own, so names and
//! strings are written here. Numbers, and strings with an escape, are left to serde_json.

use serde::Serialize;
use serde::ser::{self, Error as _, SerializeStruct as _};
use serde_json::{Error, Result};

use crate::index::Indexer;
use crate::string_scan;

/// The names of the structs that serde_json's own types give themselves, such as `RawValue`, begin with this.
const PRIVATE: &str = "$serde_json::private::";

pub(super) struct Serializer {
    pub(super) text: Vec<u8>,
    pub(super) indexer: Indexer,
    /// Whether no container was copied as the text of a `RawValue`.
    pub(super) has_all_containers: bool,
}

/// An array or an object while its parts are written.
pub(super) struct Container<'s> {
    serializer: &'s mut Serializer,
    /// The brackets that end it: two for a variant of an enum.
    end: &'static [u8],
    is_empty: bool,
    /// The name of a struct that serde_json has to write.
    private: Option<&'static str>,
}

impl Serializer {
    /// Leaves a value to serde_json.
    fn delegate(&mut self, value: &(impl Serialize + ?Sized)) -> Result<()> {
        let start = self.text.len();
        serde_json::to_writer(&mut self.text, value)?;
        self.has_all_containers &= !matches!(self.text.get(start), Some(b'[' | b'{'));
        Ok(())
    }

    #[inline]
    fn string(&mut self, value: &str) -> Result<()> {
        if string_scan::has_stop(value.as_bytes()) {
            return self.delegate(value);
        }
        self.text.reserve(value.len() + 2);
        self.text.push(b'"');
        self.text.extend_from_slice(value.as_bytes());
        self.text.push(b'"');
        Ok(())
    }

    #[inline]
    fn open(&mut self, bracket: u8) {
        self.indexer.open(self.text.len());
        self.text.push(bracket);
    }

    #[inline]
    fn container(&mut self, start: u8, end: &'static [u8]) -> Container<'_> {
        self.open(start);
        Container { serializer: self, end, is_empty: true, private: None }
    }

    /// Writes the name of a member and the colon.
    #[inline]
    fn name(&mut self, name: &str) -> Result<()> {
        self.string(name)?;
        self.text.push(b':');
        Ok(())
    }

    /// Begins the object of a variant, up to its value.
    fn variant(&mut self, name: &str) -> Result<()> {
        self.open(b'{');
        self.name(name)
    }

    #[inline]
    fn close(&mut self, brackets: &[u8]) {
        for bracket in brackets {
            self.text.push(*bracket);
            self.indexer.close(self.text.len());
        }
    }
}

impl Container<'_> {
    #[inline]
    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_empty) {
            self.serializer.text.push(b',');
        }
    }

    #[inline]
    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Result<()> {
        self.separate();
        value.serialize(&mut *self.serializer)
    }

    #[inline]
    fn field(&mut self, field: &'static str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        if let Some(name) = self.private {
            return self.serializer.delegate(&Private { name, field, value });
        }
        self.separate();
        self.serializer.name(field)?;
        value.serialize(&mut *self.serializer)
    }

    /// Writes the key of a map, which is a string in JSON: a number or a boolean gets quotes.
    fn key(&mut self, key: &(impl Serialize + ?Sized)) -> Result<()> {
        self.separate();
        let start = self.serializer.text.len();
        key.serialize(&mut *self.serializer)?;
        let text = &mut self.serializer.text;
        match text.get(start) {
            Some(b'"') => {}
            Some(b'{' | b'[' | b'n') | None => return Err(Error::custom("the key of a map is not a string")),
            Some(_) => {
                text.insert(start, b'"');
                text.push(b'"');
            }
        }
        text.push(b':');
        Ok(())
    }

    #[inline]
    fn finish(self) -> Result<()> {
        self.serializer.close(self.end);
        Ok(())
    }
}

/// A struct with one field, as serde_json's own types are.
struct Private<'v, T: ?Sized> {
    name: &'static str,
    field: &'static str,
    value: &'v T,
}

impl<T: Serialize + ?Sized> Serialize for Private<'_, T> {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct(self.name, 1)?;
        fields.serialize_field(self.field, self.value)?;
        fields.end()
    }
}

/// The methods for values that serde_json writes.
macro_rules! delegated {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<()> {
            self.delegate(&value)
        })*
    };
}

impl<'s> ser::Serializer for &'s mut Serializer {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Container<'s>;
    type SerializeTuple = Container<'s>;
    type SerializeTupleStruct = Container<'s>;
    type SerializeTupleVariant = Container<'s>;
    type SerializeMap = Container<'s>;
    type SerializeStruct = Container<'s>;
    type SerializeStructVariant = Container<'s>;

    delegated! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_f32: f32, serialize_f64: f64, serialize_char: char
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<()> {
        self.string(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<()> {
        self.delegate(&())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.delegate(&())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.delegate(&())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.string(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        self.variant(variant)?;
        value.serialize(&mut *self)?;
        self.close(b"}");
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Container<'s>> {
        Ok(self.container(b'[', b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Container<'s>> {
        Ok(self.container(b'[', b"]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Container<'s>> {
        Ok(self.container(b'[', b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Container<'s>> {
        self.variant(variant)?;
        Ok(self.container(b'[', b"]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Container<'s>> {
        Ok(self.container(b'{', b"}"))
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Container<'s>> {
        if name.starts_with(PRIVATE) {
            return Ok(Container { serializer: self, end: b"", is_empty: true, private: Some(name) });
        }
        Ok(self.container(b'{', b"}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Container<'s>> {
        self.variant(variant)?;
        Ok(self.container(b'{', b"}}"))
    }
}

impl ser::SerializeMap for Container<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        value.serialize(&mut *self.serializer)
    }

    fn end(self) -> Result<()> {
        self.finish()
    }
}

/// The traits of lists and of structs, which differ in the names of their methods.
macro_rules! parts {
    ($($trait:ident: $method:ident($($name:ident: $type:ty)?) by $write:ident),*) => {
        $(impl ser::$trait for Container<'_> {
            type Ok = ();
            type Error = Error;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, $($name: $type,)? value: &T) -> Result<()> {
                self.$write($($name,)? value)
            }

            #[inline]
            fn end(self) -> Result<()> {
                self.finish()
            }
        })*
    };
}

parts! {
    SerializeSeq: serialize_element() by item,
    SerializeTuple: serialize_element() by item,
    SerializeTupleStruct: serialize_field() by item,
    SerializeTupleVariant: serialize_field() by item,
    SerializeStruct: serialize_field(name: &'static str) by field,
    SerializeStructVariant: serialize_field(name: &'static str) by field
}
