//! The syntax of names, label keys and values, variables, ports and quantities as the API server validates it. The error of
//! each check describes valid text.

use crate::quantity::nanos;

/// Whether `text` can be the name of a container or volume (an RFC 1123 label), or of a rule, because the key of an annotation
/// ends with it.
///
/// # Errors
/// A description of valid text.
pub fn name(text: &str) -> Result<(), &'static str> {
    let fine = text.len() <= 63 && is_label(text);
    fine.then_some(()).ok_or("1 to 63 lower-case letters, digits and `-`, which neither starts nor ends it")
}

/// Whether `text` can be the key of a label: an optional DNS prefix, `/`, and a name.
///
/// # Errors
/// A description of valid text.
///
/// ```
/// assert!(vestibule_rules::syntax::label_key("example.com/team").is_ok());
/// assert!(vestibule_rules::syntax::label_key("a b").is_err());
/// ```
pub fn label_key(text: &str) -> Result<(), &'static str> {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let dns = |prefix: &str| prefix.len() <= 253 && prefix.split('.').all(is_label);
    (prefix.is_none_or(dns) && !name.is_empty() && label_value(name).is_ok())
        .then_some(())
        .ok_or("a name of at most 63 letters, digits, `-`, `_` and `.`, perhaps after a DNS name and `/`")
}

/// Keys of annotations. Unlike that of a label, the prefix may have capital letters.
pub(crate) fn annotation_key(text: &str) -> Result<(), &'static str> {
    label_key(&text.to_lowercase())
}

/// Whether `text` is a label of a DNS name, of any length.
fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// Whether `text` can be the value of a label.
///
/// # Errors
/// A description of valid text.
pub fn label_value(text: &str) -> Result<(), &'static str> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let fine = text.len() <= 63
        && text.bytes().all(inner)
        && !text.starts_with(['-', '_', '.'])
        && !text.ends_with(['-', '_', '.']);
    fine.then_some(())
        .ok_or("at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends")
}

/// Names of environment variables.
pub(crate) fn variable(text: &str) -> Result<(), &'static str> {
    let fine = !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
    fine.then_some(()).ok_or("printable ASCII without `=`")
}

/// The contents of every `$(...)`, as the kubelet reads them: `$$` is a dollar.
pub(crate) fn variable_references(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once('$') {
        rest = behind;
        if let Some(escaped) = behind.strip_prefix('$') {
            rest = escaped;
        } else if let Some((name, behind)) = behind.strip_prefix('(').and_then(|open| open.split_once(')')) {
            names.push(name);
            rest = behind;
        }
    }
    names
}

/// Names of ports (RFC 6335 service names).
pub(crate) fn port(text: &str) -> Result<(), &'static str> {
    let fine = text.len() <= 15
        && name(text).is_ok()
        && !text.contains("--")
        && text.bytes().any(|b| b.is_ascii_lowercase());
    fine.then_some(())
        .ok_or("1 to 15 lower-case letters, digits and single `-`, at least one of them a letter")
}

/// Quantities.
pub(crate) fn quantity(text: &str) -> Result<(), &'static str> {
    nanos(text).map(|_| ()).ok_or("a quantity such as `100m`, `0.5` or `64Mi`")
}

#[cfg(test)]
mod tests {
    use super::{
        annotation_key as annotation, label_key as key, label_value as label, name, port, quantity, variable,
        variable_references as references,
    };

    #[test]
    fn references_are_those_that_the_kubelet_expands() {
        assert_eq!(references("$(A)-$(B) $$(C) $D $(E"), ["A", "B"]);
        assert_eq!(references("$$$(A)"), ["A"]);
        assert!(references("").is_empty());
    }

    #[test]
    fn names_are_validated_as_the_api_server_does() {
        assert!(name("envoy-1").is_ok());
        assert!(["", "-a", "a-", "A", "a_b", "a.b"].iter().all(|text| name(text).is_err()));
        assert!(name(&"a".repeat(63)).is_ok() && name(&"a".repeat(64)).is_err());
        assert!(label("").is_ok() && label("a_B.9").is_ok());
        assert!(["a.", "_a", "a b"].iter().all(|text| label(text).is_err()));
        assert!(key("example.com/a").is_ok() && key("a").is_ok());
        assert!(["", "/a", "a/", "a/b/c", "Ex.com/a", ".com/a"].iter().all(|text| key(text).is_err()));
        assert!(annotation("Ex.com/a").is_ok() && annotation("a b").is_err());
        assert!(variable("A.b-c").is_ok() && variable("A=b").is_err() && variable("").is_err());
        assert!(port("http").is_ok() && port("80").is_err() && port("a--b").is_err());
        assert!(quantity("64Mi").is_ok() && quantity("64MiB").is_err());
    }
}
