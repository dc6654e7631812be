use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

use super::*;
use crate::configuration::Compiler;

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

struct Bench {
    keeper: Arc<Keeper<Compiler>>,
    snapshots: watch::Receiver<Arc<Snapshot>>,
}

impl Bench {
    fn new() -> Self {
        let compiler = Compiler::new(Some("injector"), &Arc::new(AtomicBool::new(false)));
        let (keeper, snapshots) = Keeper::new(compiler, "the first rules");
        Self { keeper, snapshots }
    }

    fn advance(&self, sources: &[(&str, &str)]) -> Option<Vec<Document>> {
        self.keeper.advance(sources.iter().map(|(name, text)| Source::new(*name, *text)).collect())
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

    fn state(&self) -> State {
        self.snapshots.borrow().state()
    }

    fn codes(&self) -> Vec<String> {
        self.snapshots.borrow().findings().iter().map(|finding| finding.code().to_owned()).collect()
    }
}

#[test]
fn row_36_each_document_for_itself() {
    let bench = Bench::new();
    assert_eq!(bench.state(), State::Waiting);
    bench.advance(&[("one", &rule("a", 1)), ("two", &rule("b", 1)), ("three", &rule("c", 1))]);
    assert_eq!(
        (bench.in_force(), bench.state()),
        (vec!["a v1".into(), "b v1".into(), "c v1".into()], State::Current)
    );
    // The first is broken, the second advances, the third is deleted.
    bench.advance(&[("one", &broken("a")), ("two", &rule("b", 2))]);
    assert_eq!((bench.in_force(), bench.state()), (vec!["a v1".into(), "b v2".into()], State::LastGood));
    assert_eq!(bench.codes(), ["VST0110"]);
    // Deleted while it was broken.
    bench.advance(&[("two", &rule("b", 3))]);
    assert_eq!((bench.in_force(), bench.state()), (vec!["b v3".into()], State::Current));
    assert!(bench.codes().is_empty());
}

/// What is a mistake under the settings alone is one of its document alone, as any other.
#[test]
fn each_document_is_read_by_the_settings() {
    let settings = |version: u32| {
        format!(
            "apiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {{name: injector}}\n\
             spec: {{nativeSidecars: false, exemptions: [{{namespaces: [n{version}], reason: x}}]}}\n"
        )
    };
    let lasting =
        rule("a", 2).replace("pod:", "sidecars: [{name: s, image: s, restartPolicy: Always}], pod:");
    for changed in [settings(1), settings(2), settings(1).replace("exemptions", "exemption")] {
        let bench = Bench::new();
        bench.advance(&[("one", &rule("a", 1)), ("two", &rule("b", 1)), ("settings", &settings(1))]);
        bench.advance(&[("one", &lasting), ("two", &rule("b", 2)), ("settings", &changed)]);
        assert_eq!(bench.in_force(), ["a v1", "b v2"], "{changed}");
        assert_eq!(bench.codes()[0], "VST0113");
    }
    let bench = Bench::new();
    bench.advance(&[("one", &lasting), ("two", &rule("b", 1))]);
    assert_eq!(bench.in_force(), ["a v2", "b v1"], "it is none by default");
}

/// What is in force was judged under other settings, and may be wrong under these.
#[test]
fn settings_that_a_rule_in_force_contradicts_hold_up_themselves_alone() {
    let settings = |spec: &str| {
        format!(
            "apiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {{name: injector}}\nspec: {{{spec}}}\n"
        )
    };
    let (former, changed) = (settings("mode: on, nativeSidecars: true"), settings("nativeSidecars: false"));
    let lasting =
        rule("a", 1).replace("pod:", "sidecars: [{name: s, image: s, restartPolicy: Always}], pod:");
    for (former, b, codes) in [
        (None, rule("b", 2), vec!["VST0113"]),
        (Some(&*former), rule("b", 2), vec!["VST0113"]),
        (None, broken("b"), vec!["VST0110", "VST0113"]),
    ] {
        let bench = Bench::new();
        let mut before = vec![("one", &*lasting), ("settings", former.unwrap_or_default())];
        let first = rule("b", 1);
        before.push(("two", &first));
        bench.advance(&before);
        assert_eq!((bench.in_force(), bench.state()), (vec!["a v1".into(), "b v1".into()], State::Current));
        // Whoever applies the settings is told before.
        let told = judged(&bench, "settings", &changed);
        assert!(told.len() == 1 && told[0].starts_with("settings:4:7: error[VST0113]: "), "{told:?}");
        assert!(told[0].contains("the settings before these stay") && told[0].contains("one:4:"), "{told:?}");
        let good = bench.advance(&[("one", &lasting), ("settings", &changed), ("two", &b)]);
        let expected = if codes.len() == 1 { "b v2" } else { "b v1" };
        assert_eq!(
            (bench.in_force(), bench.state()),
            (vec!["a v1".into(), expected.into()], State::LastGood)
        );
        assert_eq!(bench.codes(), codes);
        // And so it is after a restart.
        if let Some(good) = good {
            let after = Bench::new();
            after.keeper.restore(good);
            after.advance(&[("one", &lasting), ("settings", &changed), ("two", &b)]);
            assert_eq!(after.in_force(), ["a v1", "b v2"]);
        }
        bench.advance(&[("one", &lasting), ("settings", &changed), ("two", &rule("b", 3))]);
        assert_eq!(
            (bench.in_force(), bench.codes()),
            (vec!["a v1".into(), "b v3".into()], vec!["VST0113".into()])
        );
        // Nobody else is told that the settings are wrong.
        assert!(judged(&bench, "two", &rule("b", 4)).is_empty());
        // What they contradict is mended, or gone, and the settings come into force.
        bench.advance(&[("settings", &changed), ("two", &rule("b", 4))]);
        assert_eq!((bench.in_force(), bench.state()), (vec!["b v4".into()], State::Current));
        assert!(!judged(&bench, "one", &lasting).is_empty());
    }
    // What only the settings allowed holds up nobody else when they are gone.
    let bench = Bench::new();
    let everywhere =
        rule("a", 1).replace("optIn: pod,", "required: true, match: {objects: {labels: {a: b}}},");
    let allowing = settings("requiredEverywhere: allow");
    bench.advance(&[("one", &everywhere), ("settings", &allowing), ("two", &rule("b", 1))]);
    assert_eq!(
        (bench.in_force(), bench.state()),
        (vec!["b v1".into()], State::Current),
        "{:?}",
        bench.codes()
    );
    bench.advance(&[("one", &everywhere), ("two", &rule("b", 2))]);
    assert_eq!((bench.in_force(), bench.codes()), (vec!["b v2".into()], vec!["VST0190".into()]));
    assert_eq!(bench.snapshots.borrow().rules().rules().len(), 2);
}

/// Another injector merged what it read into what it had: a rule lived until the next restart.
#[test]
fn d08_a_rule_goes_with_its_source() {
    let bench = Bench::new();
    bench.advance(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]);
    bench.advance(&[("two", &rule("b", 1))]);
    assert_eq!(bench.in_force(), ["b v1"]);
    bench.advance(&[("two", &rule("b", 2))]);
    assert_eq!(bench.in_force(), ["b v2"]);
}

