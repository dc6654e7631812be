use rcgen::{CertificateParams, KeyPair};
use vestibule_pki::{Leaf, LeafError};

use crate::{DAY, HOUR, NAMES, authority, later, now};

fn pair(algorithm: &'static rcgen::SignatureAlgorithm) -> (String, String) {
    let key = KeyPair::generate_for(algorithm).unwrap();
    let certificate = CertificateParams::new(NAMES.map(str::to_owned)).unwrap().self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

fn error(chain: &str, key: &str) -> LeafError {
    Leaf::from_pem(chain, key, now()).err().unwrap()
}

#[test]
fn a_leaf_of_any_tool_is_read_with_its_names_and_dates() {
    for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384, &rcgen::PKCS_RSA_SHA256]
    {
        let (chain, key) = pair(algorithm);
        let leaf = Leaf::from_pem(&chain, &key, now()).unwrap();
        assert_eq!((leaf.names.as_slice(), leaf.chain.len()), (NAMES.map(str::to_owned).as_slice(), 1));
        assert!(leaf.not_before < now() && now() < leaf.not_after);
        let again = Leaf::from_pem(&leaf.chain_pem(), &leaf.key_pem(), now()).unwrap();
        assert_eq!((again.chain, again.key.secret_der()), (leaf.chain, leaf.key.secret_der()));
    }
}

#[test]
fn a_chain_is_kept_whole_and_text_around_it_is_passed_over() {
    let authority = authority();
    let leaf = authority.issue(&NAMES, now(), DAY).unwrap();
    let chain = format!("subject=x\n{}\n# then\n{}", leaf.chain_pem(), authority.certificate_pem());
    let read = Leaf::from_pem(&chain, &leaf.key_pem(), now()).unwrap();
    assert_eq!((read.chain.len(), &read.chain[0]), (2, &leaf.chain[0]));
    assert_eq!((read.not_before, read.not_after), (leaf.not_before, leaf.not_after));
}

#[test]
fn errors_name_the_wrong_file() {
    let (chain, key) = pair(&rcgen::PKCS_ECDSA_P256_SHA256);
    let (other, _) = pair(&rcgen::PKCS_ECDSA_P256_SHA256);
    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for unreadable in ["", "\n", "words", garbage] {
        assert_eq!(error(unreadable, &key), LeafError::NoCertificate);
    }
    assert_eq!(error(&format!("{chain}{garbage}"), &key), LeafError::NoCertificate);
    assert_eq!(error(&key, &chain), LeafError::Swapped);
    assert_eq!(error(&chain.trim_end().repeat(2), &key), LeafError::JoinedCertificates);
    for unreadable in ["", "words", &chain, &key[..key.len() / 2]] {
        assert_eq!(error(&chain, unreadable), LeafError::NoKey);
    }
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    assert_eq!(error(&chain, &encrypted), LeafError::EncryptedKey);
    assert_eq!(error(&other, &key), LeafError::Mismatch);
    assert_eq!(error(&format!("{other}{chain}"), &key), LeafError::Order);
    let short = include_str!("leaf/rsa_1024.pem");
    assert_eq!(error(&chain, short), LeafError::KeyKind);
    for problem in
        [LeafError::NoCertificate, LeafError::Swapped, LeafError::JoinedCertificates, LeafError::NoNames]
    {
        assert!(problem.to_string().contains("certificate file"), "{problem}");
    }
    for problem in [LeafError::NoKey, LeafError::EncryptedKey, LeafError::Mismatch] {
        assert!(problem.to_string().starts_with("the key file"), "{problem}");
    }
}

#[test]
fn dates_and_names_count() {
    let leaf = authority().issue(&NAMES, now(), HOUR).unwrap();
    let at = |time| Leaf::from_pem(&leaf.chain_pem(), &leaf.key_pem(), time).err();
    assert_eq!((at(leaf.not_before), at(later(HOUR))), (None, None));
    assert_eq!(at(later(HOUR * 2)), Some(LeafError::Expired { not_after: leaf.not_after }));
    let early = crate::at(DAY * 19_000);
    assert_eq!(at(early), Some(LeafError::NotYetValid { not_before: leaf.not_before }));
    let key = KeyPair::generate().unwrap();
    let nameless = CertificateParams::default().self_signed(&key).unwrap();
    assert_eq!(error(&nameless.pem(), &key.serialize_pem()), LeafError::NoNames);
}

#[test]
fn a_leaf_serves_its_names() {
    let key = KeyPair::generate().unwrap();
    let names = ["hooks.demo.svc", "*.demo.svc", "10.0.0.1", "::1"].map(str::to_owned);
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let leaf = Leaf::from_pem(&certificate.pem(), &key.serialize_pem(), now()).unwrap();
    for name in ["hooks.demo.svc", "Other.Demo.SVC", "10.0.0.1", "0:0::1"] {
        assert!(leaf.serves(name), "{name}");
    }
    for name in ["demo.svc", "a.hooks.demo.svc", "10.0.0.2", "hooks.demo"] {
        assert!(!leaf.serves(name), "{name}");
    }
}
