//! The scenarios, each of which holds with all rules on, and the mutation cases, each of which breaks an invariant.

mod mutation_cases;

pub use mutation_cases::{MutationCase, mutation_cases};

use crate::{Faults, Scenario, Start};

const SETTLED: Start = Start::Settled { due: 25, end: 60 };
const DUE: Start = Start::Settled { due: 1, end: 60 };

macro_rules! catalogue {
    ($($name:ident),* $(,)?) => {
        /// Every scenario, with its name.
        #[must_use]
        pub fn scenarios() -> Vec<(&'static str, Scenario)> {
            vec![$((stringify!($name), $name())),*]
        }
    };
}

catalogue! {
    cold, rotation, partition, rollback, rollback_reverted, rollback_heals, backup, lost, lost_among_two, stale, unknown_ca, skew, denied,
    unwritable, unwritable_twice, revocation, revocation_unwritable, resurrection, slow, broken_watch, rollback_known, lost_known,
    deleted, deleted_alone, rewritten, ahead, skew_at_the_end, newer, stripped, planted, planted_and_kept,
    planted_and_rolled_back, stale_first_look,
}

/// The larger clusters, for a machine that has the time.
#[must_use]
pub fn larger() -> Vec<(&'static str, Scenario)> {
    vec![
        ("cold_of_three", Scenario { clocks: vec![0, 0, 0], seconds: 3, ..cold() }),
        ("rollback_for_longer", Scenario { seconds: 5, heals: true, ..rollback() }),
    ]
}

/// All replicas start at once.
#[must_use]
pub fn cold() -> Scenario {
    let about = "all replicas start at once, and the Secret is deleted meanwhile";
    Scenario {
        faults: Faults { crash: 1, delete: 1, ..Faults::default() },
        heals: true,
        ..Scenario::new(about, Start::Empty, 6)
    }
}

/// A planned rotation.
#[must_use]
pub fn rotation() -> Scenario {
    let about = "replicas die in the middle of a planned rotation";
    Scenario {
        faults: Faults { crash: 1, ..Faults::default() },
        heals: true,
        servers: 1,
        new_authorities: Some(1),
        ..Scenario::new(about, DUE, 12)
    }
}

fn partition() -> Scenario {
    let about = "a replica is out of reach for any time during a rotation";
    Scenario { faults: Faults { cut: 1, ..Faults::default() }, heals: true, ..Scenario::new(about, DUE, 16) }
}

fn rollback() -> Scenario {
    let about = "an old Secret comes back, one replica dies, one is out of reach, and unknown CAs are kept";
    let faults = Faults { rollback: 1, crash: 1, cut: 1, ..Faults::default() };
    Scenario { faults, old_backup: true, servers: 1, ..Scenario::new(about, SETTLED, 4) }.keeping()
}

fn rollback_reverted() -> Scenario {
    let about = "an old Secret and an old configuration come back, and one replica dies";
    let faults = Faults { rollback: 1, revert: 1, crash: 1, ..Faults::default() };
    Scenario { faults, old_backup: true, servers: 1, ..Scenario::new(about, SETTLED, 4) }
}

fn rollback_heals() -> Scenario {
    let about = "an old Secret and an old configuration come back, and the only replica dies";
    let faults = Faults { rollback: 1, revert: 1, crash: 1, ..Faults::default() };
    Scenario { faults, old_backup: true, clocks: vec![0], heals: true, ..Scenario::new(about, SETTLED, 6) }
}

fn backup() -> Scenario {
    let about = "a backup of any moment of a rotation comes back at any later one";
    let faults = Faults { backup: 1, rollback: 1, ..Faults::default() };
    Scenario { faults, servers: 1, heals: true, ..Scenario::new(about, DUE, 12) }
}

fn lost() -> Scenario {
    let about =
        "the Secret is deleted, unreadable, or both in turn, and a bundle holds text that is no certificate";
    let faults = Faults { delete: 1, corrupt: 1, untidy: 1, ..Faults::default() };
    Scenario {
        faults,
        clocks: vec![0],
        heals: true,
        new_authorities: Some(1),
        ..Scenario::new(about, SETTLED, 12)
    }
}

