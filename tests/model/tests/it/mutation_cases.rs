//! Each rule is there for something: without it, something breaks.

use std::collections::BTreeSet;

use model::catalogue::{self, MutationCase};
use model::{Mutation, search, walk};

fn mutation_cases(mutation: &str) {
    let wanted = |case: &MutationCase| case.mutation.to_string() == mutation;
    let case = catalogue::mutation_cases().into_iter().find(wanted).expect("it is in the catalogue");
    match search(case.without(), 1) {
        Ok(found) => println!("without {mutation}: {}:\n{}", found.invariant, found.steps.join("\n")),
        Err(states) => panic!("{mutation} is off, and {states} states of {} show no harm", case.name),
    }
}

macro_rules! case {
    ($($name:ident: $mutation:ident;)*) => {
        $(#[test] fn $name() { mutation_cases(stringify!($mutation)); })*

        #[test]
        fn everything_that_can_be_off_is_off_once() {
            let known: BTreeSet<_> = catalogue::mutation_cases().iter().map(|case| case.mutation.to_string()).collect();
            assert_eq!(known, BTreeSet::from([$(stringify!($mutation).to_owned()),*]));
        }
    };
}

case! {
    without_compare_and_swap: CompareAndSwap;
    without_the_order_of_reading: W2;
    without_the_floor: W3;
    without_holding: H1;
    without_care_in_promoting: P1;
    without_a_cross_signature: P2;
    without_care_in_switching: S1;
    without_quiet_at_first: S2;
    without_a_lease: S3;
    without_patience_in_removing: D1;
    without_grafting: G1;
    without_restoring: G2;
    without_the_latch: E1;
    without_a_common_clock: C1;
    without_the_last_call: L1;
    without_giving_up_the_lost: L2;
    without_time_to_switch: SwitchWait;
    without_a_pause: RestorePause;
    without_one_bridge_at_a_time: OneCrossSignature;
    without_tidiness: CanonicalBundle;
    without_a_memory_of_the_revoked: RevokedMemory;
    without_patience_for_a_new_leaf: LeafPatience;
    without_a_deadline_for_what_was_stolen: Deadline;
    without_a_fresh_look: Recheck;
    without_a_last_look: LastLook;
    without_carrying_over: CarryOver;
    without_giving_up_the_absent: Absence;
    without_a_pause_before_that: AbsencePause;
    without_an_end_to_waiting_for_quiet: QuietDeadline;
    without_replacing_the_premature: NotYetValid;
    without_a_last_promotion_by_a_wrong_clock: LastPromotion;
    without_publishing_a_newer_ring: NewerPublish;
    without_accepting_that_a_mark_is_removed: Stripped;
    without_distrust_of_the_unknown: Unknown;
    without_keeping_it_in_one_place: InPlace;
    without_time_to_name_a_ca: ContestWait;
}

/// If a case turns two rules off, either rule alone prevents the failure.
#[test]
fn either_of_two_rules_is_enough() {
    for case in catalogue::mutation_cases() {
        let Some(beside) = case.beside else { continue };
        for one in [case.mutation, Mutation::Rule(beside)] {
            let walk = walk(case.scenario.clone().without(&[one]), 1);
            assert!(walk.broken.is_empty(), "{one} alone is noticed in {}", case.name);
        }
    }
}

/// `rollback` with `--unknown-ca keep` has no fault `revert`: an old manifest that takes a kept CA out of the configuration
/// leaves no trace of it, and no replica could know that it was there.
#[test]
fn an_old_manifest_takes_a_kept_ca_out() {
    assert!(search(catalogue::kept_and_reverted(), 1).is_ok());
}
