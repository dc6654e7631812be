use std::convert::Infallible;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use http::{Request, Response};
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use kube::client::Body;
use rcgen::KeyPair;
use serde_json::{Value, json};
use vestibule_server::{CredentialError, VerifyToken};

use super::settings::TokenSettings;
use super::*;

const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "https://hook.shop.svc:443";
const CALLER: &str = "system:serviceaccount:kube-system:api";

/// A key of an issuer, with its name.
struct Signer {
    name: &'static str,
    algorithm: Algorithm,
    key: EncodingKey,
}

impl Signer {
    fn es256(name: &'static str) -> Self {
        let key = EncodingKey::from_ec_der(&KeyPair::generate().unwrap().serialize_der());
        Self { name, algorithm: Algorithm::ES256, key }
    }

    fn of(name: &'static str, kind: &'static rcgen::SignatureAlgorithm, algorithm: Algorithm) -> Self {
        let pair = KeyPair::generate_for(kind).unwrap().serialize_der();
        let key = match algorithm {
            Algorithm::ES384 => EncodingKey::from_ec_der(&pair),
            // Without what PKCS#8 puts around it (RFC 5208 5).
            _ => EncodingKey::from_rsa_der(&pair[26..]),
        };
        Self { name, algorithm, key }
    }

    fn published(&self) -> Jwk {
        let mut key = Jwk::from_encoding_key(&self.key, self.algorithm).unwrap();
        key.common.key_id = Some(self.name.to_owned());
        key
    }

    fn sign(&self, claims: &Value) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.name.to_owned());
        encode(&header, claims, &self.key).unwrap()
    }
}

fn set(signers: &[&Signer]) -> String {
    serde_json::to_string(&JwkSet { keys: signers.iter().map(|signer| signer.published()).collect() })
        .unwrap()
}

/// Seconds from now.
fn at(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap() + seconds
}

/// The claims of a valid token.
fn claims() -> Value {
    json!({"iss": ISSUER, "aud": [AUDIENCE], "sub": CALLER, "exp": at(600), "nbf": at(0), "iat": at(0),
        "kubernetes.io": {"namespace": "kube-system", "serviceaccount": {"name": "api", "uid": "u"}}})
}

fn tokens(keys: Arc<Keys>) -> Tokens {
    let settings = TokenSettings::new(ISSUER, vec![AUDIENCE.to_owned(), format!("{AUDIENCE}/mutate")]);
    Tokens::new(&settings, vec![CALLER.to_owned()], keys)
}

fn tokens_by_file(folder: &Path, signers: &[&Signer]) -> Tokens {
    let file = folder.join("keys.json");
    std::fs::write(&file, set(signers)).unwrap();
    tokens(keys::of_file(&file).unwrap().0)
}

#[tokio::test]
async fn each_claim_counts() {
    let folder = tempfile::tempdir().unwrap();
    let (signer, stranger) = (Signer::es256("one"), Signer::es256("one"));
    let tokens = tokens_by_file(folder.path(), &[&signer]);
    let judge = async |change: &dyn Fn(&mut Value)| {
        let mut claims = claims();
        change(&mut claims);
        tokens.verify(&signer.sign(&claims)).await
    };
    assert_eq!(judge(&|_| {}).await, Ok(()));
    assert_eq!(judge(&|claims| claims["aud"] = json!(AUDIENCE)).await, Ok(()));
    assert_eq!(judge(&|claims| claims["aud"] = json!(["other", format!("{AUDIENCE}/mutate")])).await, Ok(()));
    // Clocks differ.
    assert_eq!(judge(&|claims| claims["exp"] = json!(at(-30))).await, Ok(()));
    assert_eq!(judge(&|claims| claims["nbf"] = json!(at(30))).await, Ok(()));
    for (claim, value, expected) in [
        ("iss", json!("https://other.example"), CredentialError::Issuer),
        ("iss", Value::Null, CredentialError::Issuer),
        ("aud", json!(["https://kubernetes.default.svc"]), CredentialError::Audience),
        ("aud", json!([]), CredentialError::Audience),
        ("aud", Value::Null, CredentialError::Audience),
        ("aud", json!(format!("{AUDIENCE}0")), CredentialError::Audience),
        ("exp", json!(at(-120)), CredentialError::Expired),
        ("exp", Value::Null, CredentialError::Unreadable),
        ("exp", json!("never"), CredentialError::Unreadable),
        ("nbf", json!(at(120)), CredentialError::NotYetValid),
        ("nbf", json!("now"), CredentialError::Unreadable),
        ("sub", json!("system:serviceaccount:shop:default"), CredentialError::Name),
        ("sub", Value::Null, CredentialError::Unreadable),
    ] {
        let judged = judge(&|claims| claims[claim] = value.clone()).await;
        assert_eq!(judged, Err(expected), "{claim}: {value}");
        let judged = judge(&|claims| drop(claims.as_object_mut().unwrap().remove("nbf"))).await;
        assert_eq!(judged, Ok(()), "a token without nbf is valid already");
    }
    assert_eq!(tokens.verify(&stranger.sign(&claims())).await, Err(CredentialError::Signature));
}