fn lost_among_two() -> Scenario {
    let about = "the Secret is gone while replicas come and go";
    let faults = Faults { delete: 1, crash: 1, ..Faults::default() };
    Scenario { faults, servers: 1, heals: true, ..Scenario::new(about, SETTLED, 6) }.keeping()
}

fn unknown_ca() -> Scenario {
    let about = "another program empties a bundle, writes its own CA, and our right to write is removed";
    let faults = Faults { empty: 1, unknown_ca: 1, deny: 1, ..Faults::default() };
    Scenario { faults, clocks: vec![0], heals: true, ..Scenario::new(about, DUE, 10) }
}

fn stale() -> Scenario {
    let about = "a planned write becomes outdated while its replica is out of reach";
    let faults = Faults { cut: 1, revoke: 1, ..Faults::default() };
    Scenario { faults, servers: 1, heals: true, ..Scenario::new(about, DUE, 7) }
}

fn skew() -> Scenario {
    let about = "a replica's clock is ahead by more than a leaf lives";
    Scenario {
        clocks: vec![0, -8],
        heals: true,
        ..Scenario::new(about, Start::Settled { due: 0, end: 60 }, 12)
    }
}

fn denied() -> Scenario {
    let about = "a configuration cannot be written while rotations are asked for";
    let faults = Faults { deny: 1, rotate: 3, ..Faults::default() };
    Scenario {
        faults,
        configurations: 2,
        clocks: vec![0],
        servers: 1,
        ..Scenario::new(about, Start::Settled { due: 60, end: 90 }, 28)
    }
}

/// A configuration that never could be written, until the end of the only CA that it knows comes near.
fn unwritable() -> Scenario {
    let about = "a configuration never can be written, the only CA that it knows comes to its end, and a replica dies";
    let start = Start::Settled { due: 1, end: 18 };
    Scenario {
        faults: Faults { crash: 1, ..Faults::default() },
        configurations: 2,
        unwritable: true,
        last_call: true,
        heals: true,
        ..Scenario::new(about, start, 17)
    }
}

fn unwritable_twice() -> Scenario {
    let about = "the same without a death, and the next CA ends almost as soon";
    let start = Start::Settled { due: 1, end: 18 };
    Scenario { configurations: 2, unwritable: true, short_next: true, ..Scenario::new(about, start, 17) }
}

fn broken_watch() -> Scenario {
    let about = "a replica's watch breaks unnoticed, and an old Secret and an old configuration come back";
    let faults = Faults { break_watch: 1, revert: 1, rollback: 1, ..Faults::default() };
    Scenario { faults, servers: 1, old_backup: true, heals: true, ..Scenario::new(about, DUE, 6) }
}

fn revocation() -> Scenario {
    let about = "the keys were stolen, and a replica dies while they are replaced";
    let faults = Faults { revoke: 1, crash: 1, ..Faults::default() };
    Scenario { faults, heals: true, ..Scenario::new(about, SETTLED, 8) }
}

fn revocation_unwritable() -> Scenario {
    let about = "the keys were stolen, and a configuration that trusts them can never be written";
    let faults = Faults { revoke: 1, ..Faults::default() };
    Scenario { faults, configurations: 2, unwritable: true, heals: true, ..Scenario::new(about, SETTLED, 10) }
}

fn resurrection() -> Scenario {
    let about = "the keys were stolen, and a backup brings them back";
    let faults = Faults { revoke: 1, rollback: 1, ..Faults::default() };
    Scenario { faults, clocks: vec![0], heals: true, ..Scenario::new(about, SETTLED, 12) }
}

/// An API server that is later than the cold hold and earlier than the hold.
fn slow() -> Scenario {
    let about = "an API server is as late as the hold before a promotion allows";
    Scenario { lag: 3, faults: Faults { rotate: 1, ..Faults::default() }, ..Scenario::new(about, DUE, 14) }
}

/// An old Secret comes back, and CAs that it does not know are dropped unless a replica in reach names them.
fn rollback_known() -> Scenario {
    let about = "an old Secret comes back, one replica dies, and unknown CAs are dropped";
    let faults = Faults { rollback: 1, crash: 1, ..Faults::default() };
    Scenario { faults, old_backup: true, servers: 1, heals: true, ..Scenario::new(about, SETTLED, 6) }
}

