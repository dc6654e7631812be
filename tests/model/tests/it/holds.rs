//! The protocol as it is.

use model::{catalogue, walk};

fn holds(name: &str) {
    let (_, scenario) = catalogue::scenarios().into_iter().find(|(known, _)| *known == name).unwrap();
    let walk = walk(scenario, 1);
    println!("{name}: {} states, {:.1} s", walk.states, walk.took.as_secs_f32());
    let broken =
        walk.broken.iter().map(|broken| format!("{}:\n{}\n", broken.invariant, broken.steps.join("\n")));
    assert_eq!(broken.collect::<String>(), "");
    assert!(walk.ends, "nothing goes on to the end");
}

macro_rules! hold {
    ($($name:ident)*) => {
        $(#[test] fn $name() { holds(stringify!($name)); })*

        #[test]
        fn every_scenario_is_walked() {
            let names: Vec<_> = catalogue::scenarios().into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

hold! {
    cold rotation partition rollback rollback_reverted rollback_heals backup lost lost_among_two stale unknown_ca skew denied unwritable
    unwritable_twice revocation revocation_unwritable resurrection slow broken_watch rollback_known lost_known deleted deleted_alone
    rewritten ahead skew_at_the_end newer stripped planted planted_and_kept
    planted_and_rolled_back stale_first_look
}
