//! The rules and guards that can be switched off.

use std::fmt;

use vestibule_pki::ring::{
    Action, AuthorityState, Blocked, Change, Facts, Moment, Observations, Policy, RingFacts, Rule,
};

/// A part of the protocol that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// A rule, by the policy's own switch.
    Rule(Rule),
    /// A guard within a rule, by a replica that deviates from `step`, or by a span of zero.
    Guard(Guard),
}

/// A guard that is part of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guard {
    /// Configurations are read again before something is decided for good.
    Recheck,
    /// Before the first leaf, a configuration that was read before the ring is read again (rule S2).
    LastLook,
    /// A new ring takes over what configurations trust (rule G2).
    CarryOver,
    /// After a revocation, replicas are given time to leave the stolen CA.
    SwitchWait,
    /// Restoring a ring asks for a rotation only once in a while.
    RestorePause,
    /// No promotion while the last one's predecessor is still needed: a chain has one cross certificate.
    OneCrossSignature,
    /// A bundle that holds more than its CAs is written anew.
    CanonicalBundle,
    /// The ring remembers which CAs were revoked.
    RevokedMemory,
    /// A leaf that ended is not replaced by just any at once.
    LeafPatience,
    /// A foreign CA goes when no leaf of its can be alive, even if its successor is not known everywhere.
    Deadline,
    /// The carrier writes the Secret over the version that it read, and over no other (rule W1).
    CompareAndSwap,
    /// An absent configuration counts like one that refuses our writes (rule L2).
    Absence,
    /// But only when API servers have had time to hear that it is absent.
    AbsencePause,
    /// A replica that has watched a rewritten configuration for long begins all the same (rule S2).
    QuietDeadline,
    /// A CA or a leaf that is not valid yet is replaced.
    NotYetValid,
    /// A clock that is off does not block the last promotion.
    LastPromotion,
    /// A bundle that others wiped is published again under a newer version's ring.
    NewerPublish,
    /// A mark that is accepted and removed each time is written once.
    Stripped,
    /// CAs that the ring never made are not taken over from configurations.
    Unknown,
    /// A CA that is kept for a migration stays where it was found.
    InPlace,
    /// Replicas that know a CA which would be dropped are given time to name it.
    ContestWait,
}

impl Mutation {
    /// The missing rule or guard, in words that end the sentence "Without ...".
    #[must_use]
    pub fn says(self) -> &'static str {
        match self {
            Self::Rule(Rule::W2) => "the order of reading: configuration first, then ring",
            Self::Rule(Rule::W3) => "publishing no ring older than the configurations' annotations show",
            Self::Rule(Rule::H1) => "a hold: the wait until every API server knows a CA",
            Self::Rule(Rule::P1) => "promotion only of a CA that is held in every configuration now",
            Self::Rule(Rule::P2) => "the cross certificate",
            Self::Rule(Rule::S1) => "leaves only of an active CA that API servers know",
            Self::Rule(Rule::S2) => "the wait for unchanged configurations before the first leaf",
            Self::Rule(Rule::S3) => {
                "the lease: no leaf outlives the last reading of the ring by more than its life"
            }
            Self::Rule(Rule::D1) => "removal of a CA only after its leaves have expired",
            Self::Rule(Rule::G1) => "keeping the CAs of both rings if the ring was replaced",
            Self::Rule(Rule::G2) => "restoring a lost ring from memory",
            Self::Rule(Rule::E1) => {
                "keeping a valid leaf, and after its expiry presenting any available leaf"
            }
            Self::Rule(Rule::C1) => "using the API server's clock",
            Self::Rule(Rule::L1) => "replacing a CA near its end although its successor is not held",
            Self::Rule(Rule::L2) => {
                "not waiting for a configuration that refuses writes and trusts no CA of ours"
            }
            Self::Guard(Guard::Recheck) => "reading again before an irreversible decision",
            Self::Guard(Guard::LastLook) => {
                "reading configurations again that were read before the ring (in S2)"
            }
            Self::Guard(Guard::CarryOver) => "taking the CAs of configurations into a new ring (in G2)",
            Self::Guard(Guard::SwitchWait) => "time for replicas to leave a stolen CA (in D1)",
            Self::Guard(Guard::RestorePause) => "a pause between rotations after deletions (in G2)",
            Self::Guard(Guard::CanonicalBundle) => "rewriting bundles with text that is no CA (in W2)",
            Self::Guard(Guard::RevokedMemory) => "remembering which CAs were revoked (in G1)",
            Self::Guard(Guard::LeafPatience) => {
                "time for a new CA to become known when a leaf has ended (in E1)"
            }
            Self::Guard(Guard::Deadline) => "a limit to the wait for a stolen CA's successor (in D1)",
            Self::Guard(Guard::CompareAndSwap) => "compare-and-swap of the ring (W1)",
            Self::Guard(Guard::Absence) => "not waiting for a configuration that is absent (in L2)",
            Self::Guard(Guard::AbsencePause) => {
                "time for API servers to learn that a configuration is absent (in L2)"
            }
            Self::Guard(Guard::QuietDeadline) => "a limit to the wait for an unchanged configuration (in S2)",
            Self::Guard(Guard::NotYetValid) => "replacing a CA and a leaf that are not valid yet (in E1)",
            Self::Guard(Guard::LastPromotion) => "a last promotion although a clock is off (in L1)",
            Self::Guard(Guard::NewerPublish) => "publishing a newer version's ring (in W2)",
            Self::Guard(Guard::Stripped) => "writing a removed mark only once (in W2)",
            Self::Guard(Guard::Unknown) => "taking over no CA that the ring never made",
            Self::Guard(Guard::InPlace) => "keeping an imported CA in the one place where it was found",
            Self::Guard(Guard::ContestWait) => "time for replicas to name a CA that would be dropped",
            Self::Guard(Guard::OneCrossSignature) => {
                "waiting for the end of the last rotation (in P1 and L1)"
            }
        }
    }

    /// Whether the caller of `step` keeps the rule. The model has a caller of its own, which only imitates the shipped one.
    #[must_use]
    pub fn is_of_the_carrier(self) -> bool {
        self == Self::Guard(Guard::CompareAndSwap)
    }
}