fn lost_known() -> Scenario {
    let about = "the Secret is gone while replicas come and go, and unknown CAs are dropped";
    let faults = Faults { delete: 1, crash: 1, ..Faults::default() };
    Scenario { faults, servers: 1, heals: true, ..Scenario::new(about, SETTLED, 6) }
}

fn deleted() -> Scenario {
    let about = "one configuration of two is deleted, may come back, and the only replica dies";
    let faults = Faults { remove: 1, return_: 1, crash: 1, ..Faults::default() };
    Scenario {
        faults,
        clocks: vec![0],
        servers: 1,
        configurations: 2,
        heals: true,
        ..Scenario::new(about, DUE, 6)
    }
}

fn deleted_alone() -> Scenario {
    let about = "the only configuration is deleted, an old Secret comes back, and the only replica dies";
    let faults = Faults { remove: 1, return_: 1, rollback: 1, crash: 1, ..Faults::default() };
    Scenario { faults, old_backup: true, clocks: vec![0], heals: true, ..Scenario::new(about, SETTLED, 5) }
}

fn rewritten() -> Scenario {
    let about = "a tool replaces the configuration every second, and the only replica dies";
    let faults = Faults { replace: 1, crash: 1, ..Faults::default() };
    Scenario { faults, clocks: vec![0], heals: true, ..Scenario::new(about, SETTLED, 7) }
}

fn ahead() -> Scenario {
    let about = "the API server's clock was ahead when the CAs and leaves were made, and was set back";
    Scenario { ahead: 30, heals: true, ..Scenario::new(about, SETTLED, 8) }
}

fn skew_at_the_end() -> Scenario {
    let about = "the clocks of all replicas are off while the CA comes to its end";
    let start = Start::Settled { due: 1, end: 18 };
    Scenario { clocks: vec![-8, 3], last_call: true, heals: true, ..Scenario::new(about, start, 16) }
}

fn newer() -> Scenario {
    let about = "a newer version writes the ring and is rolled back, and another program empties a bundle";
    let faults = Faults { newer: 1, empty: 1, crash: 1, ..Faults::default() };
    Scenario { faults, heals: true, ..Scenario::new(about, SETTLED, 5) }
}

fn stripped() -> Scenario {
    let about = "an admission policy removes our annotations during a rotation, and a replica dies";
    let faults = Faults { strip: 1, crash: 1, ..Faults::default() };
    Scenario { faults, servers: 1, heals: true, ..Scenario::new(about, DUE, 8) }
}

fn planted() -> Scenario {
    let about = "another program writes its own CA into one configuration of two, as our next generation or another ring's";
    let faults = Faults { plant: 1, crash: 1, ..Faults::default() };
    Scenario {
        faults,
        clocks: vec![0],
        servers: 1,
        configurations: 2,
        heals: true,
        ..Scenario::new(about, SETTLED, 6)
    }
}

fn planted_and_kept() -> Scenario {
    let about = "the same with `--unknown-ca keep`";
    Scenario { about, ..planted() }.keeping()
}

fn planted_and_rolled_back() -> Scenario {
    let about = "another program writes its own CA into one configuration of two, an old Secret comes back, and the only replica dies";
    let faults = Faults { plant: 1, rollback: 1, crash: 1, ..Faults::default() };
    Scenario { faults, old_backup: true, seconds: 4, about, ..planted() }
}

/// A new replica has not heard of a repair yet when an old Secret comes back.
fn stale_first_look() -> Scenario {
    let about = "an old configuration comes back and is repaired late, then an old Secret, and a replica begins meanwhile";
    let faults = Faults { break_watch: 1, rollback: 1, revert: 1, crash: 1, ..Faults::default() };
    Scenario { faults, servers: 1, old_backup: true, ..Scenario::new(about, SETTLED, 3) }
}

/// A kept CA is taken out of the configuration before its ring is published there: the known limit of `--unknown-ca keep`.
#[must_use]
pub fn kept_and_reverted() -> Scenario {
    let faults = Faults { revert: 1, ..rollback().faults };
    Scenario { faults, ..rollback() }
}