#[test]
fn documents_of_one_source_keep_their_last_good_versions_apart() {
    let bench = Bench::new();
    let both = |a: &str, b: &str| format!("{a}---\n{b}");
    bench.advance(&[("one", &both(&rule("a", 1), &rule("b", 1)))]);
    bench.advance(&[("one", &both(&broken("a"), &rule("b", 2)))]);
    assert_eq!(bench.in_force(), ["a v1", "b v2"]);
    // What cannot be told by its name may be any that is missed, and what is there is not missed.
    bench.advance(&[("one", &both("kind: [\n", &rule("b", 3)))]);
    assert_eq!(bench.in_force(), ["a v1", "b v3"]);
    bench.advance(&[("one", &rule("b", 4))]);
    assert_eq!(bench.in_force(), ["b v4"]);
}

#[test]
fn documents_that_contradict_each_other_change_nothing() {
    let bench = Bench::new();
    bench.advance(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]);
    bench.advance(&[("one", &rule("a", 2)), ("two", &rule("a", 3))]);
    assert_eq!((bench.in_force(), bench.state()), (vec!["a v1".into(), "b v1".into()], State::LastGood));
    assert_eq!(bench.codes(), ["VST0116"]);
    bench.advance(&[("one", &rule("a", 2)), ("two", &rule("b", 1))]);
    assert_eq!((bench.in_force(), bench.state()), (vec!["a v2".into(), "b v1".into()], State::Current));
}

