//! Label selectors as kubectl writes them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::registration::name::is_qualified_name;

/// Reads `a=b,c!=d,e,!f,g in (h,i),j notin (k)`. The error is a sentence for the author.
pub(crate) fn parse(text: &str) -> Result<LabelSelector, String> {
    let mut labels = BTreeMap::new();
    let mut expressions = Vec::new();
    for term in terms(text) {
        if let Some((key, operator, values)) = set(term) {
            expressions.push(requirement(key, operator, Some(values))?);
        } else if let Some((key, value)) = term.split_once("!=") {
            expressions.push(requirement(key, "NotIn", Some(value))?);
        } else if let Some((key, value)) = term.split_once('=') {
            let value = checked_value(value.strip_prefix('=').unwrap_or(value))?;
            let before = labels.insert(checked(key)?.to_owned(), value.to_owned());
            if before.is_some_and(|before| before != value) {
                return Err(format!("`{}` cannot have two values; write `in (..)`", key.trim()));
            }
        } else if let Some(key) = term.strip_prefix('!') {
            expressions.push(requirement(key, "DoesNotExist", None)?);
        } else {
            expressions.push(requirement(term, "Exists", None)?);
        }
    }
    Ok(LabelSelector {
        match_labels: (!labels.is_empty()).then_some(labels),
        match_expressions: (!expressions.is_empty()).then_some(expressions),
    })
}

/// Adds the requirement `key NotIn values`.
pub(crate) fn exclude(selector: &mut LabelSelector, key: &str, values: Vec<String>) {
    let excluded =
        LabelSelectorRequirement { key: key.to_owned(), operator: "NotIn".to_owned(), values: Some(values) };
    selector.match_expressions.get_or_insert_default().push(excluded);
}

/// The texts between commas; commas in parentheses do not separate.
fn terms(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    let terms = text.split(move |character| {
        inside = character == '(' || (inside && character != ')');
        character == ',' && !inside
    });
    terms.map(str::trim).filter(|term| !term.is_empty())
}

/// The parts of `key in (a,b)` and `key notin (a,b)`.
fn set(term: &str) -> Option<(&str, &'static str, &str)> {
    let (left, values) = term.strip_suffix(')')?.split_once('(')?;
    let (key, word) = left.trim_end().rsplit_once(char::is_whitespace)?;
    match word {
        "in" => Some((key, "In", values)),
        "notin" => Some((key, "NotIn", values)),
        _ => None,
    }
}

fn requirement(key: &str, operator: &str, values: Option<&str>) -> Result<LabelSelectorRequirement, String> {
    let key = checked(key)?.to_owned();
    let read =
        |values: &str| values.split(',').map(|value| checked_value(value).map(str::to_owned)).collect();
    let values = values.map(read).transpose()?;
    Ok(LabelSelectorRequirement { key, operator: operator.to_owned(), values })
}

fn checked(key: &str) -> Result<&str, String> {
    let key = key.trim();
    if !is_qualified_name(key) {
        return Err(format!(
            "`{key}` is no label key; write `key=value`, `key!=value`, `key in (a,b)`, `key notin (a,b)`, `key` or `!key`, with commas between"
        ));
    }
    Ok(key)
}

/// The API server's rule for label values; an empty value is allowed.
fn checked_value(value: &str) -> Result<&str, String> {
    let value = value.trim();
    let allowed = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let at_ends = ['-', '_', '.'];
    if value.len() > 63 || !value.chars().all(allowed) || value.trim_matches(at_ends) != value {
        return Err(format!(
            "`{value}` is no label value: write letters, digits, `-`, `_` and `.`, 63 at most, at either end a letter or digit"
        ));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let selector = parse(
            "injection=enabled, example.com/tier!=gold,owned,!frozen,team in (shop, web),zone notin (a),",
        )
        .unwrap();
        assert_eq!(selector.match_labels.unwrap()["injection"], "enabled");
        let expressions: Vec<_> = selector
            .match_expressions
            .unwrap()
            .into_iter()
            .map(|expression| (expression.key, expression.operator, expression.values))
            .collect();
        assert_eq!(
            expressions,
            [
                ("example.com/tier".to_owned(), "NotIn".to_owned(), Some(vec!["gold".to_owned()])),
                ("owned".to_owned(), "Exists".to_owned(), None),
                ("frozen".to_owned(), "DoesNotExist".to_owned(), None),
                ("team".to_owned(), "In".to_owned(), Some(vec!["shop".to_owned(), "web".to_owned()])),
                ("zone".to_owned(), "NotIn".to_owned(), Some(vec!["a".to_owned()])),
            ]
        );
    }

    #[test]
    fn a_bad_key_is_named() {
        assert!(parse("in (a)").unwrap_err().contains("`in (a)`"));
        assert!(parse("=x").unwrap_err().contains("key=value"));
        for text in ["a in b", "a of (b)", "in (a", "a in (b", "a in (b))", "a=b,a=c", "-a"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_bad_value_is_named() {
        for text in ["app=we b", "app=a=b", "app!=a/b", "app=-a", "app=a."] {
            assert!(parse(text).unwrap_err().contains("is no label value"), "{text}");
        }
        assert!(parse(&format!("app={}", "a".repeat(64))).is_err());
        assert!(parse("app=,tier!=Gold_1.a").is_ok());
    }
}
