//! Kubernetes' rules for names.

/// The remedy for a name that is no DNS label.
pub(crate) const DNS_LABEL: &str = "use 1 to 63 lower-case letters, digits and `-`; the first and the last character are a letter or a digit";

/// A label of RFC 1123 section 2.1, which Kubernetes requires for most names.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_label(text)
}

/// Labels joined by dots, 253 characters at most; a single label in it may be longer than 63 characters.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

/// A label of any length.
fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// `name` or `example.com/name`: the form of label and annotation keys.
pub(crate) fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    prefix.is_none_or(is_dns_subdomain)
        && bytes.len() <= 63
        && bytes.iter().all(|byte| inner(*byte))
        && ends(bytes.first())
        && ends(bytes.last())
}

/// Whether the API server accepts the path of a Service and requests it unchanged: it would drop a slash at the end.
pub(crate) fn is_path(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|path| path.split('/').all(is_dns_subdomain))
}

/// The problem of a path, if it has one.
pub(crate) fn path_problem(path: &str) -> Option<String> {
    let problem =
        || format!("`{path}` is no path: write `/` and lower-case letters, digits and `-`, as in `/mutate`");
    (!is_path(path)).then(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_kubernetes() {
        let long = "a".repeat(64);
        for (name, label, subdomain, qualified) in [
            ("web-1", true, true, true),
            ("a.b", false, true, true),
            ("example.com/App_1.x", false, false, true),
            ("Web", false, false, true),
            ("-a", false, false, false),
            ("a-", false, false, false),
            ("", false, false, false),
            ("a..b", false, false, true),
            ("a/b/c", false, false, false),
            (&long, false, true, false),
        ] {
            assert_eq!(
                (is_dns_label(name), is_dns_subdomain(name), is_qualified_name(name)),
                (label, subdomain, qualified),
                "{name}"
            );
        }
    }
}
