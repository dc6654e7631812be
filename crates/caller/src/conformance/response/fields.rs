//! The members of a JSON object, decoded as Go decodes a struct: an absent member and `null` are the zero value.
//!
//! As in Go, errors name the member and the type of its value, and the value only if it is a number that does not fit.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

use super::super::body::type_name;

/// Go's `base64.StdEncoding`: padded, with any trailing bits.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

#[derive(Default)]
pub(super) struct Fields<'a> {
    members: Option<&'a Map<String, Value>>,
    /// The type in Go.
    type_name: &'static str,
    path: String,
}

impl<'a> Fields<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { members: value.as_object(), type_name: "AdmissionReview", path: String::new() }
    }

    /// A member that is a struct of this Go type, written with its package.
    pub(super) fn object(&self, name: &str, type_name: &'static str) -> Result<Option<Self>, String> {
        self.read(name, type_name, Value::as_object)
            .map(|found| found.map(|members| self.inner(name, type_name, members)))
    }

    pub(super) fn objects(
        &self,
        name: &str,
        list: &str,
        type_name: &'static str,
    ) -> Result<Vec<Self>, String> {
        let item = |item: &'a Value| match item {
            Value::Object(members) => Ok(self.inner(name, type_name, members)),
            Value::Null => Ok(Self::default()),
            other => Err(self.mismatch(name, other, type_name)),
        };
        self.array(name, list)?.iter().map(item).collect()
    }

    fn inner(&self, name: &str, type_name: &'static str, members: &'a Map<String, Value>) -> Self {
        let type_name = type_name.split_once('.').map_or(type_name, |(_, bare)| bare);
        Self { members: Some(members), type_name, path: self.path_of(name) }
    }

    pub(super) fn string(&self, name: &str) -> Result<Option<String>, String> {
        self.string_of(name, "string")
    }

    /// A member that has a string type of its own in Go.
    pub(super) fn string_of(&self, name: &str, type_name: &str) -> Result<Option<String>, String> {
        self.read(name, type_name, Value::as_str).map(|found| found.map(str::to_owned))
    }

    pub(super) fn strings(&self, name: &str) -> Result<Vec<String>, String> {
        self.array(name, "[]string")?.iter().map(|item| self.item_string(name, item)).collect()
    }

    pub(super) fn string_map(&self, name: &str) -> Result<BTreeMap<String, String>, String> {
        let Some(members) = self.read(name, "map[string]string", Value::as_object)? else {
            return Ok(BTreeMap::new());
        };
        members.iter().map(|(key, value)| Ok((key.clone(), self.item_string(name, value)?))).collect()
    }

    pub(super) fn boolean(&self, name: &str) -> Result<bool, String> {
        self.read(name, "bool", Value::as_bool).map(Option::unwrap_or_default)
    }

    pub(super) fn integer(&self, name: &str) -> Result<i32, String> {
        let int32 = |value: &Value| value.as_i64().and_then(|number| i32::try_from(number).ok());
        self.read(name, "int32", int32).map(Option::unwrap_or_default)
    }

    /// Base64, or an array of numbers, which Go accepts too.
    pub(super) fn bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        match self.member(name) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => {
                // Go's decoder skips line ends.
                let text: String =
                    text.chars().filter(|character| !matches!(character, '\r' | '\n')).collect();
                BASE64.decode(text.as_bytes()).map_err(|error| illegal_base64(&error, text.len()))
            }
            Some(Value::Array(items)) => {
                let byte = |item: &Value| item.as_u64().and_then(|number| u8::try_from(number).ok());
                let bytes = items.iter().map(|item| byte(item).ok_or(item)).collect::<Result<_, _>>();
                bytes.map_err(|item| self.mismatch(name, item, "uint8"))
            }
            Some(other) => Err(self.mismatch(name, other, "[]uint8")),
        }
    }

    fn array(&self, name: &str, type_name: &str) -> Result<&'a [Value], String> {
        let items = self.read(name, type_name, Value::as_array)?;
        Ok(items.map_or(&[][..], Vec::as_slice))
    }

    fn item_string(&self, name: &str, item: &Value) -> Result<String, String> {
        match item {
            Value::Null => Ok(String::new()),
            Value::String(text) => Ok(text.clone()),
            other => Err(self.mismatch(name, other, "string")),
        }
    }

    fn read<T>(
        &self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let Some(value) = self.member(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.mismatch(name, value, wanted))
    }

    fn member(&self, name: &str) -> Option<&'a Value> {
        self.members?.get(name).filter(|value| !value.is_null())
    }

    fn mismatch(&self, name: &str, value: &Value, wanted: &str) -> String {
        let (within, path) = (self.type_name, self.path_of(name));
        let got = match value {
            // Go names a number that does not fit.
            Value::Number(number) if ["int32", "uint8"].contains(&wanted) => format!("number {number}"),
            other => type_name(other).to_owned(),
        };
        format!("json: cannot unmarshal {got} into Go struct field {within}.{path} of type {wanted}")
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

fn illegal_base64(error: &base64::DecodeError, length: usize) -> String {
    use base64::DecodeError::{InvalidByte, InvalidLastSymbol, InvalidLength, InvalidPadding};
    let at = match error {
        InvalidByte(at, _) | InvalidLastSymbol(at, _) => *at,
        // The incomplete group of four.
        InvalidLength(_) | InvalidPadding => length - length % 4,
    };
    format!("illegal base64 data at input byte {at}")
}
