//! Other algorithms, other domains, other schemas, and every bad input by name.

use super::*;

fn change(change: &Change, ring: Ring, keys: &mut KeySource) -> Ring {
    carry_out(change, Some(ring), keys, NOW, &Policy::default()).unwrap()
}

#[test]
fn an_algorithm_changes_with_the_next_ca_and_every_client_follows() {
    let mut source = KeySource::new("vestibule", &["demo.svc"], Algorithm::P384);
    let mut ring = read(&data(&created())).unwrap();
    let algorithm = |der: &rustls_pki_types::CertificateDer<'_>| crate::describe(der).unwrap().key_algorithm;
    // P-256 crosses P-256, then P-384; then P-384 crosses P-384.
    for expected in ["ECDSA P-256", "ECDSA P-384", "ECDSA P-384"] {
        let before = ring.bundle_pem();
        ring = read(&data(&change(&Change::Promote, ring, &mut source))).unwrap();
        let active = ring.facts().active().unwrap().id;
        assert_eq!(algorithm(ring.certificate(active).unwrap()), expected);
        let leaf = leaf_below(&ring, &["hooks.demo.svc"]).unwrap();
        assert_eq!((algorithm(&leaf.chain[0]).as_str(), leaf.chain.len()), (expected, 2));
        let alone = crate::bundle::pem(ring.certificate(active).unwrap());
        for bundle in [before, ring.bundle_pem(), alone] {
            assert_eq!(
                crate::verify(&bundle, &leaf.chain, &["hooks.demo.svc"], with_keys::unix(NOW)),
                Ok(())
            );
        }
    }
}

#[test]
fn other_domains_come_with_the_next_ca_too() {
    let mut source = KeySource::new("vestibule", &["demo.svc", "demo.svc.corp"], Algorithm::P256);
    let new = "hooks.demo.svc.corp";
    let mut ring = created();
    for _ in 0..2 {
        // The first promotes the old next, the second a CA of the new domains over a predecessor of the old.
        ring = read(&data(&change(&Change::Promote, ring, &mut source))).unwrap();
        assert!(ring.permits("hooks.demo.svc") && !ring.permits(new) && ring.permits("10.0.0.1"));
        assert!(leaf_below(&ring, &["hooks.demo.svc"]).is_ok());
        assert!(leaf_below(&ring, &[new]).is_err());
        let predecessor = ring.facts().active().unwrap().cross_signature.unwrap().issuer;
        ring = change(&Change::Remove(BTreeSet::from([predecessor])), ring, &mut source);
        // Its cross is presented still, though the predecessor is gone.
        assert_eq!(leaf_below(&ring, &["hooks.demo.svc"]).unwrap().chain.len(), 2);
    }
    assert!(
        ring.permits(new) && !ring.permits("hooks.other.svc") && !ring.permits("hooks.demo.svc.corp.evil")
    );
    assert!(leaf_below(&ring, &["hooks.demo.svc", new]).is_ok());

    // Domains that have nothing in common with a stored ring's do not keep it from going on.
    let mut elsewhere = KeySource::new("vestibule", &["elsewhere.svc"], Algorithm::P256);
    let ring = change(&Change::Promote, created(), &mut elsewhere);
    let ring = change(&Change::Promote, ring, &mut elsewhere);
    assert!(!ring.permits("hooks.demo.svc") && !ring.permits("hooks.elsewhere.svc"));
}

#[test]
fn a_cross_is_as_confined_as_its_ca() {
    let ring = read(&data(&created())).unwrap();
    let ring = change(&Change::Promote, ring, &mut keys());
    let active = ring.facts().active().unwrap().id;
    let domains =
        |der: &rustls_pki_types::CertificateDer<'_>| crate::describe(der).unwrap().permitted_domains;
    assert_eq!(domains(&ring.crosses[&active]), domains(&ring.certificates[&active]));
    assert_eq!(domains(&ring.crosses[&active]).len(), 2);
}

#[test]
fn a_newer_schema_is_read_if_its_writers_say_so() {
    let whole = data(&promoted());
    let with = |schema: &str| {
        let mut data = whole.clone();
        let text = String::from_utf8(data["ring.json"].clone()).unwrap();
        assert!(text.starts_with("{\"schema\":2,\"readable\":1,"), "{text}");
        let text = text.replacen("\"schema\":2,\"readable\":1", schema, 1);
        let text = text.replacen("{\"id\"", "{\"more\":[],\"id\"", 1);
        data.insert("ring.json".to_owned(), text.into_bytes());
        data
    };
    let newer = with("\"schema\":3,\"readable\":1,\"more\":{\"a\":1}");
    let Reading::Newer(Some(ring)) = Ring::read(Some(&newer), (0, 0), NOW) else { panic!("not readable") };
    assert_eq!(ring.facts(), read(&whole).unwrap().facts());
    assert!(leaf_below(&ring, &NAMES).is_ok());
    assert!(matches!(read(&newer).err(), Some(RingError::Newer { schema: 3 })));

    let mut strange = with("\"schema\":3,\"readable\":3");
    assert!(matches!(Ring::read(Some(&strange), (0, 0), NOW), Reading::Newer(None)));
    // A ring of a newer schema is never overwritten, also if this version cannot read it.
    strange.retain(|field, _| field == "ring.json");
    assert_eq!(Ring::read(Some(&strange), (0, 0), NOW).facts(), RingFacts::Newer(None));
    strange.extend(newer.get_key_value("ring.json").map(|(field, text)| (field.clone(), text.clone())));
    assert_eq!(Ring::read(Some(&strange), (0, 0), NOW).facts(), RingFacts::Newer(None));
    // A ring that claims this schema or an older one must follow it.
    assert_eq!(problem(&with("\"schema\":2,\"readable\":1")), ("ring.json".to_owned(), Problem::Json));
}

