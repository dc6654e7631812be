//! The status annotation: the hash of the rules, and the names of all parts of rules that a pod has. People and tools read it. The
//! injector reads only the hash and the rules from the annotation. To find the parts, it looks at the rest of the pod.

mod annotation;

use std::cell::LazyCell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use vestibule_patch::View;

use super::draft::Draft;
use super::injected::DEFAULT_CONTAINER;
use super::json;
use super::presence::{Owner, PartState, PlacedPart, PodContents};
use super::probes::RewrittenProbe;
use crate::carried_rule::CarriedRule;
use crate::decision::Origin;
use crate::rule::Rule;
use annotation::{Words, annotation};

/// The text of the status annotation of a pod with the parts of `rules`, before its probes are rewritten; `rewritten` are the probes that
/// will be. `hash` identifies the documents of the rules. `None` for a workload: in a template the annotation would roll out the workload
/// after each change of the rules.
pub(crate) fn status(
    rules: &[&Rule],
    rewritten: &[RewrittenProbe],
    hash: &str,
    draft: &mut Draft<'_>,
) -> Option<String> {
    let is_pod = draft.layout.pod.is_root();
    is_pod.then(|| text(rules, rewritten, &PodContents::new(rules, draft), hash))
}

/// Sets the status annotation if it is not up to date.
pub(crate) fn record_status(status: &str, draft: &mut Draft<'_>) {
    let layout = draft.layout;
    if draft.at(&layout.status).and_then(View::as_str).is_some_and(|found| found == status) {
        return;
    }
    // The operation can fail only if the annotations are not a map, and then the rules have failed before.
    let _ = json::of(status).and_then(|status| draft.set(layout.status.clone(), status, ORIGIN.clone()));
}

/// The origin of the annotation, which belongs to no rule.
static ORIGIN: LazyLock<Origin> = LazyLock::new(|| {
    let injector: Arc<str> = Arc::from("injector");
    Origin { rule: Arc::clone(&injector), clause: Arc::from("status"), source: injector, line: 0 }
});

/// The text of the annotation.
fn text(rules: &[&Rule], rewritten: &[RewrittenProbe], contents: &PodContents<'_>, hash: &str) -> String {
    let authors = LazyCell::new(|| contents.draft.authors());
    // A rule that removed something in an earlier call has nothing to do in this one, and no part in the pod shows that it acted.
    let carried = LazyCell::new(|| {
        let status = contents.draft.at(&contents.draft.layout.status).and_then(View::as_str);
        let all = CarriedRule::all(&status.unwrap_or_default()).into_iter();
        all.map(|one| (one.name, one.version)).collect::<HashMap<_, _>>()
    });
    let has_removed = |rule: &Rule| {
        !rule.removals.is_empty() && carried.get(rule.name()).is_some_and(|version| version == rule.version())
    };
    let (mut acting, mut names) = (Words::new(), Words::new());
    for rule in rules {
        let before = names.len();
        contents.parts_of_pod(rule, &mut |part| add_name(&part, &mut names));
        if rule.injected.iter().any(|one| one.list == "containers") && contents.has_default_container() {
            names.push(["annotation:", DEFAULT_CONTAINER]);
        }
        contents.parts_of_blocks(rule, &mut |part| add_name(&part, &mut names));
        for probe in rewritten.iter().filter(|probe| probe.rule == rule.name) {
            names.push(["probe:", &*probe.container, "/", probe.member]);
        }
        if names.len() > before || authors.contains(rule.name()) || has_removed(rule) {
            acting.push([&*rule.name, "@", rule.version()]);
        }
    }
    annotation(hash, &acting, &names)
}

/// Adds the name of `part` if the pod has it.
fn add_name(part: &PlacedPart<'_>, names: &mut Words) {
    let PlacedPart { owner, list, path, name, .. } = *part;
    if part.state != PartState::Present {
        return;
    }
    let steps = || path.iter().flat_map(|step| [step, "/"]);
    match (owner, list) {
        (Owner::Metadata, _) => {
            let map = path.first().map_or("", String::as_str);
            names.push([map.trim_end_matches('s'), ":", name]);
        }
        (Owner::Spec, Some("volumes")) => names.push(["vol:", name]),
        (Owner::Spec, Some("containers")) => names.push(["container:", name]),
        (Owner::Spec, Some(_)) => names.push(["init:", name]),
        (Owner::Spec, None) if path == ["imagePullSecrets"] => names.push(["pullSecret:", name]),
        (Owner::Spec, None) => names.push(["spec:"].into_iter().chain(steps()).chain([name])),
        (Owner::Container(_, _, container), Some(list)) => {
            let word = match list {
                "volumeMounts" => "mount",
                "volumeDevices" => "device",
                "ports" => "port",
                list => list,
            };
            names.push([word, ":", container, "/", name]);
        }
        (Owner::Container(_, _, container), None) => {
            names.push(["set:", container, "/"].into_iter().chain(steps()).chain([name]));
        }
    }
}
