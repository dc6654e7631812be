//! Whether the API server calls the injector for the rules in force.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::{Api, Client};
use serde_json::Value;
use tokio::time::Instant;
use vestibule::identity::{Desired, RegistrationKind};
use vestibule::tooling::Entries;

use crate::deadline::with_timeout;

/// An API server learns by a watch of a webhook configuration that was stored. It calls the injector for new entries after this time.
const WATCH_DELAY: Duration = Duration::from_secs(1);

/// The time after which the API server is asked again for entries that it had: another client may delete them.
const RECHECK_INTERVAL: Duration = Duration::from_secs(60);
/// Entries that are missing for longer will not be there soon: a deleted webhook configuration is not created again.
const SOON: Duration = Duration::from_secs(30);

/// The rules for which the API server was last seen to have all entries.
#[derive(Default)]
pub(crate) struct Registered {
    /// The hash of these rules, and when their entries were last seen.
    seen: Option<(String, Instant)>,
    /// [`None`] unless entries were missing.
    missing: Option<Missing>,
}

struct Missing {
    since: Instant,
    /// When the entries were first seen to be stored.
    stored: Option<Instant>,
}

impl Registered {
    /// Whether the API server calls the injector for the rules of `hash`, whose entries are `entries`.
    pub(super) async fn check(&mut self, hash: &str, client: &Client, entries: &Entries) -> bool {
        if self.has_seen(hash).is_some_and(|at| at.elapsed() < RECHECK_INTERVAL) {
            return true;
        }
        let are_stored = are_stored(client, entries).await;
        self.answered(hash, are_stored, Instant::now())
    }

    /// Whether the entries will probably be there soon.
    pub(super) fn is_awaited(&self) -> bool {
        self.missing
            .as_ref()
            .is_some_and(|missing| missing.stored.is_some() || missing.since.elapsed() < SOON)
    }

    /// `are_stored` is [`None`] without an answer of the API server.
    fn answered(&mut self, hash: &str, are_stored: Option<bool>, now: Instant) -> bool {
        match are_stored {
            None if self.has_seen(hash).is_some() => return true,
            None | Some(false) => {
                let since = self.missing.as_ref().map_or(now, |missing| missing.since);
                (self.seen, self.missing) = (None, Some(Missing { since, stored: None }));
                return false;
            }
            Some(true) => {}
        }
        let stored = self.missing.as_mut().map(|missing| *missing.stored.get_or_insert(now));
        let is_known = stored.is_none_or(|stored| now - stored >= WATCH_DELAY);
        if is_known {
            (self.seen, self.missing) = (Some((hash.to_owned(), now)), None);
        }
        is_known
    }

    /// When the API server was last seen to have the entries of these rules.
    fn has_seen(&self, hash: &str) -> Option<Instant> {
        self.seen.as_ref().filter(|(seen, _)| seen == hash).map(|(_, at)| *at)
    }
}

/// Whether every webhook configuration has the entries that it should have; [`None`] if the API server does not tell. Manifests with
/// static entries are not checked.
async fn are_stored(client: &Client, entries: &Entries) -> Option<bool> {
    let configurations = Api::<MutatingWebhookConfiguration>::all(client.clone());
    let desired = entries.desired();
    for desired in desired.iter().filter(|it| it.registration().kind == RegistrationKind::Mutating) {
        let found = with_timeout(configurations.get_opt(&desired.registration().name)).await.ok()?;
        let were_written =
            |found: &MutatingWebhookConfiguration| desired.were_written(found.metadata.annotations.as_ref());
        if !found.is_some_and(|found| has_entries(&found, desired, were_written(&found))) {
            return Some(false);
        }
    }
    Some(true)
}

