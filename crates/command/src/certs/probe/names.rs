//! Names of certificates, as Go compares them.

use super::Refusal;

/// As Go: a wildcard stands for the whole first label and nothing else; case and a dot at the end do not count.
pub(super) fn matches_name(pattern: &str, name: &str) -> bool {
    let plain = |name: &str| name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let (pattern, name) = (pattern.to_ascii_lowercase(), plain(name));
    let (patterns, labels): (Vec<_>, Vec<_>) = (pattern.split('.').collect(), name.split('.').collect());
    let fits = |(position, (pattern, label)): (usize, (&&str, &&str))| {
        (position == 0 && *pattern == "*") || pattern == label
    };
    pattern != "*"
        && !name.is_empty()
        && patterns.len() == labels.len()
        && patterns.iter().zip(&labels).enumerate().all(fits)
}

/// The common name in a subject as RFC 4514 writes it.
pub(super) fn common_name(subject: &str) -> Option<String> {
    let mut attributes = vec![String::new()];
    let mut characters = subject.chars();
    while let Some(character) = characters.next() {
        match (character, attributes.last_mut()) {
            (',' | '+', _) => attributes.push(String::new()),
            ('\\', Some(attribute)) => attribute.extend(characters.next()),
            (_, Some(attribute)) => attribute.push(character),
            _ => {}
        }
    }
    attributes.iter().find_map(|attribute| attribute.strip_prefix("CN=")).map(str::to_owned)
}

pub(super) fn wrong_name(wanted: &str, named: &[String], go: &str) -> Refusal {
    let valid = if named.is_empty() { "no name at all".to_owned() } else { named.join(", ") };
    let message = match (service(wanted), named.iter().find_map(|name| service(name))) {
        (Some(asked), Some(other)) if asked != other => format!(
            "the certificate is for the Service {other}, and the API server calls the Service {asked} (it is valid for {valid})"
        ),
        (Some(asked), Some(_)) => format!(
            "the certificate is for the Service {asked}, but in a form that the API server does not use: valid for {valid}"
        ),
        _ => format!("the certificate is valid for {valid}, not for {wanted}"),
    };
    let advice = format!("make a certificate with the name {wanted} among its subject alternative names");
    Refusal::new("wrong_name", message, advice, go)
}

/// `NAME.NS.svc` and longer forms, as `NS/NAME`.
fn service(name: &str) -> Option<String> {
    let mut labels = name.split('.');
    let (name, namespace) = (labels.next()?, labels.next()?);
    (labels.next() == Some("svc")).then(|| format!("{namespace}/{name}"))
}

pub(super) fn legacy(common_name: &str) -> Refusal {
    Refusal::new(
        "legacy_common_name",
        format!(
            "the certificate carries {common_name} as its common name only, and no subject alternative name"
        ),
        "common names count for nothing: make it with a subjectAltName (openssl: -addext subjectAltName=DNS:NAME; or \
         `certs new`)",
        "x509: certificate relies on legacy Common Name field, use SANs instead",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_as_in_go() {
        for (pattern, name, expected) in [
            ("a.b.svc", "a.b.svc", true),
            ("A.b.svc", "a.B.svc", true),
            ("a.b.svc", "a.b.svc.", true),
            ("*.b.svc", "a.b.svc", true),
            ("*.svc", "a.b.svc", false),
            ("*", "localhost", false),
            ("a.*.svc", "a.b.svc", false),
            ("a*.b.svc", "ab.b.svc", false),
            ("a.b.svc.cluster.local", "a.b.svc", false),
            ("", "", false),
        ] {
            assert_eq!(matches_name(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn common_names_are_found() {
        assert_eq!(common_name("CN=a b,O=c").as_deref(), Some("a b"));
        assert_eq!(common_name(r"O=c,CN=a\,b").as_deref(), Some("a,b"));
        assert_eq!(common_name("OU=c+CN=a").as_deref(), Some("a"));
        assert_eq!(common_name("O=c"), None);
        assert_eq!(common_name(r"O=c\,CN=a"), None);
    }

    #[test]
    fn a_service_is_read_from_its_names() {
        assert_eq!(service("hooks.demo.svc").as_deref(), Some("demo/hooks"));
        assert_eq!(service("hooks.demo.svc.cluster.local").as_deref(), Some("demo/hooks"));
        assert_eq!(service("hooks.example.com"), None);
        assert_eq!(service("localhost"), None);
    }
}
