//! The public keys of an issuer of tokens.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Header};
use kube::Client;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};

use super::file::ReloadedFile;
use super::settings::ClientError;

/// The path at which the API server publishes the keys of its ServiceAccount tokens.
const PUBLISHED: &str = "/openid/v1/jwks";

/// The time between two reads. API servers rotate their keys a few times a year, at any time.
const REFRESH: Duration = Duration::from_secs(5 * 60);
/// The shortest time between two requests, however many tokens with unknown keys come.
const PACE: Duration = Duration::from_secs(10);
/// The same, while there is no key at all.
const PACE_WITHOUT_KEYS: Duration = Duration::from_secs(1);
/// The timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long a token with an unknown key waits for that key. This is part of the call's time, even if clients are only observed. A
/// key that comes later serves the next call.
const UNKNOWN_KEY_WAIT: Duration = Duration::from_millis(250);

/// The known keys, and a way to request unknown ones.
pub(crate) struct Keys {
    known: ArcSwap<Vec<Key>>,
    /// The time from which keys may be requested again; [`None`] if they come from a file.
    next: Option<watch::Sender<Instant>>,
    wanted: Notify,
}

/// A key of the issuer.
#[derive(Clone)]
pub(super) struct Key {
    id: Option<String>,
    algorithm: Option<Algorithm>,
    pub(super) key: DecodingKey,
}

/// The keys in a file, and a future that reloads them.
pub(super) fn of_file(
    path: &Path,
) -> Result<(Arc<Keys>, impl Future<Output = ()> + Send + use<>), ClientError> {
    let file = ReloadedFile::open("the keys of the token issuer", path)?;
    let first = read(file.content()).map_err(|why| file.unusable(why))?;
    let keys = Arc::new(Keys { known: ArcSwap::from_pointee(first), next: None, wanted: Notify::new() });
    let reloaded = Arc::clone(&keys);
    let follow = file.follow(move |content| {
        reloaded.known.store(Arc::new(read(content)?));
        Ok(())
    });
    Ok((keys, follow))
}

/// The keys that the API server publishes, none at first, and a future that reads them. While the API server is out of reach, the
/// known keys stay in use.
pub(super) fn of_cluster(client: Client) -> (Arc<Keys>, impl Future<Output = ()> + Send + use<>) {
    let next = Some(watch::Sender::new(Instant::now()));
    let keys = Arc::new(Keys { known: ArcSwap::default(), next, wanted: Notify::new() });
    let reloaded = Arc::clone(&keys);
    let follow = async move {
        let mut last_error = None;
        loop {
            let published = published(&client).await;
            match &published {
                Ok(keys) if !reloaded.is_known(keys) => {
                    tracing::info!(keys = keys.len(), "the keys of the token issuer were read");
                }
                Err(why) if last_error.as_ref() != Some(why) => {
                    tracing::warn!(
                        why,
                        "the API server does not tell the keys of its tokens; those from before stay"
                    );
                }
                _ => {}
            }
            last_error = published.map(|keys| reloaded.known.store(Arc::new(keys))).err();
            reloaded.wait(last_error.is_none()).await;
        }
    };
    (keys, follow)
}

async fn published(client: &Client) -> Result<Vec<Key>, String> {
    let request = http::Request::get(PUBLISHED).body(Vec::new()).map_err(|error| error.to_string())?;
    let answer = timeout(TIMEOUT, client.request_text(request)).await;
    let answer = answer.map_err(|_| format!("no answer within {} s", TIMEOUT.as_secs()))?;
    read(answer.map_err(|error| error.to_string())?.as_bytes())
}

impl Keys {
    /// The keys that may have signed a token with this header: several if it names no key. An unknown key is requested, unless keys
    /// come from a file or were just requested.
    pub(super) async fn of(&self, header: &Header) -> Vec<Key> {
        let known = self.find(header);
        let Some(next) = self.next.as_ref().filter(|_| known.is_empty()) else { return known };
        let mut next = next.subscribe();
        if Instant::now() < *next.borrow_and_update() {
            // The key may have come since the first look.
            return self.find(header);
        }
        self.wanted.notify_one();
        // The result of the wait does not matter: the second look decides.
        let _ = timeout(UNKNOWN_KEY_WAIT, next.changed()).await;
        self.find(header)
    }

    /// Requests the keys again, within the [`PACE`]: none of the known ones has signed a token that names no key.
    pub(super) fn request(&self) {
        self.wanted.notify_one();
    }

    /// Whether there is no key yet; readiness waits for the first.
    pub(crate) fn are_missing(&self) -> bool {
        self.known.load().is_empty()
    }

    fn find(&self, header: &Header) -> Vec<Key> {
        self.known.load().iter().filter(|key| key.is_for(header)).cloned().collect()
    }

    fn is_known(&self, keys: &[Key]) -> bool {
        let known = self.known.load();
        known.len() == keys.len() && known.iter().zip(keys).all(|(one, other)| one.id == other.id)
    }

    /// Waits until the keys are due again, or a token needs an unknown key.
    async fn wait(&self, all_is_well: bool) {
        let pace = if self.known.load().is_empty() { PACE_WITHOUT_KEYS } else { PACE };
        if let Some(next) = &self.next {
            next.send_replace(Instant::now() + pace);
        }
        sleep(pace).await;
        let period = if all_is_well { REFRESH } else { Duration::ZERO };
        // The timeout and the notification both end the wait.
        let _ = timeout(period, self.wanted.notified()).await;
    }
}

impl Key {
    fn is_for(&self, header: &Header) -> bool {
        let same_id = header.kid.is_none() || self.id == header.kid;
        same_id && self.algorithm.is_none_or(|algorithm| algorithm == header.alg)
    }
}

/// The keys of a JSON Web Key Set (RFC 7517) that can verify signatures. Others are skipped.
fn read(set: &[u8]) -> Result<Vec<Key>, String> {
    let set: JwkSet =
        serde_json::from_slice(set).map_err(|error| format!("it is no JSON Web Key Set: {error}"))?;
    let keys: Vec<_> = set.keys.iter().filter_map(usable).collect();
    if keys.is_empty() {
        return Err("there is no public key of RSA or of the curves P-256 and P-384".to_owned());
    }
    Ok(keys)
}

fn usable(jwk: &Jwk) -> Option<Key> {
    let signs = jwk.common.public_key_use.as_ref().is_none_or(|purpose| *purpose == PublicKeyUse::Signature);
    // A shared secret is no public key: every holder could sign tokens with it.
    let is_public = !matches!(jwk.algorithm, AlgorithmParameters::OctetKey(_));
    let algorithm = jwk.common.key_algorithm.map(Algorithm::try_from).transpose().ok()?;
    let key = DecodingKey::from_jwk(jwk).ok()?;
    (signs && is_public).then(|| Key { id: jwk.common.key_id.clone(), algorithm, key })
}
