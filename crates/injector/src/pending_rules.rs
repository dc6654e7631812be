//! Rules that another replica may have already, and that calls on this replica wait for.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::Snapshot;

/// Replicas hear of a change within milliseconds of each other, and compile it for longer.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// The number of hashes that are remembered. A new hash takes the place of the oldest one.
const MAX_HASHES: usize = 16;
/// The length of a hash of rules.
const HASH_LENGTH: usize = 12;

/// The hashes that calls waited for since the rules in force changed last. A hash is read from the object, which may be a
/// copy of an old one: a call waits at most two seconds for a hash, and later calls do not wait for that hash again.
#[derive(Default)]
pub(crate) struct PendingRules(Mutex<Waits>);

#[derive(Default)]
struct Waits {
    /// The sequence number of the newest rules that a call started with.
    newest: u64,
    /// Each hash with the start of its wait, the oldest first.
    hashes: VecDeque<(String, Instant)>,
}

impl PendingRules {
    /// The instant until which a call waits for the rules of `hash`; [`None`] if the call does not wait. `in_force` is the
    /// snapshot that the call started with. Only newer rules than all before clear the hashes: a call that started before
    /// a reload must not restart the waits of the calls after it.
    pub(crate) fn wait_until(&self, hash: &str, in_force: &Snapshot) -> Option<Instant> {
        if hash.len() != HASH_LENGTH || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let now = Instant::now();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if in_force.sequence > state.newest {
            *state = Waits { newest: in_force.sequence, hashes: VecDeque::new() };
        }
        if let Some((_, since)) = state.hashes.iter().find(|(known, _)| known == hash) {
            return Some(*since + MAX_WAIT).filter(|end| *end > now);
        }
        if state.hashes.len() >= MAX_HASHES {
            state.hashes.pop_front();
        }
        state.hashes.push_back((hash.to_owned(), now));
        Some(now + MAX_WAIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789ab";

    /// Two snapshots with different rules, the second of which replaced the first.
    fn snapshots() -> [Snapshot; 2] {
        let rules = "{apiVersion: vestibule.dev/v1alpha1, kind: Injection, metadata: {name: a}, spec: {optIn: pod, pod: {labels: {a: b}}}}";
        let first = Snapshot::new(vestibule_rules::RuleSet::default());
        let second = Snapshot::new(crate::compile([("rules.yaml", rules)]).unwrap()).after(&first);
        [first, second]
    }

    #[tokio::test(start_paused = true)]
    async fn a_hash_is_waited_for_once_until_a_newer_snapshot_is_in_force() {
        let ([first, second], pending, start) = (snapshots(), PendingRules::default(), Instant::now());
        assert_eq!(pending.wait_until(HASH, &first), Some(start + MAX_WAIT));
        tokio::time::advance(MAX_WAIT / 2).await;
        assert_eq!(pending.wait_until(HASH, &first), Some(start + MAX_WAIT), "the first call sets the end");
        tokio::time::advance(MAX_WAIT / 2).await;
        assert_eq!(pending.wait_until(HASH, &first), None);
        assert!(pending.wait_until(HASH, &second).is_some());
        for no_hash in ["", "0123", "no hash at a", "0123456789abc"] {
            assert_eq!(pending.wait_until(no_hash, &second), None, "{no_hash}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reload_that_changes_no_rules_does_not_restart_a_wait() {
        let ([first, _], pending) = (snapshots(), PendingRules::default());
        assert!(pending.wait_until(HASH, &first).is_some());
        tokio::time::advance(MAX_WAIT).await;
        assert_eq!(pending.wait_until(HASH, &first.clone().after(&first)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_with_an_older_snapshot_does_not_restart_the_waits_of_a_newer_one() {
        let ([first, second], pending) = (snapshots(), PendingRules::default());
        assert!(pending.wait_until(HASH, &second).is_some());
        tokio::time::advance(MAX_WAIT).await;
        assert_eq!(pending.wait_until(HASH, &first), None);
        assert_eq!(pending.wait_until(HASH, &second), None);
    }

    #[tokio::test(start_paused = true)]
    async fn invented_hashes_neither_switch_off_the_wait_nor_fill_memory() {
        let ([first, _], pending) = (snapshots(), PendingRules::default());
        for number in 0..1_000 {
            pending.wait_until(&format!("{number:012x}"), &first);
        }
        assert!(pending.wait_until(HASH, &first).is_some());
        assert_eq!(pending.0.lock().unwrap().hashes.len(), MAX_HASHES);
    }
}
