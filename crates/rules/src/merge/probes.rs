//! `rewriteProbes`: the kubelet asks one container of the pod for the health of all others.
//!
//! Rules see the object as it was before any rewriting. [`restore_probes`] undoes what an earlier call has rewritten, before rules are
//! applied; [`rewrite_probes`] rewrites the probes of the result. So a rule that adds a container with a probe finds that probe in a
//! further call.

mod found;
mod originals;
mod variable;

use std::sync::Arc;

use serde_json::value::RawValue;
use vestibule_patch::{Operation, Pointer};

use super::draft::Draft;
use super::{json, origin};
use crate::decision::Origin;
use crate::diagnostic::printable_short;
use crate::pod::CONTAINER_LISTS;
use crate::rule::{ProbeRewrite, Rule};
use crate::subject::string_member;
use found::{FoundProbe, HTTP_GET, found_probes};
use originals::{Originals, RuleOriginals};
use variable::Variable;

/// The bound for the annotation and the variable, in bytes. The API server refuses annotations of 256 KiB, and Linux refuses to start a
/// process with a variable of 128 KiB.
const MAX_LENGTH: usize = 100 * 1024;

/// The object with rewritten probes.
pub(crate) struct RewrittenProbes<'d> {
    pub(crate) draft: Draft<'d>,
    pub(crate) probes: Vec<RewrittenProbe>,
    pub(crate) warnings: Vec<String>,
}

pub(crate) struct RewrittenProbe {
    /// The name of the rule.
    pub(crate) rule: Arc<str>,
    pub(crate) container: String,
    /// `livenessProbe`
    pub(crate) member: &'static str,
}

/// Undoes the rewriting that earlier calls did for `rules`. Returns the rules that have rewritten a probe.
pub(crate) fn restore_probes<'r>(rules: &[&'r Rule], draft: &mut Draft<'_>) -> Vec<&'r Rule> {
    let rewrites = rewrites(rules);
    let mut originals = if rewrites.is_empty() { Originals::default() } else { Originals::read(draft) };
    let mut restored = Vec::new();
    for (rule, rewrite) in rewrites {
        let Some(of_rule) = originals.take(rule.name()) else { continue };
        open_lists(draft);
        let checkpoint = draft.checkpoint();
        match restore(draft, &originals, &of_rule, rewrite, &origin(rule, &rewrite.clause)) {
            Ok(()) => restored.push(rule),
            Err(_) => {
                draft.roll_back(&checkpoint);
                originals.insert(rule.name(), of_rule);
            }
        }
    }
    restored
}

/// Puts the original handlers of a rule into their places. `others` are those of other rules.
fn restore(
    draft: &mut Draft<'_>,
    others: &Originals,
    of_rule: &RuleOriginals,
    rewrite: &ProbeRewrite,
    origin: &Origin,
) -> Result<(), String> {
    for probe in found_probes(draft) {
        match of_rule.get(&probe) {
            // Another program has added a handler and not removed this one, such as `kubectl apply` of a changed manifest.
            Some(_) if probe.is_ambiguous => {
                draft.apply(Operation::Remove { path: probe.place() }, origin.clone())?;
            }
            Some((handler, value)) => replace_handler(draft, &probe, handler, value, origin)?,
            None => {}
        }
    }
    if let Some(at) = answering_container(draft, rewrite) {
        let variable = Variable::of(draft, at, rewrite)?;
        variable.restore(of_rule.probes.keys(), of_rule.variable.as_deref(), draft, origin)?;
    }
    others.write(draft, origin)
}

/// Rewrites probes for `rules`, which are applied. `None` if no rule asks for it.
pub(crate) fn rewrite_probes<'d>(rules: &[&Rule], draft: &Draft<'d>) -> Option<RewrittenProbes<'d>> {
    let rewrites = rewrites(rules);
    if rewrites.is_empty() {
        return None;
    }
    let mut draft = draft.clone();
    open_lists(&mut draft);
    let mut rewritten = RewrittenProbes { draft, probes: Vec::new(), warnings: Vec::new() };
    let ports: Vec<i64> = rewrites.iter().map(|(_, rewrite)| rewrite.port).collect();
    for (rule, rewrite) in rewrites {
        rewritten.rewrite(rule, rewrite, &ports);
    }
    Some(rewritten)
}

