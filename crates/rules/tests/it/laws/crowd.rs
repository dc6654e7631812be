//! Who acts among many looks into lists by indexes, and finds what it would find among few.

use proptest::prelude::*;
use vestibule_rules::{Decision, NamespaceFacts};

use super::asked::Scene;
use super::cases;
use super::generated::{scenes, specs};
use super::ports::listening;
use crate::kit::{evaluate, made, rule, rules, words};

const NAMES: [&str; 4] = ["one", "two", "three", "four"];

/// What the rules of `specs` do in `scene`, behind so many others that find all they want.
fn behind(count: usize, scene: &Scene, specs: &[String]) -> Decision {
    let fillers = (0..count).map(|n| rule(&format!("filler-{n}"), "order: -9\npod: {labels: {filled: x}}"));
    let named = specs.iter().zip(NAMES).map(|(spec, name)| rule(name, spec));
    evaluate(&rules(&fillers.chain(named).collect::<String>()), &scene.creation(&scene.pod.to_string()))
}

/// The outcomes, what is said of them, and what is made of the object are the same.
fn is_the_same_behind_many(scene: &Scene, specs: &[String]) -> Result<(), TestCaseError> {
    let mut scene = scene.clone();
    scene.pod["metadata"]["labels"]["filled"] = "x".into();
    let (few, many) = (behind(1, &scene, specs), behind(8, &scene, specs));
    prop_assert_eq!(&words(&many)[8..], &words(&few)[1..]);
    prop_assert_eq!(&many.warnings, &few.warnings);
    let pod = scene.pod.to_string();
    prop_assert_eq!(made(&many, &pod), made(&few, &pod));
    Ok(())
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn rules_do_what_they_do_among_few(scene in scenes(), specs in specs()) {
        is_the_same_behind_many(&scene, &specs)?;
    }

    #[test]
    fn ports_are_taken_as_they_are_among_few((pod, specs) in listening()) {
        is_the_same_behind_many(&Scene { pod, facts: NamespaceFacts::default() }, &specs)?;
    }
}
