//! What is found when one thing is off.

use vestibule_pki::ring::Rule;

use super::{
    ahead, deleted, deleted_alone, denied, lost, lost_among_two, newer, partition, planted, planted_and_kept,
    restless, resurrection, revocation, revocation_shunned, rollback, rollback_known, rollback_reverted,
    rotation, shunned, shunned_twice, skew, skew_at_the_end, stale, stale_first_look, stripped,
};
use crate::{Guard, Mutation, Scenario};

/// Something that is off, and the scenario in which that is noticed.
pub struct MutationCase {
    /// What is looked at.
    pub mutation: Mutation,
    /// What must be off besides: two nets, of which one is enough.
    pub beside: Option<Rule>,
    /// The scenario's name.
    pub name: &'static str,
    /// The scenario with all rules on.
    pub scenario: Scenario,
}

impl MutationCase {
    /// The scenario in which damage must be found.
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
        /// Everything that can be switched off.
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
    Rule P2 in shunned;
    Rule S1 in rollback;
    Rule S2 in rollback_reverted;
    Rule S3 in partition;
    Rule D1 in rotation;
    Rule G1 in rollback_reverted;
    Rule G2 in lost;
    Rule E1 in revocation;
    Rule C1 in skew;
    Rule L1 in shunned;
    Rule L2 in shunned;
    Guard SwitchWait in revocation;
    Guard RestorePause in lost;
    Guard OneCrossSignature in shunned_twice;
    Guard Tidiness in lost;
    Guard Memorial in resurrection;
    Guard Patience in stale;
    Guard Deadline in revocation_shunned;
    Guard Recheck beside W3 in lost_among_two;
    Guard LastLook in stale_first_look;
    Guard CarryOver beside W3 in lost_among_two;
    Guard CompareAndSwap in rotation;
    Guard Absence in deleted;
    Guard AbsencePause in deleted_alone;
    Guard Restless in restless;
    Guard Premature in ahead;
    Guard LastClock in skew_at_the_end;
    Guard NewerPublish in newer;
    Guard Stripped in stripped;
    Guard Unknown in planted;
    Guard InPlace in planted_and_kept;
    Guard Contest in rollback_known;
}