impl Guard {
    /// Changes the ring to what a replica without this guard would see.
    pub(crate) fn hides(self, ring: &mut RingFacts) {
        let RingFacts::Known(facts) = ring else { return };
        if self == Self::InPlace {
            facts.made.extend(facts.authorities.iter().filter(|ca| ca.is_foreign()).map(|ca| ca.id));
        }
        if self == Self::NotYetValid {
            facts.authorities.iter_mut().for_each(|ca| ca.not_before = Moment(0));
        }
        let is_known = facts.active().is_some_and(|active| active.held.is_some());
        for ca in &mut facts.authorities {
            match (self, ca.state) {
                (Self::OneCrossSignature, AuthorityState::Retired { until }) => {
                    ca.state = AuthorityState::Foreign { until };
                }
                (Self::Deadline, AuthorityState::Foreign { .. }) if !is_known => {
                    ca.state = AuthorityState::Foreign { until: Moment(u64::MAX) };
                }
                _ => {}
            }
        }
    }

    /// Changes the observations to those of a replica without this guard.
    pub(crate) fn falsifies(self, seen: &mut Observations, now: Moment) {
        match (self, &mut seen.leaf) {
            (Self::LeafPatience, Some(leaf)) if leaf.not_after < now => leaf.not_after = Moment(0),
            (Self::NotYetValid, Some(leaf)) => leaf.not_before = Moment(0),
            (Self::QuietDeadline, _) => seen.begun = None,
            (Self::ContestWait, _) => seen.contested = Some(Moment(0)),
            _ => {}
        }
        for configuration in &mut seen.configurations {
            match self {
                Self::Absence => configuration.absent = None,
                Self::AbsencePause => configuration.absent = configuration.absent.map(|_| Moment(0)),
                Self::Stripped => configuration.stripped = None,
                _ => {}
            }
        }
    }

    /// Changes the action to that of a replica without this guard.
    pub(crate) fn replaces(
        self,
        action: &mut Action,
        (ring, seen): (&RingFacts, &Observations),
        policy: &Policy,
    ) {
        let is_newer = matches!(ring, RingFacts::Newer(_));
        let is_off = seen.offset.unsigned_abs() > policy.skew.as_secs();
        match (self, &mut *action) {
            (Self::CarryOver, Action::WriteRing(Change::Create { trust, imported })) => {
                trust.clear();
                imported.clear();
            }
            (Self::LastPromotion, Action::WriteRing(Change::Promote)) if is_off => {
                *action = Action::Report(Blocked::Clock);
            }
            // Below a CA that is not valid yet, no leaf is.
            (Self::NotYetValid, Action::SignLeaf(leaf)) => {
                let begin = ring.facts().and_then(Facts::active).map(|active| active.not_before);
                leaf.not_before = leaf.not_before.max(begin.unwrap_or(Moment(0)));
            }
            (Self::NewerPublish, Action::PublishBundle(_) | Action::ReadRing) if is_newer => {
                *action = Action::Report(Blocked::NewerSchema);
            }
            _ => {}
        }
    }
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "{rule:?}"),
            Self::Guard(guard) => write!(f, "{guard:?}"),
        }
    }
}
