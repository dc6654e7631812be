//! The small clusters, each looked at with all rules, and again without the rule that it is about.

use model::{Faults, Scenario, Start};

const NONE: Faults = Faults {
    crash: 0,
    cut: 0,
    delete: 0,
    corrupt: 0,
    rollback: 0,
    backup: 0,
    empty: 0,
    stranger: 0,
    revert: 0,
    deny: 0,
    rotate: 0,
    revoke: 0,
};
const SETTLED: Start = Start::Settled { due: 25, end: 60 };
const DUE: Start = Start::Settled { due: 1, end: 60 };

/// Everybody begins at once.
pub(crate) fn cold() -> Scenario {
    Scenario { faults: Faults { crash: 1, delete: 1, ..NONE }, ..Scenario::new(Start::Empty, 6) }
}

pub(crate) fn rotation() -> Scenario {
    Scenario { faults: Faults { crash: 1, ..NONE }, heals: true, servers: 1, ..Scenario::new(DUE, 12) }
}

/// One replica is out of reach for any time.
pub(crate) fn partition() -> Scenario {
    Scenario { faults: Faults { cut: 1, ..NONE }, ..Scenario::new(DUE, 16) }
}

/// An old Secret comes back, and perhaps an old configuration.
pub(crate) fn rollback() -> Scenario {
    let faults = Faults { rollback: 1, revert: 1, crash: 1, cut: 1, ..NONE };
    Scenario { faults, old_backup: true, servers: 1, ..Scenario::new(SETTLED, 4) }
}

/// The same and a way back from each of it.
pub(crate) fn rollback_heals() -> Scenario {
    let faults = Faults { rollback: 1, revert: 1, crash: 1, ..NONE };
    Scenario { faults, old_backup: true, clocks: vec![0], heals: true, ..Scenario::new(SETTLED, 6) }
}

/// The Secret is gone, or rubbish, or both in turn.
pub(crate) fn lost() -> Scenario {
    let faults = Faults { delete: 1, corrupt: 1, ..NONE };
    Scenario { faults, clocks: vec![0], heals: true, ..Scenario::new(SETTLED, 8) }
}

/// The Secret is gone while replicas come and go.
pub(crate) fn lost_among_two() -> Scenario {
    Scenario { faults: Faults { delete: 1, crash: 1, ..NONE }, servers: 1, ..Scenario::new(SETTLED, 6) }
}

/// A stranger writes bundles.
pub(crate) fn strangers() -> Scenario {
    let faults = Faults { empty: 1, stranger: 1, deny: 1, ..NONE };
    Scenario { faults, clocks: vec![0], heals: true, ..Scenario::new(DUE, 10) }
}

/// What one replica meant to write becomes old while it is out of reach.
pub(crate) fn stale() -> Scenario {
    Scenario { faults: Faults { cut: 1, revoke: 1, ..NONE }, servers: 1, ..Scenario::new(DUE, 7) }
}

/// The second replica's clock is ahead.
pub(crate) fn skew() -> Scenario {
    Scenario { clocks: vec![0, -8], ..Scenario::new(Start::Settled { due: 0, end: 60 }, 12) }
}

/// A configuration that cannot be written.
pub(crate) fn denied() -> Scenario {
    let faults = Faults { deny: 1, rotate: 3, ..NONE };
    Scenario {
        faults,
        configurations: 2,
        clocks: vec![0],
        servers: 1,
        ..Scenario::new(Start::Settled { due: 60, end: 90 }, 28)
    }
}

/// A configuration that never could be written, until the end of the only CA that it knows comes near.
pub(crate) fn shunned() -> Scenario {
    let start = Start::Settled { due: 1, end: 18 };
    Scenario { configurations: 2, shunned: true, last_call: true, ..Scenario::new(start, 17) }
}

pub(crate) fn revocation() -> Scenario {
    Scenario { faults: Faults { revoke: 1, crash: 1, ..NONE }, ..Scenario::new(SETTLED, 8) }
}

/// An API server later than a cold start allows, earlier than a rotation does.
pub(crate) fn slow() -> Scenario {
    Scenario { lag: 3, faults: Faults { rotate: 1, ..NONE }, ..Scenario::new(DUE, 14) }
}
