use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

use super::*;

/// A rule that labels pods.
fn rule(name: &str, version: u32) -> String {
    format!(
        "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: {name}}}\n\
         spec: {{optIn: pod, pod: {{labels: {{{name}.example.com/version: \"v{version}\"}}}}}}\n"
    )
}

fn broken(name: &str) -> String {
    rule(name, 1).replace("labels", "lables")
}

struct Fixture {
    reloader: Arc<Reloader>,
    snapshots: watch::Receiver<Arc<Snapshot>>,
}

impl Fixture {
    fn new() -> Self {
        let (reloader, snapshots) = Reloader::new(Compiler::new(Some("injector")), "the first rules");
        reloader.compiler.knows_namespaces.store(false, Ordering::Relaxed);
        Self { reloader, snapshots }
    }

    fn reload(&self, sources: &[(&str, &str)]) -> Option<Vec<RuleDocument>> {
        self.reloader.reload(sources.iter().map(|(name, text)| RuleSource::new(*name, *text)).collect())
    }

    /// The rules in force, with the versions of what they write, as an operation shows it.
    fn in_force(&self) -> Vec<String> {
        use vestibule_rules::{Resource, Subject, Verb};
        let snapshot = self.snapshots.borrow().clone();
        let rules = snapshot.rules().rules();
        let opted = rules.iter().map(|rule| format!("\"inject.vestibule.dev/{}\":\"true\"", rule.name()));
        let pod = format!(
            r#"{{"metadata":{{"name":"web","labels":{{}},"annotations":{{{}}}}},"spec":{{"containers":[{{"name":"app"}}]}}}}"#,
            opted.collect::<Vec<_>>().join(",")
        );
        let decision =
            snapshot.rules().evaluate(&Subject::new(&pod, Resource::Pods, Verb::Create, "shop")).unwrap();
        let labels = decision.changes().iter().filter_map(|change| {
            let path = change.operation.path();
            let rule = path.as_str().strip_prefix("/metadata/labels/")?.split('.').next()?.to_owned();
            Some(format!("{rule} {}", change.operation.value()?.to_string().trim_matches('"')))
        });
        labels.collect()
    }

    #[track_caller]
    fn holds(&self, rules: &[&str], state: SnapshotState) {
        assert_eq!((self.in_force(), self.state()), (owned(rules), state), "{:?}", self.codes());
    }

    /// Checks the rules in force, and the codes of all findings.
    #[track_caller]
    fn holds_with(&self, rules: &[&str], codes: &[&str]) {
        assert_eq!((self.in_force(), self.codes()), (owned(rules), owned(codes)));
    }

    fn state(&self) -> SnapshotState {
        self.snapshots.borrow().state()
    }