impl RewrittenProbes<'_> {
    /// Rewrites all probes that ask for none of `answering_ports`, the ports of all rewriting, and that no rule has rewritten.
    fn rewrite(&mut self, rule: &Rule, rewrite: &ProbeRewrite, answering_ports: &[i64]) {
        let Some(at) = answering_container(&self.draft, rewrite) else { return };
        let originals = Originals::read(&self.draft);
        // An init container that starts before the answering container would wait for it without end.
        let starts_before = |probe: &FoundProbe| {
            probe.at.0 == "initContainers" && (at.0 == "containers" || probe.at.1 < at.1)
        };
        let stays = |probe: &FoundProbe| probe.at == at || probe.is_ambiguous || starts_before(probe);
        let (mut probes, mut unknown) = (Vec::new(), Vec::new());
        for probe in found_probes(&self.draft).into_iter().filter(|probe| !stays(probe)) {
            match probe.port {
                Some(port) if answering_ports.contains(&port) || !(1..=65535).contains(&port) => {}
                Some(_) if originals.contains(&probe) => {}
                Some(_) => probes.push(probe),
                None => unknown.push(probe),
            }
        }
        if let Some(probe) = unknown.first() {
            let more =
                if unknown.len() > 1 { format!(" ({} more)", unknown.len() - 1) } else { String::new() };
            self.warnings.push(format!(
                "the {} of container `{}` was not rewritten{more}: the container has no port of the name that it asks for",
                probe.member,
                printable_short(&probe.container)
            ));
        }
        if probes.is_empty() {
            return;
        }
        let checkpoint = self.draft.checkpoint();
        match write(&mut self.draft, originals, &probes, at, rule, rewrite) {
            Ok(()) => self.probes.extend(probes.into_iter().map(|probe| RewrittenProbe {
                rule: Arc::clone(&rule.name),
                container: probe.container,
                member: probe.member,
            })),
            Err(why) => {
                self.draft.roll_back(&checkpoint);
                self.warnings.push(format!("rule {} rewrote no probes: {why}", rule.name));
            }
        }
    }
}

/// Writes the originals of `probes` to the annotation and to the variable of the container at `at`, and rewrites them.
fn write(
    draft: &mut Draft<'_>,
    mut originals: Originals,
    probes: &[FoundProbe],
    at: (&'static str, usize),
    rule: &Rule,
    rewrite: &ProbeRewrite,
) -> Result<(), String> {
    let origin = &origin(rule, &rewrite.clause);
    let mut variable = Variable::of(draft, at, rewrite)?;
    let mut written =
        RuleOriginals { variable: variable.value().map(str::to_owned), ..RuleOriginals::default() };
    for probe in probes {
        let url = rewrite.url(&probe.container, probe.word);
        let handler = RawValue::from_string(probe.value.clone()).map_err(|_| json::not_json())?;
        variable.insert(url.clone(), probe)?;
        written.insert(url, rewrite.port, probe.handler, handler);
    }
    originals.insert(rule.name(), written);
    originals.write(draft, origin)?;
    variable.write(draft, origin)?;
    for probe in probes {
        let url = rewrite.url(&probe.container, probe.word);
        // The API server would add this scheme, and a further call would find another handler.
        let handler = serde_json::json!({"path": url, "port": rewrite.port, "scheme": "HTTP"});
        replace_handler(draft, probe, HTTP_GET, &json::of(&handler)?, origin)?;
    }
    Ok(())
}

/// The list and the index of the container that answers.
fn answering_container(draft: &Draft<'_>, rewrite: &ProbeRewrite) -> Option<(&'static str, usize)> {
    CONTAINER_LISTS.into_iter().find_map(|list| {
        let mut containers = draft.at(&draft.layout.list(list))?.iter();
        let found = containers
            .position(|one| string_member(one, "name").is_some_and(|name| name == *rewrite.container));
        found.map(|index| (list, index))
    })
}

/// Opens the lists of containers, into which many operations go.
fn open_lists(draft: &mut Draft<'_>) {
    CONTAINER_LISTS.iter().for_each(|list| draft.open_at(&draft.layout.list(list)));
}

/// Puts the handler `member` with the value `value` into the place of the handler of `probe`.
fn replace_handler(
    draft: &mut Draft<'_>,
    probe: &FoundProbe,
    member: &str,
    value: &RawValue,
    origin: &Origin,
) -> Result<(), String> {
    let (path, value) = (probe.probe.child(member), Arc::from(value.to_owned()));
    if member == probe.handler {
        return draft.apply(Operation::Replace { path, value }, origin.clone());
    }
    draft.apply(Operation::Remove { path: probe.place() }, origin.clone())?;
    draft.apply(Operation::Add { path, value }, origin.clone())
}

fn rewrites<'r>(rules: &[&'r Rule]) -> Vec<(&'r Rule, &'r ProbeRewrite)> {
    rules.iter().filter_map(|rule| Some((*rule, rule.rewrite_probes.as_ref()?))).collect()
}

/// The text of an annotation or a variable.
fn check_length(text: String, what: &str) -> Result<String, String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("{what} would have more than {} KiB", MAX_LENGTH / 1024));
    }
    Ok(text)
}

/// Sets a text.
fn set_text(draft: &mut Draft<'_>, path: &Pointer, text: &str, origin: &Origin) -> Result<(), String> {
    draft.set(path.clone(), json::of(text)?, origin.clone())
}
