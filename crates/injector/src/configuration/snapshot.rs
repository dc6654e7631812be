//! The rules in force at one moment.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use vestibule_rules::{Mode, Rule, RuleSet};

use super::finding::Finding;
use super::namespaced::NamespacedSnapshot;

/// All rules that are in force together. Every call is decided by one snapshot, from its first byte to its last.
#[derive(Clone)]
pub struct Snapshot {
    rules: Arc<RuleSet>,
    state: SnapshotState,
    findings: Arc<[Finding]>,
    since: Option<SystemTime>,
    former: Arc<[Former]>,
    /// The number of times that the rules in force have changed in this process.
    pub(crate) sequence: u64,
    /// The rules of namespaces.
    pub(crate) namespaced: NamespacedSnapshot,
}

/// Rules that were in force before.
#[derive(Clone)]
struct Former {
    rules: Arc<RuleSet>,
    replaced_at: Instant,
}

/// The longest time that an API server waits for one webhook. A create that started under former rules is over by then.
const MAX_CREATE_TIME: Duration = Duration::from_secs(30);
/// The number of former rule sets that are kept.
const MAX_FORMER: usize = 8;

/// Whether the rules in force are those of the newest texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotState {
    /// No good rules have been read yet, and no call should be decided.
    Waiting,
    /// The rules are those of the newest texts.
    Current,
    /// A document in the newest texts is wrong, and its last good version is in force.
    LastGood,
}

impl Snapshot {
    /// A snapshot of rules without errors.
    pub fn new(rules: RuleSet) -> Self {
        let findings = rules.warnings().iter().cloned().map(Finding::from).collect();
        let namespaced = NamespacedSnapshot::new(&rules);
        Self {
            rules: Arc::new(rules),
            state: SnapshotState::Current,
            findings,
            since: None,
            former: Arc::default(),
            sequence: 0,
            namespaced,
        }
    }

    /// The rules of the cluster.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// The rules of the cluster, then the rules of namespaces.
    pub(crate) fn all_rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.rules().iter().chain(self.namespaced.rules.iter())
    }

    /// A hash of all rules, those of namespaces included.
    pub(crate) fn hash(&self) -> String {
        self.namespaced.rules.hash_with(self.rules.hash())
    }

    /// Whether the rules are those of the newest texts.
    pub fn state(&self) -> SnapshotState {
        self.state
    }

    /// The findings in the newest texts, with warnings.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The time at which the newest texts were last all good; [`None`] for rules that never change.
    pub fn since(&self) -> Option<SystemTime> {
        self.since
    }

    pub(super) fn waiting(findings: Vec<Finding>) -> Self {
        Self { state: SnapshotState::Waiting, findings: findings.into(), ..Self::new(RuleSet::default()) }
    }

    /// The same rules, in force in the place of texts with the errors `findings`.
    pub(super) fn instead_of(self, findings: Vec<Finding>, since: Option<SystemTime>) -> Self {
        Self { state: SnapshotState::LastGood, findings: findings.into(), since, ..self }
    }

    /// The rules to decide by about an object that was already changed by the rules of `hash`. In the modes `observe` and
    /// `off` they are those in force: such a mode switches former rules off too.
    pub(crate) fn rules_to_continue(&self, hash: &str) -> &RuleSet {
        match self.rules.settings().mode {
            Mode::On => self.of_hash(hash).unwrap_or(&self.rules),
            Mode::Observe | Mode::Off => &self.rules,
        }
    }

    /// The rules of this hash, if they are in force or were a moment ago.
    pub(crate) fn of_hash(&self, hash: &str) -> Option<&RuleSet> {
        let known = self.former.iter().filter(|former| former.replaced_at.elapsed() < MAX_CREATE_TIME);
        let mut known = std::iter::once(&self.rules).chain(known.map(|former| &former.rules));
        known.find(|rules| rules.hash() == hash).map(|rules| &**rules)
    }

    /// The same snapshot as the successor of `last`.
    pub(crate) fn after(self, last: &Self) -> Self {
        let now = Instant::now();
        let last_rules = (last.state != SnapshotState::Waiting)
            .then(|| Former { rules: Arc::clone(&last.rules), replaced_at: now });
        let former = last_rules.into_iter().chain(last.former.iter().cloned());
        let former = former.filter(|former| former.rules.hash() != self.rules.hash()).take(MAX_FORMER);
        let sequence = last.sequence + u64::from(self.rules.hash() != last.rules.hash());
        Self { former: former.collect(), sequence, ..self }
    }

    pub(super) fn with_namespaced(self, namespaced: NamespacedSnapshot) -> Self {
        Self { namespaced, ..self }
    }

    pub(super) fn at(self, now: SystemTime) -> Self {
        Self { since: Some(now), ..self }
    }
}

/// `hash 3f2a91c07b1e, rules: 3; wrong in the newest texts: VST0110, VST0116`.
impl fmt::Display for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state {
            SnapshotState::Waiting => formatter.write_str("no rules yet")?,
            SnapshotState::Current | SnapshotState::LastGood => {
                write!(formatter, "hash {}, rules: {}", self.rules().hash(), self.rules().rules().len())?;
            }
        }
        let errors: Vec<_> = self.findings.iter().filter(|it| it.is_error()).map(Finding::code).collect();
        match (self.state, errors.len()) {
            (SnapshotState::Current, _) | (_, 0) => Ok(()),
            _ => write!(formatter, "; wrong in the newest texts: {}", errors.join(", ")),
        }
    }
}