    fn codes(&self) -> Vec<String> {
        self.snapshots.borrow().findings().iter().map(|finding| finding.code().to_owned()).collect()
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// InjectorSettings with this spec.
fn settings(spec: &str) -> String {
    format!(
        "apiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {{name: injector}}\nspec: {{{spec}}}\n"
    )
}

#[test]
fn row_36_a_broken_document_does_not_hold_up_others() {
    let fixture = Fixture::new();
    assert_eq!(fixture.state(), SnapshotState::Waiting);
    fixture.reload(&[("one", &rule("a", 1)), ("two", &rule("b", 1)), ("three", &rule("c", 1))]);
    fixture.holds(&["a v1", "b v1", "c v1"], SnapshotState::Current);
    // The first is broken, the second advances, the third is deleted.
    fixture.reload(&[("one", &broken("a")), ("two", &rule("b", 2))]);
    fixture.holds(&["a v1", "b v2"], SnapshotState::LastGood);
    assert_eq!(fixture.codes(), ["VST0110"]);
    // Deleted while it was broken.
    fixture.reload(&[("two", &rule("b", 3))]);
    fixture.holds(&["b v3"], SnapshotState::Current);
    assert!(fixture.codes().is_empty());
}

/// An error that exists only under the new settings is an error of its document.
#[test]
fn each_document_is_checked_with_the_settings() {
    let settings = |version: u32| {
        settings(&format!(
            "nativeSidecars: false, exemptions: [{{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: n{version}}}}}, reason: x}}]"
        ))
    };
    let lasting =
        rule("a", 2).replace("pod:", "sidecars: [{name: s, image: s, restartPolicy: Always}], pod:");
    for changed in [settings(1), settings(2), settings(1).replace("exemptions", "exemption")] {
        let fixture = Fixture::new();
        fixture.reload(&[("one", &rule("a", 1)), ("two", &rule("b", 1)), ("settings", &settings(1))]);
        fixture.reload(&[("one", &lasting), ("two", &rule("b", 2)), ("settings", &changed)]);
        assert_eq!(fixture.in_force(), ["a v1", "b v2"], "{changed}");
        assert_eq!(fixture.codes()[0], "VST0113");
    }
    let fixture = Fixture::new();
    fixture.reload(&[("one", &lasting), ("two", &rule("b", 1))]);
    assert_eq!(fixture.in_force(), ["a v2", "b v1"], "it is none by default");
}

/// Documents in force were checked under other settings and may be wrong under the new ones.
#[test]
fn settings_that_contradict_a_rule_in_force_hold_up_no_other_document() {
    let (former, changed) = (settings("mode: on, nativeSidecars: true"), settings("nativeSidecars: false"));
    let lasting =
        rule("a", 1).replace("pod:", "sidecars: [{name: s, image: s, restartPolicy: Always}], pod:");
    for (former, b, codes) in [
        (None, rule("b", 2), vec!["VST0113"]),
        (Some(&*former), rule("b", 2), vec!["VST0113"]),
        (None, broken("b"), vec!["VST0110", "VST0113"]),
    ] {
        let fixture = Fixture::new();
        let mut before = vec![("one", &*lasting), ("settings", former.unwrap_or_default())];
        let first = rule("b", 1);
        before.push(("two", &first));
        fixture.reload(&before);
        fixture.holds(&["a v1", "b v1"], SnapshotState::Current);
        // The validation of the settings finds the contradiction.
        let told = validation_errors(&fixture, "settings", &changed);
        assert!(told.len() == 1 && told[0].starts_with("settings:4:7: error[VST0113]: "), "{told:?}");
        assert!(told[0].contains("the settings before these stay") && told[0].contains("one:4:"), "{told:?}");
        let good = fixture.reload(&[("one", &lasting), ("settings", &changed), ("two", &b)]);
        let expected = if codes.len() == 1 { "b v2" } else { "b v1" };
        fixture.holds(&["a v1", expected], SnapshotState::LastGood);
        assert_eq!(fixture.codes(), codes);
        // The same is in force after a restart.
        if let Some(good) = good {
            let after = Fixture::new();
            after.reloader.restore(good);
            after.reload(&[("one", &lasting), ("settings", &changed), ("two", &b)]);
            assert_eq!(after.in_force(), ["a v1", "b v2"]);
        }
        fixture.reload(&[("one", &lasting), ("settings", &changed), ("two", &rule("b", 3))]);
        fixture.holds_with(&["a v1", "b v3"], &["VST0113"]);
        // The validation of another document does not report it.
        assert!(validation_errors(&fixture, "two", &rule("b", 4)).is_empty());
        // The contradicted rule is deleted, and the settings come into force.
        fixture.reload(&[("settings", &changed), ("two", &rule("b", 4))]);
        fixture.holds(&["b v4"], SnapshotState::Current);
        assert!(!validation_errors(&fixture, "one", &lasting).is_empty());
    }
    // A rule that only the settings allowed holds up no other document when they are deleted.
    let fixture = Fixture::new();
    let everywhere = rule("a", 1)
        .replace("optIn: pod,", "required: true, match: {objectSelector: {matchLabels: {a: b}}},");
    let allowing = settings("requiredEverywhere: allow");
    fixture.reload(&[("one", &everywhere), ("settings", &allowing), ("two", &rule("b", 1))]);
    fixture.holds(&["b v1"], SnapshotState::Current);
    fixture.reload(&[("one", &everywhere), ("two", &rule("b", 2))]);
    fixture.holds_with(&["b v2"], &["VST0190"]);
    assert_eq!(fixture.snapshots.borrow().rules().rules().len(), 2);
}

/// Another injector merged new rules into old ones, so a deleted rule stayed until the next restart.
#[test]
fn d08_a_rule_is_deleted_with_its_source() {
    let fixture = Fixture::new();
    fixture.reload(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]);
    fixture.reload(&[("two", &rule("b", 1))]);
    assert_eq!(fixture.in_force(), ["b v1"]);
    fixture.reload(&[("two", &rule("b", 2))]);
    assert_eq!(fixture.in_force(), ["b v2"]);
}

#[test]
fn each_document_of_a_source_has_its_own_last_good_version() {
    let fixture = Fixture::new();
    let both = |a: &str, b: &str| format!("{a}---\n{b}");
    fixture.reload(&[("one", &both(&rule("a", 1), &rule("b", 1)))]);
    fixture.reload(&[("one", &both(&broken("a"), &rule("b", 2)))]);
    assert_eq!(fixture.in_force(), ["a v1", "b v2"]);
    // A document without a readable name may be the next version of a missing one, but not of one that is present.
    fixture.reload(&[("one", &both("kind: [\n", &rule("b", 3)))]);
    assert_eq!(fixture.in_force(), ["a v1", "b v3"]);
    fixture.reload(&[("one", &rule("b", 4))]);
    assert_eq!(fixture.in_force(), ["b v4"]);
}

/// Explanations named lines of the version before, where another rule is by now.
#[test]
fn a_last_good_version_is_at_the_place_of_its_broken_document() {
    let fixture = Fixture::new();
    fixture.reload(&[("one", &rule("a", 1))]);
    fixture.reload(&[("one", &format!("{}---\n{}", rule("b", 1), broken("a")))]);
    fixture.holds(&["a v1", "b v1"], SnapshotState::LastGood);
    let (_, documents) = fixture.reloader.in_force();
    let lines: Vec<_> = documents.iter().map(|document| document.text().lines_before).collect();
    assert_eq!(lines, [0, 5]);
}

/// A rule that was moved to another ConfigMap, with an error, was no longer in force.
#[test]
fn a_broken_document_that_moved_keeps_its_last_good_version() {
    let fixture = Fixture::new();
    fixture.reload(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]);
    for b in [2, 3] {
        fixture.reload(&[("three", &broken("a")), ("two", &rule("b", b))]);
        fixture.holds(&["a v1", &format!("b v{b}")], SnapshotState::LastGood);
    }
    let (_, documents) = fixture.reloader.in_force();
    assert_eq!(documents[0].source, "three");
    fixture.reload(&[("two", &rule("b", 3))]);
    fixture.holds(&["b v3"], SnapshotState::Current);
    // It moved, and a copy of it is broken.
    fixture.reload(&[("three", &broken("b")), ("four", &rule("b", 4))]);
    fixture.holds(&["b v4"], SnapshotState::LastGood);
    // It may be the document without a name in the source that it was in.
    let fixture = Fixture::new();
    fixture.reload(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]);
    fixture.reload(&[("one", "kind: [\n"), ("three", &broken("a")), ("two", &rule("b", 2))]);
    fixture.holds(&["a v1", "b v2"], SnapshotState::LastGood);
}

