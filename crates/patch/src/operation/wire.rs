//! The JSON form of operations. It is written by hand, since serde buffers tagged enums, and raw values do not survive that.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::Operation;
use crate::Pointer;

#[derive(Deserialize)]
#[serde(rename = "operation")]
struct Wire<'a> {
    #[serde(borrow)]
    op: Cow<'a, str>,
    path: Pointer,
    from: Option<Pointer>,
    // A plain `Option` would read `null` as absent.
    #[serde(default, deserialize_with = "present")]
    value: Option<Box<RawValue>>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

impl<'de> Deserialize<'de> for Operation {
    /// Members that RFC 6902 does not define are ignored, as its section 4 requires.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Wire { op, path, from, value } = Wire::deserialize(deserializer)?;
        let value = || {
            let value = value.map(Arc::from);
            value.ok_or_else(|| D::Error::custom(format_args!("`{op}` at `{path}` has no `value`")))
        };
        let from = || from.ok_or_else(|| D::Error::custom(format_args!("`{op}` at `{path}` has no `from`")));
        Ok(match &*op {
            "add" => Self::Add { value: value()?, path },
            "remove" => Self::Remove { path },
            "replace" => Self::Replace { value: value()?, path },
            "move" => Self::Move { from: from()?, path },
            "copy" => Self::Copy { from: from()?, path },
            "test" => Self::Test { value: value()?, path },
            _ => {
                return Err(D::Error::custom(format_args!(
                    "unknown operation `{op}` at `{path}`: RFC 6902 has add, remove, replace, move, copy and test"
                )));
            }
        })
    }
}

impl Serialize for Operation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("op", self.name())?;
        if let Self::Move { from, .. } | Self::Copy { from, .. } = self {
            map.serialize_entry("from", from)?;
        }
        map.serialize_entry("path", self.path())?;
        if let Some(value) = self.value() {
            map.serialize_entry("value", value)?;
        }
        map.end()
    }
}