#[test]
fn without_anything_good_it_waits() {
    let bench = Bench::new();
    bench.advance(&[("one", &broken("a")), ("two", &rule("b", 1))]);
    assert_eq!(bench.state(), State::Waiting);
    assert_eq!(
        bench.advance(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]).map(|good| good.len()),
        Some(2)
    );
    assert_eq!(bench.in_force(), ["a v1", "b v1"]);
    let bench = Bench::new();
    bench.advance(&[]);
    assert_eq!(bench.state(), State::Current);
}

#[test]
fn what_was_good_before_a_restart_still_serves() {
    let before = Bench::new();
    let good = before.advance(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]).unwrap();
    // As it is stored and read back.
    let good: Vec<Document> = serde_json::from_str(&serde_json::to_string(&good).unwrap()).unwrap();

    let after = Bench::new();
    after.keeper.restore(good.clone());
    after.advance(&[("one", &broken("a")), ("two", &rule("b", 2)), ("three", &broken("c"))]);
    assert_eq!((after.in_force(), after.state()), (vec!["a v1".into(), "b v2".into()], State::LastGood));

    // Gone in between is gone; texts that contradict each other bring back all.
    let after = Bench::new();
    after.keeper.restore(good.clone());
    after.advance(&[("two", &rule("b", 1))]);
    assert_eq!(after.in_force(), ["b v1"]);
    let after = Bench::new();
    after.keeper.restore(good);
    after.advance(&[("one", &rule("a", 2)), ("two", &rule("a", 3))]);
    assert_eq!((after.in_force(), after.state()), (vec!["a v1".into(), "b v1".into()], State::LastGood));
}

#[test]
fn only_what_changed_is_stored() {
    let bench = Bench::new();
    assert!(bench.advance(&[("one", &rule("a", 1))]).is_some());
    assert!(bench.advance(&[("one", &rule("a", 1))]).is_none());
    assert!(bench.advance(&[("one", &broken("a"))]).is_none());
    assert!(bench.advance(&[("one", &rule("a", 1))]).is_none());
    assert!(bench.advance(&[("one", &rule("a", 2))]).is_some());
}

#[test]
fn a_source_that_cannot_be_read_keeps_all_that_it_held() {
    let bench = Bench::new();
    bench.advance(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]);
    let unreadable = Source { name: "one".into(), text: Err("it is no text".into()) };
    bench.keeper.advance(vec![unreadable, Source::new("two", rule("b", 2))]);
    assert_eq!(
        (bench.in_force(), bench.codes()),
        (vec!["a v1".into(), "b v2".into()], vec!["unreadable".into()])
    );
}

#[test]
fn rules_that_nobody_can_answer_are_refused_together() {
    let bench = Bench::new();
    bench.advance(&[("one", &rule("a", 1))]);
    let asking = rule("b", 1).replace("optIn: pod", "match: {namespaces: {matchLabels: {team: blue}}}");
    bench.advance(&[("one", &rule("a", 2)), ("two", &asking)]);
    assert_eq!((bench.in_force(), bench.codes()), (vec!["a v1".into()], vec!["refused".into()]));
}

/// Whoever applies it is told in the terminal, and what gets in regardless never comes into force.
#[test]
fn rules_that_never_come_to_rest_are_refused_by_the_proof() {
    let bench = Bench::new();
    bench.advance(&[("one", &rule("a", 1))]);
    let growing = "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: growing}\nspec:\n  onConflict: override\n  \
                   match: {objects: {labels: {app: web}}}\n  \
                   pod: {annotations: {seen: {$cel: \"object.metadata.?annotations[?'seen'].orValue('') + 'x'\"}}}\n";
    let refused = judged(&bench, "two", growing);
    assert!(refused.len() == 1 && refused[0].contains("error[VST0175]"), "{refused:?}");
    bench.advance(&[("one", &rule("a", 2)), ("two", growing)]);
    assert_eq!((bench.in_force(), bench.state()), (vec!["a v2".into()], State::LastGood));
    assert_eq!(bench.codes(), ["VST0175"]);
    // The next version of a rule that was good.
    bench.advance(&[("one", &growing.replace("name: growing", "name: a"))]);
    assert_eq!((bench.in_force(), bench.codes()), (vec!["a v2".into()], vec!["VST0175".into()]));
}

fn judged(bench: &Bench, name: &str, text: &str) -> Vec<String> {
    let judgement =
        bench.keeper.judge(|source| source == name, &[Source::new(name, text)], &Patience::default());
    judgement.errors.iter().map(Finding::headline).collect()
}

