//! Positions of injected containers.

use crate::kit::{load, rule, settings};

/// Code, position, message and help of the findings for a sidecar or init container.
fn told(list: &str, container: &str) -> Vec<String> {
    let findings = load(&rule("r", &format!("{list}: [{{name: s, image: 'i:1', {container}}}]"))).err();
    let told =
        |one: vestibule_rules::Diagnostic| format!("{} {}", one.headline(), one.help().unwrap_or_default());
    findings.unwrap_or_default().into_iter().map(told).collect()
}

/// The position was ignored silently.
#[test]
fn a_position_in_a_list_that_the_container_does_not_join_is_an_error() {
    for (list, container, column, wanted) in [
        ("sidecars", "mode: native, position: {containers: first}", 63, "`initContainers`"),
        ("sidecars", "mode: regular, position: {initContainers: first}", 64, "`containers`"),
        (
            "sidecars",
            "mode: native, position: {initContainers: first, containers: last}",
            86,
            "`initContainers`",
        ),
        ("initContainers", "position: {containers: first}", 55, "`initContainers`"),
        ("sidecars", "position: {containers: last}", 49, "`initContainers`"),
    ] {
        let told = told(list, container);
        let [one] = told.as_slice() else { panic!("{container}: {told:?}") };
        assert!(one.contains(&format!("rules.yaml:7:{column}: error[VST0157]")), "{container}: {one}");
        assert!(one.contains(wanted), "{container}: {one}");
    }
    for (list, container) in [
        ("sidecars", "mode: native, position: {initContainers: first}"),
        ("sidecars", "mode: regular, position: {containers: first}"),
        ("initContainers", "position: {initContainers: last}"),
        ("sidecars", "position: {initContainers: first}"),
        // The settings decide the list of a sidecar with `mode: auto`.
        ("sidecars", "position: {initContainers: first, containers: last}"),
    ] {
        assert_eq!(told(list, container), [""; 0], "{container}");
    }
}

#[test]
fn the_settings_decide_which_position_of_a_sidecar_counts() {
    let settings = settings("{nativeSidecars: false}");
    let loads = |position: &str| {
        let one = rule("r", &format!("sidecars: [{{name: s, image: 'i:1', position: {{{position}}}}}]"));
        load(&(one + &settings)).is_ok()
    };
    assert!(loads("containers: last") && loads("containers: last, initContainers: first"));
    assert!(!loads("initContainers: first"));
}