#[test]
fn an_expired_ring_says_which_ca_has_ended() {
    let ring = created();
    let active = ring.facts().active().unwrap();
    let field = format!("ca-{}.crt", active.id);
    let error = Ring::decode(&data(&ring), (0, 0), active.not_after).err();
    assert_eq!(error, Some(RingError::field(&field, Problem::Expired)));
    let last = Moment(active.not_after.0 - 1);
    assert!(Ring::decode(&data(&ring), (0, 0), last).is_ok());
}

#[test]
fn a_signer_must_be_a_ca() {
    let ring = created();
    let active = ring.facts().active().unwrap().id;
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::ExplicitNoCa;
    let der = params.self_signed(&key).unwrap().der().clone();
    let id = CaId::of(&der);
    let mut data = data(&ring);
    let text = String::from_utf8(data["ring.json"].clone()).unwrap();
    // Both are listed in the order of their names.
    let other = ring.facts().next().unwrap().id;
    let entry = |id: CaId, state: &str| format!("{{\"id\":\"{id}\",\"state\":\"{state}\"}}");
    let mut entries = [(id, entry(id, "active")), (other, entry(other, "next"))];
    entries.sort();
    let from = text.find("\"authorities\"").unwrap();
    let text = format!("{}\"authorities\":[{},{}]}}", &text[..from], entries[0].1, entries[1].1);
    data.insert("ring.json".to_owned(), text.into_bytes());
    data.insert(format!("ca-{id}.crt"), crate::bundle::pem(&der).into_bytes());
    data.insert(format!("ca-{id}.key"), key.serialize_pem().into_bytes());
    assert_eq!(problem(&data), (format!("ca-{id}.crt"), Problem::NotAnAuthority));
    assert_ne!(id, active);
}

#[test]
fn rubbish_beside_a_ring_is_not_looked_at() {
    let mut data = data(&created());
    data.insert("tls.crt".to_owned(), vec![0xfe; 900 * 1024]);
    data.insert("ca.crt".to_owned(), b"Cg==".to_vec());
    assert!(read(&data).is_ok());
}

#[test]
fn a_key_written_by_another_tool_is_written_again_as_pkcs8() {
    let ring = created();
    let mut stored = data(&ring);
    let field = format!("ca-{}.key", ring.facts().active().unwrap().id);
    let pkcs8 = crate::key::read(std::str::from_utf8(&stored[&field]).unwrap()).unwrap();
    let sec1 = crate::key::tests::inner(pkcs8.secret_der());
    let pem = x509_cert::der::pem::encode_string("EC PRIVATE KEY", x509_cert::der::pem::LineEnding::LF, sec1);
    stored.insert(field.clone(), pem.unwrap().into_bytes());
    let again = read(&stored).unwrap();
    assert!(data(&again)[&field].starts_with(b"-----BEGIN PRIVATE KEY-----"));
    assert_eq!(read(&data(&again)).unwrap().facts(), ring.facts());
}

#[test]
fn no_error_repeats_what_it_read() {
    let whole = data(&promoted());
    let lines: Vec<String> = whole
        .values()
        .flat_map(|bytes| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| line.len() > 20 && !line.starts_with("-----"))
        .collect();
    let silent = |text: String| {
        assert!(!text.contains("canary") && !lines.iter().any(|line| text.contains(line)), "{text}");
    };
    for field in whole.keys().filter(|field| *field != "ca.crt") {
        let others = whole.keys().filter(|other| *other != field).map(|other| whole[other].clone());
        let half = whole[field][..whole[field].len() / 2].to_vec();
        let pem = b"-----BEGIN PRIVATE KEY-----\nY2FuYXJ5\n-----END PRIVATE KEY-----\n".to_vec();
        for bytes in others.chain([half, pem, b"canary-4711".to_vec(), b"{\"schema\":\"canary\"}".to_vec()]) {
            let mut data = whole.clone();
            data.insert(field.clone(), bytes.clone());
            let Err(error) = read(&data) else { continue };
            silent(format!("{error} {error:?}"));
            let text = String::from_utf8_lossy(&bytes);
            let authority = crate::Authority::from_pem(&text, &text).err();
            let leaf = crate::Leaf::from_pem(&text, &text, with_keys::unix(NOW)).err();
            silent(format!("{authority:?} {leaf:?}"));
            silent(authority.map(|error| error.to_string()).unwrap_or_default());
            silent(leaf.map(|error| error.to_string()).unwrap_or_default());
        }
    }
}
