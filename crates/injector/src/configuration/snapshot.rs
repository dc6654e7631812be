//! What is in force at one moment.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use vestibule_rules::{Mode, RuleSet};

use super::Finding;

/// All rules as they are in force together: every call is decided by one of these, from its first byte to its last.
#[derive(Clone)]
pub struct Snapshot {
    rules: Arc<RuleSet>,
    state: State,
    findings: Arc<[Finding]>,
    since: Option<SystemTime>,
    former: Arc<[Former]>,
    sequence: u64,
}

/// Rules that were in force, and until when.
#[derive(Clone)]
struct Former {
    rules: Arc<RuleSet>,
    until: Instant,
}

/// How long an API server waits for one webhook at most: a create that began by former rules is over then.
const CREATE: Duration = Duration::from_secs(30);
/// How many former rules are known.
const MOST_FORMER: usize = 8;

/// How the rules in force stand to the newest texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Nothing good has been read yet: there are no rules, and nobody should be answered by them.
    Waiting,
    /// The rules are those of the newest texts.
    Current,
    /// Something in the newest texts is wrong, and what was good before is in force in its place.
    LastGood,
}

impl Snapshot {
    /// A snapshot of `rules` with which all is well.
    pub fn new(rules: RuleSet) -> Self {
        let findings = rules.warnings().iter().cloned().map(Finding::from).collect();
        Self { rules: Arc::new(rules), state: State::Current, findings, since: None, former: Arc::default(), sequence: 0 }
    }

    /// All rules.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// How the rules stand to the newest texts.
    pub fn state(&self) -> State {
        self.state
    }

    /// What was found in the newest texts, warnings among it.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// When the newest texts were last all good; nothing for rules that never change.
    pub fn since(&self) -> Option<SystemTime> {
        self.since
    }

    /// The number of snapshots that were in force before this one in this process.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(super) fn waiting(findings: Vec<Finding>) -> Self {
        Self { state: State::Waiting, findings: findings.into(), ..Self::new(RuleSet::default()) }
    }

    /// The same rules, which are in force although `findings` say what is wrong with the newest texts.
    pub(super) fn instead_of(self, findings: Vec<Finding>, since: Option<SystemTime>) -> Self {
        Self { state: State::LastGood, findings: findings.into(), since, ..self }
    }

    /// The rules to decide by about an object that those of this hash have changed: whoever switches all changes off, means these
    /// too.
    pub(crate) fn to_go_on(&self, hash: &str) -> &RuleSet {
        match self.rules.settings().mode() {
            Mode::On => self.of_hash(hash).unwrap_or(&self.rules),
            Mode::Observe | Mode::Off => &self.rules,
        }
    }

    /// The rules of this hash, if they are in force or were a moment ago.
    pub(crate) fn of_hash(&self, hash: &str) -> Option<&RuleSet> {
        let known = self.former.iter().filter(|former| former.until.elapsed() < CREATE);
        let mut known = std::iter::once(&self.rules).chain(known.map(|former| &former.rules));
        known.find(|rules| rules.hash() == hash).map(|rules| &**rules)
    }

    /// The same, which comes after `last`.
    pub(crate) fn after(self, last: &Self) -> Self {
        let now = Instant::now();
        let last_rules =
            (last.state != State::Waiting).then(|| Former { rules: Arc::clone(&last.rules), until: now });
        let former = last_rules.into_iter().chain(last.former.iter().cloned());
        let former = former.filter(|former| former.rules.hash() != self.rules.hash()).take(MOST_FORMER);
        Self { former: former.collect(), sequence: last.sequence + 1, ..self }
    }

    pub(super) fn at(self, now: SystemTime) -> Self {
        Self { since: Some(now), ..self }
    }
}

/// `hash 3f2a91c07b1e, rules: 3; wrong in the newest texts: VST0110, VST0116`.
impl fmt::Display for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state {
            State::Waiting => formatter.write_str("no rules yet")?,
            State::Current | State::LastGood => {
                write!(formatter, "hash {}, rules: {}", self.rules().hash(), self.rules().rules().len())?;
            }
        }
        let errors: Vec<_> = self.findings.iter().filter(|it| it.is_error()).map(Finding::code).collect();
        match (self.state, errors.len()) {
            (State::Current, _) | (_, 0) => Ok(()),
            _ => write!(formatter, "; wrong in the newest texts: {}", errors.join(", ")),
        }
    }
}
