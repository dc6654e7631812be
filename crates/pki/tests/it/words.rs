//! The words of settings, annotations and metrics.

use vestibule_pki::ring::{Algorithm, AlgorithmError, CaId, Lineage, Request, Role, UnknownAuthorities};

#[test]
fn an_algorithm_is_read_by_two_names_and_written_as_one() {
    let algorithms =
        [(["p256", "P-256"], Algorithm::P256, "p256"), (["p384", "P-384"], Algorithm::P384, "p384")];
    for (names, algorithm, written) in algorithms {
        assert!(names.iter().all(|name| name.parse() == Ok(algorithm)), "{written}");
        assert_eq!(algorithm.to_string(), written);
    }
    let refused = [
        ("Ed25519", AlgorithmError::Ed25519),
        ("RSA-3072", AlgorithmError::Rsa),
        ("p521", AlgorithmError::Unknown("p521".to_owned())),
    ];
    for (name, error) in refused {
        assert_eq!(name.parse::<Algorithm>(), Err(error));
    }
}

#[test]
fn the_treatment_of_unknown_cas_is_read_as_it_is_written() {
    for (word, treatment) in [("keep", UnknownAuthorities::Keep), ("drop", UnknownAuthorities::Drop)] {
        assert_eq!(word.parse(), Ok(treatment));
        assert_eq!(treatment.to_string(), word);
    }
    assert!("Keep".parse::<UnknownAuthorities>().is_err());
}

#[test]
fn metrics_name_the_role_of_a_ca() {
    let roles = [Role::Active, Role::Next, Role::Retired, Role::Foreign];
    assert_eq!(roles.map(Role::as_str), ["active", "next", "retired", "foreign"]);
}

#[test]
fn annotations_name_rings_and_cas_by_sixteen_digits() {
    assert_eq!(Lineage(0xab).to_string(), "00000000000000ab");
    assert_eq!(CaId(0xab).to_string(), "00000000000000ab");
}

#[test]
fn a_blank_annotation_requests_nothing() {
    for blank in [None, Some(""), Some(" \n")] {
        assert_eq!(Request::digest(blank), 0);
    }
    let digest = |value| Request::digest(Some(value));
    assert_eq!(digest("today"), digest(" today\n"));
    assert!(digest("today") != 0 && digest("today") != digest("tomorrow"));
}