#[test]
fn documents_that_contradict_each_other_change_nothing() {
    let fixture = Fixture::new();
    fixture.reload(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]);
    fixture.reload(&[("one", &rule("a", 2)), ("two", &rule("a", 3))]);
    fixture.holds(&["a v1", "b v1"], SnapshotState::LastGood);
    assert_eq!(fixture.codes(), ["VST0116"]);
    fixture.reload(&[("one", &rule("a", 2)), ("two", &rule("b", 1))]);
    fixture.holds(&["a v2", "b v1"], SnapshotState::Current);
}

#[test]
fn without_good_rules_it_waits() {
    let fixture = Fixture::new();
    fixture.reload(&[("one", &broken("a")), ("two", &rule("b", 1))]);
    assert_eq!(fixture.state(), SnapshotState::Waiting);
    assert_eq!(
        fixture.reload(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]).map(|good| good.len()),
        Some(2)
    );
    assert_eq!(fixture.in_force(), ["a v1", "b v1"]);
    let fixture = Fixture::new();
    fixture.reload(&[]);
    assert_eq!(fixture.state(), SnapshotState::Current);
}

#[test]
fn the_last_good_documents_are_in_force_after_a_restart() {
    let before = Fixture::new();
    let good = before.reload(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]).unwrap();
    // The stored form, read back.
    let good: Vec<RuleDocument> = serde_json::from_str(&serde_json::to_string(&good).unwrap()).unwrap();

    let after = Fixture::new();
    after.reloader.restore(good.clone());
    after.reload(&[("one", &broken("a")), ("two", &rule("b", 2)), ("three", &broken("c"))]);
    after.holds(&["a v1", "b v2"], SnapshotState::LastGood);

    // A document that was deleted meanwhile is gone. With texts that contradict each other all last good ones return.
    let after = Fixture::new();
    after.reloader.restore(good.clone());
    after.reload(&[("two", &rule("b", 1))]);
    assert_eq!(after.in_force(), ["b v1"]);
    let after = Fixture::new();
    after.reloader.restore(good);
    after.reload(&[("one", &rule("a", 2)), ("two", &rule("a", 3))]);
    after.holds(&["a v1", "b v1"], SnapshotState::LastGood);
}

