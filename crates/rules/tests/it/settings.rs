//! `InjectorSettings`.

use vestibule_rules::Mode;

use crate::kit::{headlines, rule, rules, settings};

#[test]
fn the_defaults_apply_without_settings() {
    let without = rules("");
    for rules in [&without, &rules(&settings("{}"))] {
        let settings = rules.settings();
        assert_eq!(settings.mode, Mode::On);
        assert!(settings.exemptions.is_empty());
        assert!(!settings.own_namespace && !settings.success_events);
        assert!(!settings.required_everywhere);
    }
}

#[test]
fn every_field_is_read() {
    let text = settings(
        "{mode: off, ownNamespace: inject, nativeSidecars: false, requiredEverywhere: allow, successEvents: true, \
         exemptions: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: a, b: c}}, objectSelector: {matchLabels: {d: e}}, users: [\"f:*\"], reason: g}]}",
    );
    let rules = rules(&text);
    let settings = rules.settings();
    assert_eq!(settings.mode, Mode::Off);
    assert!(settings.own_namespace);
    assert!(settings.success_events && settings.required_everywhere);
    let exemption = &settings.exemptions[0];
    assert_eq!(exemption.namespaces.to_string(), "kubernetes.io/metadata.name=a, b=c");
    assert_eq!(
        (exemption.objects.to_string(), &*exemption.users),
        ("d=e".to_owned(), &["f:*".to_owned()][..])
    );
    assert_eq!((&*exemption.reason, &*exemption.source, exemption.at.line), ("g", "rules.yaml", 5));
}

#[test]
fn invalid_settings_are_refused() {
    for (text, expected) in [
        (settings("{mode: of}"), "rules.yaml:5:14: error[VST0113]: `mode` cannot be `of`"),
        (settings("{ownNamespaces: skip}"), "rules.yaml:5:8: error[VST0110]: unknown field `ownNamespaces`"),
        (
            settings("{exemptions: [{objectSelector: {matchLabels: {a: b}}, users: []}]}"),
            "rules.yaml:5:68: error[VST0113]: `users` is empty",
        ),
        (settings("{exemptions: [{reason: all}]}"), "rules.yaml:5:21: error[VST0166]: this exemption"),
        (
            settings(
                "{exemptions: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: A_b}}}]}",
            ),
            "rules.yaml:5:56: error[VST0113]: ",
        ),
        (
            settings("{}") + &settings("{mode: off}"),
            "rules.yaml:7:1: error[VST0165]: settings exist already, at rules.yaml:2:1",
        ),
    ] {
        let found = headlines(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(expected), "{found:?}");
    }
    let writer = rule("r", "pod: {labels: {exempt: \"yes\"}}");
    let found = headlines(
        &(settings("{exemptions: [{objectSelector: {matchLabels: {exempt: \"yes\"}}}]}") + &writer),
    );
    assert!(found[0].contains("VST0123") && found[0].contains("read by an exemption"), "{found:?}");
}