#[tokio::test]
async fn each_part_counts() {
    let folder = tempfile::tempdir().unwrap();
    let (signer, other) = (Signer::es256("one"), Signer::es256("other"));
    let tokens = tokens_by_file(folder.path(), &[&signer]);
    let good = signer.sign(&claims());
    let parts: Vec<_> = good.split('.').collect();
    let [head, body, signature] = parts[..] else { panic!("{good}") };
    let mut elevated = claims();
    elevated["sub"] = json!("admin");
    let elevated = signer.sign(&elevated);
    let forged = elevated.split('.').nth(1).unwrap();
    // {"alg":"none"}
    let unsigned = format!("eyJhbGciOiJub25lIn0.{body}.");
    for token in ["", "a", "a.b", "a.b.c", "....", &unsigned, &format!("{head}.{body}")] {
        assert_eq!(tokens.verify(token).await, Err(CredentialError::Unreadable), "{token}");
    }
    for token in [format!("{head}.{forged}.{signature}"), format!("{head}.{body}."), format!("{good}A")] {
        assert_eq!(
            tokens.verify(&token).await.err().map(CredentialError::as_str),
            Some("signature"),
            "{token}"
        );
    }
    assert_eq!(tokens.verify(&other.sign(&claims())).await, Err(CredentialError::UnknownKey));
    // The public key as if it were a shared secret.
    let secret = EncodingKey::from_secret(set(&[&signer]).as_bytes());
    let shared = encode(&Header::new(Algorithm::HS256), &claims(), &secret).unwrap();
    assert_eq!(tokens.verify(&shared).await, Err(CredentialError::Unreadable));
    let mut header = Header::new(Algorithm::ES256);
    header.crit = Some(vec!["b64".to_owned()]);
    let critical = encode(&header, &claims(), &signer.key).unwrap();
    assert_eq!(tokens.verify(&critical).await, Err(CredentialError::Unreadable));
    assert_eq!(tokens.verify(&good).await, Ok(()));
}

#[tokio::test]
async fn every_kind_of_key_is_known_by_its_name_and_algorithm() {
    let folder = tempfile::tempdir().unwrap();
    let signers = [
        Signer::es256("a"),
        Signer::of("b", &rcgen::PKCS_ECDSA_P384_SHA384, Algorithm::ES384),
        Signer::of("c", &rcgen::PKCS_RSA_SHA256, Algorithm::RS256),
        Signer::of("d", &rcgen::PKCS_RSA_SHA256, Algorithm::PS384),
    ];
    let tokens = tokens_by_file(folder.path(), &signers.each_ref());
    for signer in &signers {
        assert_eq!(tokens.verify(&signer.sign(&claims())).await, Ok(()), "{}", signer.name);
    }
    // The name of a key of another kind.
    let mut header = Header::new(Algorithm::ES256);
    header.kid = Some("d".to_owned());
    let confused = encode(&header, &claims(), &signers[0].key).unwrap();
    assert_eq!(tokens.verify(&confused).await, Err(CredentialError::UnknownKey));
}

