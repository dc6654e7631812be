//! Certificates, keys and ring Secrets with arbitrary content.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use rustls_pki_types::UnixTime;
use vestibule_pki::ring::{Moment, Ring};
use vestibule_pki::{Authority, Bundle, Leaf};

/// The time at which the saved inputs were made.
const NOW: u64 = 1_800_000_000;

/// The fields of a Secret, each after a line `@NAME`.
///
/// A bundle, ring, leaf or CA that is written and read again is equal. An error is one short line without a piece of a key.
pub fn secret(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let fields = fields(&text);
    let bundle = Bundle::read(input);
    let written = Bundle::pem(bundle.certificates.values());
    let again = Bundle::read(written.as_bytes());
    assert_eq!(again.certificates, bundle.certificates);
    assert_eq!(again.is_canonical, !written.is_empty() || bundle.certificates.is_empty());
    assert_eq!(again.problem.is_none(), !bundle.certificates.is_empty());

    let now = UnixTime::since_unix_epoch(Duration::from_secs(NOW));
    let field = |name: &str| fields.get(name).copied().unwrap_or_default();
    match Leaf::from_pem(field("tls.crt"), field("tls.key"), now) {
        Ok(leaf) => {
            let again = Leaf::from_pem(&leaf.chain_pem(), &leaf.key_pem(), now).expect("the same leaf");
            assert_eq!(again.names, leaf.names);
            assert_eq!(*again.key_pem(), *leaf.key_pem());
        }
        Err(error) => told(&error, &text),
    }
    match Authority::from_pem(field("ca.crt"), field("ca.key")) {
        Ok(authority) => {
            let again = Authority::from_pem(authority.certificate_pem(), &authority.key_pem());
            assert_eq!(again.expect("the same CA").certificate_pem(), authority.certificate_pem());
        }
        Err(error) => told(&error, &text),
    }
    match Ring::decode(&fields, (0, 0), Moment(NOW)) {
        Ok(ring) => {
            let again = Ring::decode(&ring.encode(), (0, 0), Moment(NOW)).expect("the same ring");
            assert_eq!(again.facts(), ring.facts());
            assert_eq!(again.bundle_pem(), ring.bundle_pem());
        }
        Err(error) => told(&error, &text),
    }
}

fn fields(text: &str) -> BTreeMap<String, &str> {
    let parts = text.split("\n@").map(|part| part.strip_prefix('@').unwrap_or(part));
    parts.filter_map(|part| part.split_once('\n')).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Checks an error: a line of base64 of PEM's length counts as a piece of a key.
fn told(error: &impl Display, text: &str) {
    let words = error.to_string();
    assert!(words.chars().count() < 400 && !words.contains(char::is_control), "{} characters", words.len());
    let pieces = text.lines().filter(|line| line.len() >= 48 && !line.starts_with(['@', '-', '{']));
    assert!(
        pieces.filter(|line| !line.contains(' ')).all(|line| !words.contains(line)),
        "a line of the input is quoted"
    );
}