#[test]
fn only_changed_documents_are_stored() {
    let fixture = Fixture::new();
    assert!(fixture.reload(&[("one", &rule("a", 1))]).is_some());
    assert!(fixture.reload(&[("one", &rule("a", 1))]).is_none());
    assert!(fixture.reload(&[("one", &broken("a"))]).is_none());
    assert!(fixture.reload(&[("one", &rule("a", 1))]).is_none());
    assert!(fixture.reload(&[("one", &rule("a", 2))]).is_some());
}

#[test]
fn an_unreadable_source_keeps_its_documents() {
    let fixture = Fixture::new();
    fixture.reload(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]);
    let unreadable = RuleSource { name: "one".into(), text: Err("it is no text".into()) };
    fixture.reloader.reload(vec![unreadable, RuleSource::new("two", rule("b", 2))]);
    fixture.holds_with(&["a v1", "b v2"], &["unreadable"]);
}

#[test]
fn rules_that_need_unknown_namespaces_are_refused() {
    let fixture = Fixture::new();
    fixture.reload(&[("one", &rule("a", 1))]);
    let asking =
        rule("b", 1).replace("optIn: pod", "match: {namespaceSelector: {matchLabels: {team: blue}}}");
    fixture.reload(&[("one", &rule("a", 2)), ("two", &asking)]);
    fixture.holds_with(&["a v1"], &["refused"]);
}

/// The validation refuses such a rule, and a reload never brings it into force.
#[test]
fn rules_that_change_their_own_result_are_refused_by_the_proof() {
    let fixture = Fixture::new();
    fixture.reload(&[("one", &rule("a", 1))]);
    let growing = "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: growing}\nspec:\n  onConflict: override\n  \
                   match: {objectSelector: {matchLabels: {app: web}}}\n  \
                   pod: {annotations: {seen: {$cel: \"object.metadata.?annotations[?'seen'].orValue('') + 'x'\"}}}\n";
    let refused = validation_errors(&fixture, "two", growing);
    assert!(refused.len() == 1 && refused[0].contains("error[VST0175]"), "{refused:?}");
    fixture.reload(&[("one", &rule("a", 2)), ("two", growing)]);
    fixture.holds(&["a v2"], SnapshotState::LastGood);
    assert_eq!(fixture.codes(), ["VST0175"]);
    // The next version of a rule that was good.
    fixture.reload(&[("one", &growing.replace("name: growing", "name: a"))]);
    fixture.holds_with(&["a v2"], &["VST0175"]);
}

fn validation_errors(fixture: &Fixture, name: &str, text: &str) -> Vec<String> {
    let validation = fixture.reloader.validate(
        |source| source == name,
        &[RuleSource::new(name, text)],
        &ProofDeadline::none(),
    );
    validation.errors.iter().map(Finding::headline).collect()
}

#[test]
fn a_text_is_validated_together_with_all_others() {
    let fixture = Fixture::new();
    fixture.reload(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]);
    assert!(validation_errors(&fixture, "two", &rule("b", 2)).is_empty());
    assert_eq!(
        validation_errors(&fixture, "two", &broken("b")),
        ["two:4:26: error[VST0110]: unknown field `lables` in `pod`"]
    );
    let twice = validation_errors(&fixture, "three", &rule("a", 1));
    assert_eq!(twice, ["three:3:18: error[VST0116]: rule `a` exists already, at one:3:18"]);
    // A replaced text does not conflict with the new one.
    assert!(validation_errors(&fixture, "one", &rule("c", 1)).is_empty());
    // A validation brings nothing into force.
    assert_eq!(fixture.in_force(), ["a v1", "b v1"]);
}

