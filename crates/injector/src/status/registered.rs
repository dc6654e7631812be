//! Whether the API server calls the injector for the rules in force.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::{Api, Client};
use serde_json::Value;
use tokio::time::Instant;
use vestibule::identity::RegistrationKind;
use vestibule::tooling::Entries;

/// An API server learns by a watch of a webhook configuration that was stored. It calls the injector for new entries after this time.
const WATCH_DELAY: Duration = Duration::from_secs(1);

/// The rules for which the API server was last seen to have all entries.
#[derive(Default)]
pub(crate) struct Registered {
    hash: String,
    /// When entries were last missing.
    missing: Option<Instant>,
}

impl Registered {
    /// Whether the API server calls the injector for the rules of `hash`, whose entries are `entries`.
    pub(super) async fn check(&mut self, hash: &str, client: &Client, entries: &Entries) -> bool {
        if self.hash == hash {
            return true;
        }
        let are_stored = are_stored(client, entries).await;
        self.seen(hash, are_stored, Instant::now())
    }

    fn seen(&mut self, hash: &str, are_stored: bool, now: Instant) -> bool {
        if !are_stored {
            self.missing = Some(now);
            return false;
        }
        let is_known = self.missing.is_none_or(|missing| now - missing >= WATCH_DELAY);
        if is_known {
            hash.clone_into(&mut self.hash);
        }
        is_known
    }
}

/// Whether every webhook configuration has the entries that it should have. Manifests with static entries are not checked.
async fn are_stored(client: &Client, entries: &Entries) -> bool {
    let configurations = Api::<MutatingWebhookConfiguration>::all(client.clone());
    let desired = entries.desired();
    for desired in desired.iter().filter(|it| it.registration().kind == RegistrationKind::Mutating) {
        let Ok(found) = configurations.get(&desired.registration().name).await else { return false };
        let found = found.webhooks.iter().flatten().filter_map(|entry| serde_json::to_value(entry).ok());
        let found: Vec<Value> = found.collect();
        let is_there = |entry: &Value| found.iter().any(|found| contains(found, entry));
        if found.len() != desired.entries().len() || !desired.entries().iter().all(is_there) {
            return false;
        }
    }
    true
}

/// Whether every field of `part` has the same value in `whole`, to which the API server adds defaults and the `caBundle`.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, part)| whole.get(name).is_some_and(|whole| contains(whole, part)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| contains(whole, part))
        }
        _ => whole == part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule was said to be in force before the API server called the injector for it.
    #[test]
    fn new_entries_count_when_the_api_server_has_seen_them() {
        let (mut registered, start) = (Registered::default(), Instant::now());
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        assert!(!registered.seen("a", false, at(0)));
        assert!(!registered.seen("a", true, at(200)));
        assert!(registered.hash.is_empty());
        assert!(registered.seen("a", true, at(1_000)));
        assert_eq!(registered.hash, "a");
    }

    /// Other rules stay in force when a rule comes that needs no new entry.
    #[test]
    fn entries_that_were_never_missing_count_at_once() {
        let mut registered = Registered::default();
        assert!(registered.seen("a", true, Instant::now()));
        assert!(registered.seen("b", true, Instant::now()));
    }
}
