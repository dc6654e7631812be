use vestibule_pki::ring::read_bundle;
use vestibule_pki::{Bundle, VerifyError};

use crate::authority;

#[test]
fn a_bundle_of_ours_is_canonical() {
    let (one, other) = (authority(), authority());
    let both = Bundle::read(format!("{}{}", one.certificate_pem(), other.certificate_pem()).as_bytes());
    let canonical = Bundle::pem(both.certificates.values());
    let read = Bundle::read(canonical.as_bytes());
    assert_eq!(
        (read.certificates.len(), read.unreadable, read.problem, read.is_canonical),
        (2, 0, None, true)
    );
    assert_eq!(both.certificates, read.certificates);
    assert_eq!(read_bundle(&canonical), read.certificates);
    for untidy in
        [format!("\n{canonical}"), canonical.replace('\n', "\r\n"), format!("{canonical}{canonical}")]
    {
        let read = Bundle::read(untidy.as_bytes());
        assert_eq!((read.certificates.len(), read.problem, read.is_canonical), (2, None, false));
    }
}

#[test]
fn other_blocks_are_counted_and_skipped() {
    let good = authority();
    let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let key = good.key_pem();
    let read = Bundle::read(format!("{bad}{}words\n{}", *key, good.certificate_pem()).as_bytes());
    assert_eq!((read.certificates.len(), read.unreadable, read.problem), (1, 2, None));
}

#[test]
fn a_bundle_that_go_cannot_load_is_a_problem() {
    let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (text, unreadable) in [("", 0), ("\n", 0), (bad, 1), ("\u{fffd}", 0)] {
        let read = Bundle::read(text.as_bytes());
        assert_eq!((read.problem, read.unreadable), (Some(VerifyError::EmptyBundle), unreadable));
    }
    let joined = authority().certificate_pem().trim_end().repeat(2);
    let read = Bundle::read(joined.as_bytes());
    assert_eq!((read.problem, read.certificates.len()), (Some(VerifyError::JoinedBundle), 0));
    assert!(!Bundle::read(&[0xff; 900 * 1024]).is_canonical);
}

#[test]
fn a_certificate_of_more_than_16_kib_is_passed_over() {
    for (names, expected) in [(300, (1, 0)), (900, (0, 1))] {
        let key = rcgen::KeyPair::generate().unwrap();
        let names: Vec<_> =
            (0..names).map(|number| format!("a-rather-long-name-{number}.demo.svc")).collect();
        let pem = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap().pem();
        let read = Bundle::read(pem.as_bytes());
        assert_eq!((read.certificates.len(), read.unreadable), expected);
    }
}

/// Go reads these certificates of each text. [`verify`](vestibule_pki::verify) and the caBundle of mounted files depend on it.
#[test]
fn blocks_are_found_where_go_finds_them() {
    let (one, two, three) = (authority(), authority(), authority());
    let (one, two, three) = (one.certificate_pem(), two.certificate_pem(), three.certificate_pem());
    let joined = |first: &str, second: &str| format!("{}{second}", first.trim_end());
    for (what, text, expected) in [
        ("joined behind a readable one", format!("{one}{}", joined(two, three)), 1),
        ("joined before a readable one", format!("{}{three}", joined(one, two)), 1),
        ("a comment with both words", format!("# -----END x----- -----BEGIN x-----\n{one}"), 1),
        ("words after the end", format!("{} x\n{two}", one.trim_end()), 1),
        ("a block without an end", format!("-----BEGIN CERTIFICATE-----\nMIIB\n{one}"), 1),
        ("an end of another kind", format!("-----BEGIN CERTIFICATE-----\nMIIB\n-----END X-----\n{one}"), 1),
        ("tabs and spaces at the ends of lines", one.replace('\n', " \t\r\n"), 1),
        ("an indented block", one.replace('\n', "\n  "), 0),
        ("a byte order mark", format!("\u{feff}{one}{two}"), 1),
        ("a header", one.replacen("-----\n", "-----\nkind: CA\n\n", 1), 0),
    ] {
        assert_eq!(Bundle::read(text.as_bytes()).certificates.len(), expected, "{what}");
    }
}
