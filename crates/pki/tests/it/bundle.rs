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