#[test]
fn a_text_is_judged_together_with_all_others() {
    let bench = Bench::new();
    bench.advance(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]);
    assert!(judged(&bench, "two", &rule("b", 2)).is_empty());
    assert_eq!(
        judged(&bench, "two", &broken("b")),
        ["two:4:26: error[VST0110]: unknown field `lables` in `pod`"]
    );
    let twice = judged(&bench, "three", &rule("a", 1));
    assert_eq!(twice, ["three:3:18: error[VST0116]: rule `a` exists already, at one:3:18"]);
    // It takes over a name that the text it replaces had.
    assert!(judged(&bench, "one", &rule("c", 1)).is_empty());
    // Nothing was brought into force by any of it.
    assert_eq!(bench.in_force(), ["a v1", "b v1"]);
}

/// Whoever applies it again after time ran out gets further, and what was judged comes into force without another proof.
#[test]
fn what_was_proved_is_not_proved_again() {
    let bench = Bench::new();
    let judge =
        |text: &str, patience: Patience| bench.keeper.judge(|_| true, &[Source::new("one", text)], &patience);
    let at_once = || Patience::until(Instant::now());
    let text = format!("{}---\n{}", rule("a", 1), rule("b", 1));
    let judgement = judge(&text, at_once());
    assert!(judgement.errors.is_empty() && judgement.remarks.is_empty() && !judgement.is_whole);
    assert!(judge(&text, Patience::default()).is_whole);
    assert!(judge(&text, at_once()).is_whole);
    assert!(!judge(&text.replace("\"v1\"", "\"v2\""), at_once()).is_whole);
    // A mistake is told whether there is time for the others or not.
    let judgement = judge(&format!("{}---\n{}", rule("c", 1), broken("a")), at_once());
    let errors: Vec<_> = judgement.errors.iter().map(Finding::headline).collect();
    assert_eq!(errors, ["one:9:26: error[VST0110]: unknown field `lables` in `pod`"]);
    assert!(!judgement.is_whole);
}

#[test]
fn nobody_answers_for_the_mistakes_of_others() {
    let bench = Bench::new();
    bench.advance(&[("one", &rule("a", 1)), ("two", &rule("b", 1))]);
    bench.advance(&[("one", &broken("a")), ("two", &rule("b", 1))]);
    assert!(judged(&bench, "two", &rule("b", 2)).is_empty());
    assert_eq!(judged(&bench, "one", &broken("a")).len(), 1);
    assert!(judged(&bench, "one", &rule("a", 2)).is_empty());
}

#[test]
fn what_could_be_better_is_a_remark() {
    let bench = Bench::new();
    let sidecar = rule("a", 1).replace("pod: {", "sidecars: [{name: side, image: side}], pod: {");
    bench.advance(&[("one", &sidecar)]);
    let two = sidecar.replace("name: a", "name: b");
    let judgement =
        bench.keeper.judge(|source| source == "two", &[Source::new("two", &*two)], &Patience::default());
    assert!(judgement.errors.is_empty(), "{:?}", judgement.errors);
    let remarks: Vec<_> = judgement.remarks.iter().map(Finding::headline).collect();
    assert!(!remarks.is_empty() && remarks.iter().all(|it| it.starts_with("two:")), "{remarks:?}");
}

/// As many as a ConfigMap holds, and a mistake among them, which costs a look at each. The API server waits for ten seconds;
/// without optimisation it takes longer than that.
#[test]
fn a_thousand_rules_are_judged_in_time() {
    let bench = Bench::new();
    let one = |n: usize| {
        let parts = format!(
            "sidecars: [{{name: sidecar-{n}, image: 'sidecar:1'}}], volumes: [{{name: volume-{n}, emptyDir: {{}}}}], \
             containers: [{{select: {{all: true}}, env: [{{name: VARIABLE_{n}, value: x}}], \
             volumeMounts: [{{name: volume-{n}, mountPath: /mnt/{n}}}]}}], pod: {{"
        );
        format!("---\n{}", rule(&format!("rule-{n}"), 1).replace("pod: {", &parts))
    };
    let text = (0..1_000).map(one).collect::<String>().replacen("image", "imgae", 1);
    assert!(text.len() < 1 << 20, "{}", text.len());
    let work = ThreadTime::now();
    let found = judged(&bench, "one", &text);
    assert!(found.len() == 1 && found[0].starts_with("one:5:") && found[0].contains("`imgae`"), "{found:?}");
    let most = if cfg!(debug_assertions) { 60 } else { 10 };
    assert!(work.elapsed() < Duration::from_secs(most), "{:?}", work.elapsed());
}