/// A second validation continues where the first ran out of time, and a reload after it needs no proof.
#[test]
fn a_finished_proof_is_not_repeated() {
    let fixture = Fixture::new();
    let validate = |text: &str, deadline: ProofDeadline| {
        fixture.reloader.validate(|_| true, &[RuleSource::new("one", text)], &deadline)
    };
    let at_once = || ProofDeadline::at(Instant::now());
    let text = format!("{}---\n{}", rule("a", 1), rule("b", 1));
    let validation = validate(&text, at_once());
    assert!(validation.errors.is_empty() && validation.remarks.is_empty() && !validation.is_complete);
    assert!(validate(&text, ProofDeadline::none()).is_complete);
    assert!(validate(&text, at_once()).is_complete);
    assert!(!validate(&text.replace("\"v1\"", "\"v2\""), at_once()).is_complete);
    // An error is reported even if there is no time for proofs.
    let validation = validate(&format!("{}---\n{}", rule("c", 1), broken("a")), at_once());
    let errors: Vec<_> = validation.errors.iter().map(Finding::headline).collect();
    assert_eq!(errors, ["one:9:26: error[VST0110]: unknown field `lables` in `pod`"]);
    assert!(!validation.is_complete);
}

#[test]
fn a_validation_does_not_report_errors_of_other_texts() {
    let fixture = Fixture::new();
    fixture.reload(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]);
    fixture.reload(&[("one", &broken("a")), ("two", &rule("b", 1))]);
    assert!(validation_errors(&fixture, "two", &rule("b", 2)).is_empty());
    assert_eq!(validation_errors(&fixture, "one", &broken("a")).len(), 1);
    assert!(validation_errors(&fixture, "one", &rule("a", 2)).is_empty());
}

#[test]
fn warnings_and_hints_are_remarks() {
    let fixture = Fixture::new();
    let sidecar = rule("a", 1).replace("pod: {", "sidecars: [{name: side, image: side}], pod: {");
    fixture.reload(&[("one", &sidecar)]);
    let two = sidecar.replace("name: a", "name: b");
    let validation = fixture.reloader.validate(
        |source| source == "two",
        &[RuleSource::new("two", &*two)],
        &ProofDeadline::none(),
    );
    assert!(validation.errors.is_empty(), "{:?}", validation.errors);
    let remarks: Vec<_> = validation.remarks.iter().map(Finding::headline).collect();
    assert!(!remarks.is_empty() && remarks.iter().all(|it| it.starts_with("two:")), "{remarks:?}");
}

/// A ConfigMap holds about a thousand rules, and with an error among them each is checked by itself. The API server waits 10 s;
/// a build without optimisation takes longer.
#[test]
fn a_thousand_rules_are_validated_in_time() {
    let fixture = Fixture::new();
    let one = |n: usize| {
        let parts = format!(
            "sidecars: [{{name: sidecar-{n}, image: 'sidecar:1'}}], volumes: [{{name: volume-{n}, emptyDir: {{}}}}], \
             containerPatches: [{{select: {{all: true}}, env: [{{name: VARIABLE_{n}, value: x}}], \
             volumeMounts: [{{name: volume-{n}, mountPath: /mnt/{n}}}]}}], pod: {{"
        );
        format!("---\n{}", rule(&format!("rule-{n}"), 1).replace("pod: {", &parts))
    };
    let text = (0..1_000).map(one).collect::<String>().replacen("image", "imgae", 1);
    assert!(text.len() < 1 << 20, "{}", text.len());
    let work = ThreadTime::now();
    let found = validation_errors(&fixture, "one", &text);
    assert!(found.len() == 1 && found[0].starts_with("one:5:") && found[0].contains("`imgae`"), "{found:?}");
    let most = if cfg!(debug_assertions) { 60 } else { 10 };
    assert!(work.elapsed() < Duration::from_secs(most), "{:?}", work.elapsed());
}

/// The status of a rule was made of documents with the rule and of a snapshot without it.
#[test]
fn a_snapshot_comes_with_its_documents() {
    let fixture = Fixture::new();
    let (one, two) = (rule("one", 1), rule("two", 1));
    std::thread::scope(|scope| {
        let reloads = scope.spawn(|| {
            for _ in 0..100 {
                fixture.reload(&[("one", &one)]);
                fixture.reload(&[("one", &one), ("two", &two)]);
            }
        });
        while !reloads.is_finished() {
            let (snapshot, documents) = fixture.reloader.in_force();
            assert_eq!(snapshot.rules().rules().len(), documents.len());
        }
    });
}
