//! Each rule is there for something: without it, something breaks.

use vestibule_pki::ring::Rule;

use crate::{must_fail, scenarios};

macro_rules! bite {
    ($($name:ident: $rule:ident in $scenario:ident;)*) => {
        $(#[test] fn $name() { must_fail(Rule::$rule, scenarios::$scenario()); })*
    };
}

bite! {
    without_compare_and_swap: W1 in rotation;
    without_the_order_of_reading: W2 in stale;
    without_the_floor: W3 in rollback;
    without_holding: H1 in rollback;
    without_care_in_promoting: P1 in denied;
    without_a_bridge: P2 in shunned;
    without_care_in_switching: S1 in rollback;
    without_quiet_at_first: S2 in rollback;
    without_a_lease: S3 in partition;
    without_patience_in_removing: D1 in rotation;
    without_grafting: G1 in rollback;
    without_restoring: G2 in lost;
    without_the_latch: E1 in rollback;
    without_a_common_clock: C1 in skew;
    without_the_last_call: L1 in shunned;
}
