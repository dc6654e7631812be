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

use super::ClientError;
use super::file::Followed;

/// Where the API server publishes the keys of its ServiceAccount tokens.
const PUBLISHED: &str = "/openid/v1/jwks";

/// The API server may rotate its keys at any time, and does so some times a year.
const REFRESH: Duration = Duration::from_secs(5 * 60);
/// Between two requests, whoever sends tokens of whatever key.
const PACE: Duration = Duration::from_secs(10);
/// The same, as long as there is no key at all.
const FIRST_PACE: Duration = Duration::from_secs(1);
/// For one request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long a token with an unknown key may wait for it. The call's own time pays for it, also where clients are only
/// observed; what comes later is there for the next one.
const PATIENCE: Duration = Duration::from_millis(250);

/// The keys as they are known now, and a way to ask for those that are not.
pub(super) struct Keys {
    known: ArcSwap<Vec<Key>>,
    /// Where they can be asked for: the next time when.
    next: Option<watch::Sender<Instant>>,
    wanted: Notify,
}

/// One of them.
#[derive(Clone)]
pub(super) struct Key {
    id: Option<String>,
    algorithm: Option<Algorithm>,
    pub(super) key: DecodingKey,
}

/// The keys in a file, and what keeps them as they are there.
pub(super) fn of_file(
    path: &Path,
) -> Result<(Arc<Keys>, impl Future<Output = ()> + Send + use<>), ClientError> {
    let file = Followed::open("the keys of the token issuer", path)?;
    let first = read(file.content()).map_err(|why| file.unusable(why))?;
    let keys = Arc::new(Keys { known: ArcSwap::from_pointee(first), next: None, wanted: Notify::new() });
    let kept = Arc::clone(&keys);
    let follow = file.follow(move |content| {
        kept.known.store(Arc::new(read(content)?));
        Ok(())
    });
    Ok((keys, follow))
}

/// The keys that the API server publishes, none at first, and what keeps them so. Those that are known stay when it is out
/// of reach.
pub(super) fn of_cluster(client: Client) -> (Arc<Keys>, impl Future<Output = ()> + Send + use<>) {
    let next = Some(watch::Sender::new(Instant::now()));
    let keys = Arc::new(Keys { known: ArcSwap::default(), next, wanted: Notify::new() });
    let kept = Arc::clone(&keys);
    let follow = async move {
        let mut trouble = None;
        loop {
            let published = published(&client).await;
            match &published {
                Ok(keys) if !kept.is_known(keys) => {
                    tracing::info!(keys = keys.len(), "the keys of the token issuer were read");
                }
                Err(why) if trouble.as_ref() != Some(why) => {
                    tracing::warn!(
                        why,
                        "the API server does not tell the keys of its tokens; those from before stay"
                    );
                }
                _ => {}
            }
            trouble = published.map(|keys| kept.known.store(Arc::new(keys))).err();
            kept.rest(trouble.is_none()).await;
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
    /// The key that a token with this header is signed with. One that is not known is asked for, if it can be and was not
    /// just now.
    pub(super) async fn of(&self, header: &Header) -> Option<Key> {
        if let Some(key) = self.find(header) {
            return Some(key);
        }
        let mut next = self.next.as_ref()?.subscribe();
        if Instant::now() < *next.borrow_and_update() {
            // It may have come since the first look.
            return self.find(header);
        }
        self.wanted.notify_one();
        // Whatever comes of it, the key is there now or it is not.
        let _ = timeout(PATIENCE, next.changed()).await;
        self.find(header)
    }

    /// What readiness waits for.
    pub(super) fn are_missing(&self) -> bool {
        self.known.load().is_empty()
    }

    fn find(&self, header: &Header) -> Option<Key> {
        self.known.load().iter().find(|key| key.is_for(header)).cloned()
    }

    fn is_known(&self, keys: &[Key]) -> bool {
        let known = self.known.load();
        known.len() == keys.len() && known.iter().zip(keys).all(|(one, other)| one.id == other.id)
    }

    /// Until it is time to look again, or somebody wants to know.
    async fn rest(&self, all_is_well: bool) {
        let pace = if self.known.load().is_empty() { FIRST_PACE } else { PACE };
        if let Some(next) = &self.next {
            next.send_replace(Instant::now() + pace);
        }
        sleep(pace).await;
        let rest = if all_is_well { REFRESH } else { Duration::ZERO };
        // Either ends it.
        let _ = timeout(rest, self.wanted.notified()).await;
    }
}

impl Key {
    fn is_for(&self, header: &Header) -> bool {
        let same_id = header.kid.is_none() || self.id == header.kid;
        same_id && self.algorithm.is_none_or(|algorithm| algorithm == header.alg)
    }
}

/// Those of a JSON Web Key Set (RFC 7517) that can verify signatures. Others are passed over.
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
    // A shared secret is no public key: whoever knows it could write tokens.
    let is_public = !matches!(jwk.algorithm, AlgorithmParameters::OctetKey(_));
    let algorithm = jwk.common.key_algorithm.map(Algorithm::try_from).transpose().ok()?;
    let key = DecodingKey::from_jwk(jwk).ok()?;
    (signs && is_public).then(|| Key { id: jwk.common.key_id.clone(), algorithm, key })
}
