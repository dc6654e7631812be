//! Label selectors as kubectl writes them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// Reads `a=b,c!=d,e,!f`. What is wrong comes back as a sentence.
pub(crate) fn parse(text: &str) -> Result<LabelSelector, String> {
    let mut labels = BTreeMap::new();
    let mut expressions = Vec::new();
    for term in text.split(',').map(str::trim).filter(|term| !term.is_empty()) {
        if let Some((key, value)) = term.split_once("!=") {
            expressions.push(requirement(key, "NotIn", Some(value))?);
        } else if let Some((key, value)) = term.split_once('=') {
            let value = checked_value(value.strip_prefix('=').unwrap_or(value))?;
            labels.insert(checked(key)?.to_owned(), value.to_owned());
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

/// `key NotIn values`, beside whatever the selector already asks for.
pub(crate) fn exclude(selector: &mut LabelSelector, key: &str, values: Vec<String>) {
    let excluded =
        LabelSelectorRequirement { key: key.to_owned(), operator: "NotIn".to_owned(), values: Some(values) };
    selector.match_expressions.get_or_insert_default().push(excluded);
}

fn requirement(key: &str, operator: &str, value: Option<&str>) -> Result<LabelSelectorRequirement, String> {
    let key = checked(key)?.to_owned();
    let values = value.map(checked_value).transpose()?.map(|value| vec![value.to_owned()]);
    Ok(LabelSelectorRequirement { key, operator: operator.to_owned(), values })
}

fn checked(key: &str) -> Result<&str, String> {
    let key = key.trim();
    let allowed = |character: char| character.is_ascii_alphanumeric() || "-_./".contains(character);
    if key.is_empty() || !key.chars().all(allowed) {
        return Err(format!(
            "`{key}` is no label key; write `key=value`, `key!=value`, `key` or `!key`, with commas between"
        ));
    }
    Ok(key)
}

/// As the API server asks it of label values; an empty one is allowed.
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
        let selector = parse("injection=enabled, example.com/tier!=gold,owned,!frozen").unwrap();
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
            ]
        );
    }

    #[test]
    fn a_bad_key_is_named() {
        assert!(parse("in (a)").unwrap_err().contains("`in (a)`"));
        assert!(parse("=x").unwrap_err().contains("key=value"));
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
