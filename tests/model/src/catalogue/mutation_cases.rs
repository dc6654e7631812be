//! The mutation cases: a rule or guard that is switched off, and the scenario that shows the damage.

use vestibule_pki::ring::Rule;

use super::{
    ahead, deleted, deleted_alone, denied, lost, lost_among_two, newer, partition, planted, planted_and_kept,
    resurrection, revocation, revocation_unwritable, rewritten, rollback, rollback_known, rollback_reverted,
    rotation, skew, skew_at_the_end, stale, stale_first_look, stripped, unwritable, unwritable_twice,
};
use crate::{Guard, Mutation, Scenario};

/// A rule or guard that is switched off, and the scenario in which an invariant then breaks.
pub struct MutationCase {
    /// The rule or guard.
    pub mutation: Mutation,
    /// A second rule that must be off too, because either of the two is enough.
    pub beside: Option<Rule>,
    /// The scenario's name.
    pub name: &'static str,
    /// The scenario with all rules on.
    pub scenario: Scenario,
}

impl MutationCase {
    /// The scenario without the rule or guard.
    #[must_use]
    pub fn without(&self) -> Scenario {
        let beside = self.beside.map(Mutation::Rule);
        self.scenario
            .clone()
            .without(&[Some(self.mutation), beside].into_iter().flatten().collect::<Vec<_>>())
    }
}

macro_rules! mutation_cases {
    ($($kind:ident $which:ident $(beside $other:ident)? in $name:ident;)*) => {
        /// Every mutation case.
        #[must_use]
        pub fn mutation_cases() -> Vec<MutationCase> {
            vec![$(MutationCase {
                mutation: Mutation::$kind($kind::$which),
                beside: None $(.or(Some(Rule::$other)))?,
                name: stringify!($name),
                scenario: $name(),
            }),*]
        }
    };
}

mutation_cases! {
    Rule W2 in stale;
    Rule W3 in rollback;
    Rule H1 in rollback;
    Rule P1 in denied;
    Rule P2 in unwritable;
    Rule S1 in rollback;
    Rule S2 in rollback_reverted;
    Rule S3 in partition;
    Rule D1 in rotation;
    Rule G1 in rollback_reverted;
    Rule G2 in lost;
    Rule E1 in revocation;
    Rule C1 in skew;
    Rule L1 in unwritable;
    Rule L2 in unwritable;
    Guard SwitchWait in revocation;
    Guard RestorePause in lost;
    Guard OneCrossSignature in unwritable_twice;
    Guard CanonicalBundle in lost;
    Guard RevokedMemory in resurrection;
    Guard LeafPatience in stale;
    Guard Deadline in revocation_unwritable;
    Guard Recheck beside W3 in lost_among_two;
    Guard LastLook in stale_first_look;
    Guard CarryOver beside W3 in lost_among_two;
    Guard CompareAndSwap in rotation;
    Guard Absence in deleted;
    Guard AbsencePause in deleted_alone;
    Guard QuietDeadline in rewritten;
    Guard NotYetValid in ahead;
    Guard LastPromotion in skew_at_the_end;
    Guard NewerPublish in newer;
    Guard Stripped in stripped;
    Guard Unknown in planted;
    Guard InPlace in planted_and_kept;
    Guard ContestWait in rollback_known;
}
