//! Objects as text, members in the order they came in.

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use vestibule::patch::{Document, Kind, View};

/// The object as YAML, laid out as kubectl does.
pub(crate) fn yaml(json: &str) -> anyhow::Result<String> {
    let mut options = serde_saphyr::SerializerOptions::default();
    // A folded string is hard to compare with the one in the user's own file.
    options.folded_wrap_chars = usize::MAX;
    Ok(serde_saphyr::to_string_with_options(&Ordered(Document::parse(json)?.view()), options)?)
}

/// The object as JSON, one member a line.
pub(crate) fn pretty_json(json: &str) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(&Ordered(Document::parse(json)?.view()))?)
}

/// A value whose members keep their order, which `serde_json::Value` sorts.
struct Ordered<'d>(View<'d>);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let view = self.0;
        match view.kind() {
            Kind::Null => serializer.serialize_unit(),
            Kind::Bool => serializer.serialize_bool(view.as_bool().unwrap_or_default()),
            Kind::Number => number(&view.to_json(), serializer),
            Kind::String => serializer.serialize_str(&view.as_str().unwrap_or_default()),
            Kind::Array => serializer.collect_seq(view.items().into_iter().map(Ordered)),
            Kind::Object => {
                serializer.collect_map(view.entries().into_iter().map(|(key, value)| (key, Ordered(value))))
            }
        }
    }
}

fn number<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if let Ok(integer) = text.parse::<i64>() {
        return serializer.serialize_i64(integer);
    }
    if let Ok(integer) = text.parse::<i128>() {
        return serializer.serialize_i128(integer);
    }
    serializer.serialize_f64(text.parse().map_err(S::Error::custom)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_keeps_order_and_types() {
        let json = r#"{"kind":"Pod","apiVersion":"v1","a":["on","1",1.0,null,{"b":{},"c":[]}],"big":12345678901234567890}"#;
        let expected = "kind: Pod\napiVersion: v1\na:\n- \"on\"\n- \"1\"\n- 1.0\n- null\n- b: {}\n  c: []\nbig: 12345678901234567890\n";
        assert_eq!(yaml(json).unwrap(), expected);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for text in [
            "",
            " a",
            "a: b",
            "# a",
            "a #b",
            "- a",
            "~",
            "0x1f",
            "1e3",
            "é\u{2028}\u{7f}",
            "a\n b\n",
            "\n\na\n\n",
            "'\"",
            "a\tb",
            "%a",
        ] {
            let json = serde_json::json!({"a": [text, {"b": text}], text: 1}).to_string();
            let yaml = yaml(&json).unwrap();
            let [document] = &*vestibule_rules::yaml::read("test", &yaml).unwrap() else {
                panic!("one document")
            };
            let read: serde_json::Value = serde_json::from_str(&document.to_json()).unwrap();
            assert_eq!(read, serde_json::from_str::<serde_json::Value>(&json).unwrap(), "{yaml}");
        }
    }

    #[test]
    fn long_strings_stay_on_their_line() {
        let json = serde_json::json!({"a": "word ".repeat(60).trim()}).to_string();
        assert_eq!(yaml(&json).unwrap().lines().count(), 1);
    }
}