/// Regression: only the first key of the algorithm was tried.
#[tokio::test]
async fn a_token_that_names_no_key_is_tried_with_each_of_its_algorithm() {
    let folder = tempfile::tempdir().unwrap();
    let signers = [Signer::es256("old"), Signer::es256("new")];
    let tokens = tokens_by_file(folder.path(), &signers.each_ref());
    let unnamed = |signer: &Signer| encode(&Header::new(signer.algorithm), &claims(), &signer.key).unwrap();
    for signer in &signers {
        assert_eq!(tokens.verify(&unnamed(signer)).await, Ok(()), "{}", signer.name);
    }
    let other = unnamed(&Signer::es256("other"));
    assert_eq!(tokens.verify(&other).await, Err(CredentialError::Signature));
}

#[test]
fn a_set_without_a_public_key_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    let why = |content: &str| {
        std::fs::write(&file, content).unwrap();
        keys::of_file(&file).map(drop).unwrap_err().to_string()
    };
    assert!(why("{}").contains("it is no JSON Web Key Set"));
    assert!(why("-----BEGIN PUBLIC KEY-----").contains("it is no JSON Web Key Set"));
    assert!(why(r#"{"keys":[]}"#).contains("there is no public key"));
    // A shared secret, and a key for other things.
    assert!(why(r#"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#).contains("there is no public key"));
    let mut key = serde_json::to_value(Signer::es256("one").published()).unwrap();
    key["use"] = json!("enc");
    assert!(why(&json!({"keys": [key]}).to_string()).contains("there is no public key"));
    let missing = keys::of_file(Path::new("/nowhere/keys.json")).map(drop).unwrap_err().to_string();
    assert!(missing.starts_with("the keys of the token issuer in /nowhere/keys.json: "), "{missing}");
}

/// An API server that publishes the keys of the test, or none.
#[derive(Clone, Default)]
struct Publisher {
    keys: Arc<Mutex<Option<String>>>,
    asked: Arc<AtomicUsize>,
}

impl Publisher {
    fn client(&self) -> Client {
        let publisher = self.clone();
        let answer = move |request: Request<Body>| {
            assert_eq!(request.uri().path(), "/openid/v1/jwks");
            publisher.asked.fetch_add(1, Ordering::Relaxed);
            let keys = publisher.keys.lock().unwrap().clone();
            async move {
                let (status, body) = keys.map_or((500, "{}".to_owned()), |keys| (200, keys));
                Ok::<_, Infallible>(
                    Response::builder().status(status).body(Body::from(body.into_bytes())).unwrap(),
                )
            }
        };
        Client::new(tower::service_fn(answer), "default")
    }

    fn publish(&self, signers: &[&Signer]) {
        *self.keys.lock().unwrap() = Some(set(signers));
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

#[tokio::test(start_paused = true)]
async fn keys_are_asked_of_the_api_server_and_kept_when_it_is_gone() {
    let (publisher, old, new) = (Publisher::default(), Signer::es256("old"), Signer::es256("new"));
    let (keys, follow) = keys::of_cluster(publisher.client());
    let follow = tokio::spawn(follow);
    let tokens = tokens(Arc::clone(&keys));
    assert_eq!(tokens.verify(&old.sign(&claims())).await, Err(CredentialError::UnknownKey));
    assert!(keys.are_missing());

    publisher.publish(&[&old]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!keys.are_missing());
    assert_eq!(tokens.verify(&old.sign(&claims())).await, Ok(()));

    // The API server rotates its key: the first token that it signs is good at once.
    tokio::time::sleep(Duration::from_secs(60)).await;
    publisher.publish(&[&old, &new]);
    assert_eq!(tokens.verify(&new.sign(&claims())).await, Ok(()));

    // However many strangers come, it is asked no more than every ten seconds.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let (before, stranger) = (publisher.asked(), Signer::es256("stranger"));
    for _ in 0..100 {
        assert_eq!(tokens.verify(&stranger.sign(&claims())).await, Err(CredentialError::UnknownKey));
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!((3..=5).contains(&(publisher.asked() - before)), "{} times in 30 s", publisher.asked() - before);

    *publisher.keys.lock().unwrap() = None;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(tokens.verify(&new.sign(&claims())).await, Ok(()));
    follow.abort();
}

#[test]
fn settings_that_cannot_authenticate_clients_are_refused_at_the_start() {
    let start = |change: &dyn Fn(&mut ClientSettings)| {
        let mut settings = ClientSettings::new(ClientAuthentication::Require);
        change(&mut settings);
        settings.start(None).map(drop).unwrap_err().to_string()
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.crt");
    std::fs::write(&file, "no PEM").unwrap();
    assert!(start(&|_| {}).contains("no method is configured"));
    let of_any_client = |path: &Path| {
        let path = path.to_owned();
        move |settings: &mut ClientSettings| {
            (settings.authorities, settings.any_client) = (Some(path.clone()), true);
        }
    };
    assert!(start(&of_any_client(Path::new("/nowhere/ca.crt"))).contains("No such file"));
    let empty = start(&of_any_client(&file));
    assert_eq!(empty, format!("the CAs of clients in {}: no certificate was given", file.display()));
    let tokens = || Some(TokenSettings::new(ISSUER, vec![AUDIENCE.to_owned()]));
    let nameless = |change: &dyn Fn(&mut ClientSettings)| {
        assert!(start(change).contains("name the clients that may call"));
    };
    nameless(&|settings| settings.authorities = Some(file.clone()));
    nameless(&|settings| settings.tokens = tokens());
    nameless(&|settings| (settings.tokens, settings.any_client) = (tokens(), true));
    let contradiction = start(&|settings| {
        of_any_client(&file)(settings);
        settings.names = vec![CALLER.to_owned()];
    });
    assert!(contradiction.contains("contradict each other"));
    let nobody_to_ask = |settings: &mut ClientSettings| {
        settings.tokens = tokens();
        settings.names = vec![CALLER.to_owned()];
    };
    assert!(start(&nobody_to_ask).contains("set `Options::client`"));
}

#[tokio::test]
async fn readiness_waits_for_keys_only_if_no_client_can_authenticate_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.crt");
    let pair = KeyPair::generate().unwrap();
    let authority = rcgen::CertificateParams::default().self_signed(&pair).unwrap();
    std::fs::write(&file, authority.pem()).unwrap();
    let waits = |authentication, authorities: Option<&Path>| {
        let mut settings = ClientSettings::new(authentication);
        settings.authorities = authorities.map(Path::to_owned);
        settings.tokens = Some(TokenSettings::new(ISSUER, vec![AUDIENCE.to_owned()]));
        settings.names = vec![CALLER.to_owned()];
        let started = settings.start(Some(&Publisher::default().client())).unwrap();
        started.required_keys.map(|keys| keys.are_missing())
    };
    assert_eq!(waits(ClientAuthentication::Require, None), Some(true));
    assert_eq!(waits(ClientAuthentication::Require, Some(&file)), None);
    assert_eq!(waits(ClientAuthentication::Observe, None), None);
}

/// Waits for ten reads at most, in the test's time.
async fn until(mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..10 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("it has not come about");
}

#[tokio::test(start_paused = true)]
async fn a_file_is_reloaded_when_its_content_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    let (old, new) = (Signer::es256("old"), Signer::es256("new"));
    std::fs::write(&file, set(&[&old])).unwrap();
    let (keys, follow) = keys::of_file(&file).unwrap();
    let follow = tokio::spawn(follow);
    let tokens = tokens(keys);
    assert_eq!(tokens.verify(&new.sign(&claims())).await, Err(CredentialError::UnknownKey));
    std::fs::write(&file, set(&[&new])).unwrap();
    until(async || tokens.verify(&new.sign(&claims())).await == Ok(())).await;
    assert_eq!(tokens.verify(&old.sign(&claims())).await, Err(CredentialError::UnknownKey));

    // A file that is half written or deleted changes nothing.
    std::fs::write(&file, "{").unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(tokens.verify(&new.sign(&claims())).await, Ok(()));
    std::fs::remove_file(&file).unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(tokens.verify(&new.sign(&claims())).await, Ok(()));
    std::fs::write(&file, set(&[&old])).unwrap();
    until(async || tokens.verify(&old.sign(&claims())).await == Ok(())).await;
    follow.abort();
}