/// Whether `found` has the desired entries. If they `were_written`, other programs may have changed them since, or added entries:
/// these changes stay.
fn has_entries(found: &MutatingWebhookConfiguration, desired: &Desired, were_written: Option<bool>) -> bool {
    let entries = || found.webhooks.iter().flatten();
    match were_written {
        Some(were_written) => {
            were_written && desired.names().all(|name| entries().any(|entry| entry.name == name))
        }
        None => {
            let entries: Vec<_> = entries().filter_map(|entry| serde_json::to_value(entry).ok()).collect();
            desired.entries().iter().all(|entry| entries.iter().any(|found| contains(found, entry)))
        }
    }
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
    use serde_json::json;

    use super::*;

    /// A rule was said to be in force before the API server called the injector for it.
    #[test]
    fn new_entries_count_when_the_api_server_has_seen_them() {
        let (mut registered, start) = (Registered::default(), Instant::now());
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        assert!(!registered.answered("a", Some(false), at(0)));
        assert!(!registered.answered("a", Some(true), at(200)));
        assert!(registered.has_seen("a").is_none());
        assert!(registered.answered("a", Some(true), at(1_200)));
        assert!(registered.has_seen("a").is_some());
    }

    /// After `kubectl delete mutatingwebhookconfiguration` rules were said to be in force until the rules changed.
    #[tokio::test(start_paused = true)]
    async fn entries_that_were_deleted_do_not_count() {
        let mut registered = Registered::default();
        let nowhere = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let (client, entries) = (Client::try_from(nowhere).unwrap(), Entries::of(["required"]));
        assert!(registered.check("a", &client, &entries).await);
        tokio::time::advance(RECHECK_INTERVAL).await;
        // Without an answer the entries count as before.
        assert!(registered.answered("a", None, Instant::now()));
        assert!(
            registered.has_seen("a").is_some_and(|at| at.elapsed() >= RECHECK_INTERVAL),
            "it is not asked again"
        );
        assert!(!registered.answered("a", Some(false), Instant::now()));
        assert!(!registered.answered("a", None, Instant::now()));
    }

    /// After the same, a replica that started asked the API server five times a second without end.
    #[tokio::test(start_paused = true)]
    async fn entries_that_stay_away_are_not_asked_for_in_a_tight_loop() {
        let mut registered = Registered::default();
        for _ in 0..2 {
            assert!(!registered.answered("a", Some(false), Instant::now()));
            assert!(registered.is_awaited());
            tokio::time::advance(SOON / 2).await;
        }
        assert!(!registered.answered("a", Some(false), Instant::now()));
        assert!(!registered.is_awaited());
        // When they are back, the watch of the API server is waited for.
        assert!(!registered.answered("a", Some(true), Instant::now()));
        assert!(registered.is_awaited());
        tokio::time::advance(WATCH_DELAY).await;
        assert!(registered.answered("a", Some(true), Instant::now()));
        assert!(!registered.is_awaited());
    }

    fn entry(name: &str, operators: &[&str]) -> Value {
        let expression = |operator: &&str| json!({"key": "env", "operator": operator, "values": ["dev"]});
        let expressions: Vec<Value> = operators.iter().map(expression).collect();
        json!({
            "name": name, "clientConfig": {}, "namespaceSelector": {"matchExpressions": expressions},
            "sideEffects": "None", "admissionReviewVersions": ["v1"],
        })
    }

    /// A cloud adds a selector to every webhook, or a user a condition or an entry. Rules were said not to be registered for as long as
    /// these were there.
    #[test]
    fn entries_to_which_another_program_added_something_are_stored() {
        let (restricted, plain, other) =
            (entry("required", &["In"]), entry("required", &[]), entry("other", &["In"]));
        let desired = Desired::new("mutating/x".parse().unwrap(), vec![plain.clone()]).unwrap();
        let has = |webhooks: &[&Value], were_written| {
            let found = json!({"metadata": {}, "webhooks": webhooks});
            has_entries(&serde_json::from_value(found).unwrap(), &desired, were_written)
        };
        assert!(has(&[&other, &restricted], Some(true)));
        assert!(!has(&[&other], Some(true)), "the entry was removed");
        // The rule was loosened a moment before, and the entry is the former one.
        assert!(!has(&[&restricted], Some(false)));
        // Without the annotation the entries are compared.
        assert!(has(&[&other, &plain], None) && !has(&[&restricted], None));
    }

    /// Other rules stay in force when a rule comes that needs no new entry.
    #[test]
    fn entries_that_were_never_missing_count_at_once() {
        let mut registered = Registered::default();
        assert!(registered.answered("a", Some(true), Instant::now()));
        assert!(registered.answered("b", Some(true), Instant::now()));
    }
}
