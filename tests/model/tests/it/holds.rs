//! The protocol as it is.

use model::Scenario;

use crate::{scenarios, walk};

macro_rules! hold {
    ($($name:ident)*) => { $(#[test] fn $name() { walk(stringify!($name), scenarios::$name()); })* };
}

hold! { cold rotation partition rollback rollback_heals lost lost_among_two stale strangers skew denied shunned revocation slow }

/// Several millions of states.
#[test]
#[ignore = "takes some minutes"]
fn rollback_for_longer() {
    walk("rollback_for_longer", Scenario { seconds: 7, ..scenarios::rollback() });
}

#[test]
#[ignore = "takes some minutes"]
fn cold_for_longer() {
    walk("cold_for_longer", Scenario { clocks: vec![0, 0, 0], ..scenarios::cold() });
}
