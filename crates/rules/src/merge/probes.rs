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
use crate::diagnostic::shown;
use crate::rule::{ProbeRewrite, Rule};
use found::{FoundProbe, HTTP_GET, Port, found_probes};
use originals::Originals;
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

/// Undoes the rewriting that an earlier call did for `rules`, with the annotation and the variables. Returns the rules that have
/// rewritten a probe.
pub(crate) fn restore_probes<'r>(rules: &[&'r Rule], draft: &mut Draft<'_>) -> Vec<&'r Rule> {
    let rewrites = rewrites(rules);
    if rewrites.is_empty() {
        return Vec::new();
    }
    let originals = Originals::read(draft);
    let mut restored = Vec::new();
    for (rule, rewrite) in rewrites {
        let probes = found_probes(draft).into_iter().filter(|probe| is_rewritten(probe, rewrite));
        let known = probes.filter_map(|probe| Some((originals.get(&probe)?, probe)));
        let known: Vec<_> = known.collect();
        let checkpoint = draft.checkpoint();
        match restore(draft, &known, rewrite, &origin(rule, &rewrite.clause)) {
            Ok(()) if known.is_empty() => {}
            Ok(()) => restored.push(rule),
            Err(_) => draft.roll_back(&checkpoint),
        }
    }
    restored
}

/// Puts the original handlers into their places.
fn restore(
    draft: &mut Draft<'_>,
    known: &[((&str, &RawValue), FoundProbe)],
    rewrite: &ProbeRewrite,
    origin: &Origin,
) -> Result<(), String> {
    if known.is_empty() {
        return Ok(());
    }
    for ((handler, value), probe) in known {
        exchange(draft, probe, handler, value, origin)?;
    }
    if let Some(mut variable) = Variable::find(draft, rewrite)? {
        let urls = known.iter().map(|(_, probe)| rewrite.url(&probe.container, probe.word));
        urls.for_each(|url| variable.remove(&url));
        variable.write(draft, origin)?;
    }
    originals::remove(draft, origin)
}

/// Rewrites probes for `rules`, which are applied. `None` if no rule asks for it.
pub(crate) fn rewrite_probes<'d>(rules: &[&Rule], draft: &Draft<'d>) -> Option<RewrittenProbes<'d>> {
    let rewrites = rewrites(rules);
    if rewrites.is_empty() {
        return None;
    }
    let draft = draft.clone();
    let mut rewritten = RewrittenProbes { draft, probes: Vec::new(), warnings: Vec::new() };
    let ports: Vec<i64> = rewrites.iter().map(|(_, rewrite)| rewrite.port).collect();
    for (rule, rewrite) in rewrites {
        rewritten.rewrite(rule, rewrite, &ports);
    }
    Some(rewritten)
}

impl RewrittenProbes<'_> {
    /// Rewrites all probes that ask for none of `answering`, the ports of all rewriting.
    fn rewrite(&mut self, rule: &Rule, rewrite: &ProbeRewrite, answering: &[i64]) {
        let probes =
            found_probes(&self.draft).into_iter().filter(|probe| probe.container != rewrite.container);
        let mut rewritten: Vec<FoundProbe> = Vec::new();
        for probe in probes {
            match &probe.port {
                Port::Number(port) if answering.contains(port) => {}
                Port::Number(_) => rewritten.push(probe),
                Port::Unknown => self.warnings.push(format!(
                    "the {} of container `{}` was not rewritten: the container has no port of the name that it asks for",
                    probe.member,
                    shown(&probe.container)
                )),
            }
        }
        if rewritten.is_empty() {
            return;
        }
        let checkpoint = self.draft.checkpoint();
        match write(&mut self.draft, &rewritten, rewrite, &origin(rule, &rewrite.clause)) {
            Ok(true) => self.probes.extend(rewritten.into_iter().map(|probe| RewrittenProbe {
                rule: Arc::clone(&rule.name),
                container: probe.container,
                member: probe.member,
            })),
            Ok(false) => {}
            Err(why) => {
                self.draft.roll_back(&checkpoint);
                self.warnings.push(format!("rule {} rewrote no probes: {why}", rule.name));
            }
        }
    }
}

/// Writes the originals of `probes` to the annotation and the variable, and rewrites them. `false` if the pod does not have the
/// container that is to answer.
fn write(
    draft: &mut Draft<'_>,
    probes: &[FoundProbe],
    rewrite: &ProbeRewrite,
    origin: &Origin,
) -> Result<bool, String> {
    let Some(mut variable) = Variable::find(draft, rewrite)? else { return Ok(false) };
    let mut originals = Originals::read(draft);
    for probe in probes {
        let handler = draft.at(&probe.place()).map(|found| found.to_json()).unwrap_or_default();
        let handler = RawValue::from_string(handler.into_owned()).map_err(|_| json::not_json())?;
        variable.insert(rewrite.url(&probe.container, probe.word), probe, &handler)?;
        originals.insert(probe, handler);
    }
    originals.write(draft, origin)?;
    variable.write(draft, origin)?;
    for probe in probes {
        let url = rewrite.url(&probe.container, probe.word);
        // The API server would add this scheme, and a further call would find another handler.
        let handler = serde_json::json!({"path": url, "port": rewrite.port, "scheme": "HTTP"}).to_string();
        let handler = RawValue::from_string(handler).map_err(|_| json::not_json())?;
        exchange(draft, probe, HTTP_GET, &handler, origin)?;
    }
    Ok(true)
}

/// Puts the handler `member` with the value `value` into the place of the handler of `probe`.
fn exchange(
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

fn is_rewritten(probe: &FoundProbe, rewrite: &ProbeRewrite) -> bool {
    let asks_for = |port| matches!(probe.port, Port::Number(number) if number == port);
    probe.handler == HTTP_GET
        && asks_for(rewrite.port)
        && probe.path.as_deref() == Some(&*rewrite.url(&probe.container, probe.word))
}

fn rewrites<'r>(rules: &[&'r Rule]) -> Vec<(&'r Rule, &'r ProbeRewrite)> {
    rules.iter().filter_map(|rule| Some((*rule, rule.rewrite_probes.as_ref()?))).collect()
}

/// The text of an annotation or a variable.
fn checked(text: String, what: &str) -> Result<String, String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("{what} would have more than {} KiB", MAX_LENGTH / 1024));
    }
    Ok(text)
}

/// Sets a text.
fn set(draft: &mut Draft<'_>, path: &Pointer, text: &str, origin: &Origin) -> Result<(), String> {
    draft.set(path.clone(), json::text(text)?, origin.clone())
}
