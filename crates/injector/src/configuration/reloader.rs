//! Compiles changed texts of rules, and replaces the snapshot in force.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;

use super::compiler::Compiler;
use super::finding::Finding;
use super::namespaced::NamespacedSnapshot;
use super::proof_deadline::ProofDeadline;
use super::resolve::{Resolution, add_unknown, errors_of, resolve};
use super::rule_source::{RuleDocument, RuleSource};
use super::snapshot::{Snapshot, SnapshotState};

/// Brings the newest texts into force, and remembers the last good documents.
pub(crate) struct Reloader {
    pub(super) compiler: Compiler,
    /// Held for the whole of a reload. A validation does not take it, so it need not wait for the proofs of a reload.
    reloading: Mutex<()>,
    known: Mutex<Known>,
    snapshots: watch::Sender<Arc<Snapshot>>,
}

#[derive(Default)]
struct Known {
    /// The texts of the last reload; [`None`] before the first one.
    sources: Option<Vec<RuleSource>>,
    /// The rules of namespaces of the last reload.
    namespaced: Vec<RuleSource>,
    /// The documents in force, or those stored before a restart.
    last_good: Option<Vec<RuleDocument>>,
}

/// The findings about texts that are not stored yet.
pub(crate) struct Validation {
    /// The errors in the texts, and those that they cause elsewhere.
    pub(crate) errors: Vec<Finding>,
    /// Warnings and hints.
    pub(crate) remarks: Vec<Finding>,
    /// Whether all rules were proved in time. If not, there may be more errors, and there are no remarks.
    pub(crate) is_complete: bool,
}

impl Reloader {
    /// A reloader without rules, and the receiver of its snapshots. `waits_for` is the reason that `/readyz` gives.
    pub(crate) fn new(compiler: Compiler, waits_for: &str) -> (Arc<Self>, watch::Receiver<Arc<Snapshot>>) {
        let waiting = Snapshot::waiting(vec![Finding::RuleSet(waits_for.to_owned())]);
        let (snapshots, receiver) = watch::channel(Arc::new(waiting));
        let (reloading, known) = (Mutex::default(), Mutex::default());
        (Arc::new(Self { compiler, reloading, known, snapshots }), receiver)
    }

    pub(crate) fn current(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshots.borrow())
    }

    /// Sets the documents that were good before a restart.
    pub(crate) fn restore(&self, last_good: Vec<RuleDocument>) {
        self.known().last_good = Some(last_good);
    }

    /// The snapshot in force, and the documents that it was made of: none while it waits for good rules.
    pub(crate) fn in_force(&self) -> (Arc<Snapshot>, Vec<RuleDocument>) {
        let known = self.known();
        let snapshot = self.current();
        let documents = known.last_good.as_ref().filter(|_| snapshot.state() != SnapshotState::Waiting);
        let documents = documents.cloned().unwrap_or_default();
        (snapshot, documents)
    }

    /// Brings `sources` into force as far as they are good. Returns the good documents, to be stored, where they changed.
    pub(crate) fn reload(&self, sources: Vec<RuleSource>) -> Option<Vec<RuleDocument>> {
        let _reloading = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let (namespaced, sources): (Vec<_>, Vec<_>) =
            sources.into_iter().partition(RuleSource::is_namespaced);
        let before = {
            let known = self.known();
            if known.sources.as_ref() == Some(&sources) {
                let is_new = known.namespaced != namespaced;
                drop(known);
                if is_new {
                    self.reload_namespaced(namespaced);
                }
                return None;
            }
            known.last_good.clone()
        };
        let last_good = before.as_deref().unwrap_or_default();
        let Resolution { in_force, errors } =
            resolve(&sources, last_good, &self.compiler, &ProofDeadline::none());
        let former = Arc::clone(&self.snapshots.borrow());
        let (next, good) = match (in_force, &before) {
            (Some((snapshot, documents)), _) if errors.is_empty() => {
                (snapshot.at(SystemTime::now()), Some(documents))
            }
            (Some((snapshot, documents)), Some(_)) => {
                (snapshot.instead_of(errors, former.since()), Some(documents))
            }
            (None, Some(_)) if former.state() != SnapshotState::Waiting => {
                (Snapshot::clone(&former).instead_of(errors, former.since()), None)
            }
            (None, Some(last_good)) => (self.last_good_snapshot(last_good, errors), None),
            (_, None) => (Snapshot::waiting(errors), None),
        };
        log(&next);
        let own = former.namespaced.under(next.rules());
        let good = good.filter(|good| before.as_ref() != Some(good));
        // The snapshot and its documents change together.
        let mut known = self.known();
        self.snapshots.send_replace(Arc::new(next.with_namespaced(own).after(&former)));
        known.sources = Some(sources);
        known.last_good = good.clone().or(known.last_good.take());
        let has_namespaced = !namespaced.is_empty() || !known.namespaced.is_empty();
        drop(known);
        // Rules of namespaces may be many, and those of the cluster do not wait until they are compiled.
        if has_namespaced {
            self.reload_namespaced(namespaced);
        }
        good
    }

    /// Brings rules of namespaces into force beside the rules of the cluster, which stay as they are: a team that changes its rule
    /// often does not make the injector compile all rules.
    fn reload_namespaced(&self, namespaced: Vec<RuleSource>) {
        let former = self.current();
        let own =
            NamespacedSnapshot::compile(&namespaced, former.rules(), &former.namespaced, &self.compiler);
        let next = Snapshot::clone(&former).with_namespaced(own);
        self.snapshots.send_replace(Arc::new(next.after(&former)));
        self.known().namespaced = namespaced;
    }

    /// Checks the rule of a namespace in `source` as if it were stored. Nothing comes into force.
    pub(crate) fn validate_namespaced(&self, source: &RuleSource, deadline: &ProofDeadline) -> Validation {
        let snapshot = self.current();
        let checked = snapshot.namespaced.check(source, snapshot.rules(), &self.compiler, deadline);
        let is_complete = !deadline.was_reached();
        match checked {
            Ok(remarks) => Validation { errors: Vec::new(), remarks, is_complete },
            Err(mut errors) => {
                errors.retain(Finding::is_error);
                Validation { errors, remarks: Vec::new(), is_complete }
            }
        }
    }

    /// Checks the texts `by` as if they stood in the place of the sources for which `replaced` holds. Nothing comes into
    /// force.
    pub(crate) fn validate(
        &self,
        replaced: impl Fn(&str) -> bool,
        by: &[RuleSource],
        deadline: &ProofDeadline,
    ) -> Validation {
        let (mut sources, last_good) = {
            let known = self.known();
            (known.sources.clone().unwrap_or_default(), known.last_good.clone().unwrap_or_default())
        };
        let before: Vec<_> = self.snapshots.borrow().findings().iter().map(Finding::headline).collect();
        let is_new =
            |finding: &Finding| finding.source().is_some_and(|name| by.iter().any(|it| it.name == name));
        sources.retain(|source| !replaced(&source.name));
        // The new texts come last: a contradiction is reported of the later document.
        sources.extend(by.iter().cloned());
        let Resolution { in_force, mut errors } = resolve(&sources, &last_good, &self.compiler, deadline);
        errors.retain(|finding| is_new(finding) || !before.contains(&finding.headline()));
        let in_force = in_force.filter(|_| !deadline.was_reached());
        let mut remarks = in_force.map_or_else(Vec::new, |(snapshot, _)| {
            let hints = snapshot.rules().lint().into_iter().map(Finding::from);
            snapshot.findings().iter().cloned().chain(hints).collect()
        });
        remarks.retain(|finding| !finding.is_error() && is_new(finding));
        Validation { errors, remarks, is_complete: !deadline.was_reached() }
    }

    /// For a restart with texts that contradict each other: the documents that were good before it.
    fn last_good_snapshot(&self, last_good: &[RuleDocument], mut errors: Vec<Finding>) -> Snapshot {
        let texts: Vec<_> = last_good.iter().map(RuleDocument::text).collect();
        match self.compiler.compile(&texts, &ProofDeadline::none()) {
            Ok(rules) => Snapshot::new(rules).instead_of(errors, None),
            Err(findings) => {
                add_unknown(&mut errors, errors_of(findings));
                Snapshot::waiting(errors)
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One line with the codes, then a line for each error. No line holds a value of the author.
fn log(next: &Snapshot) {
    const MAX_ERRORS: usize = 20;
    let errors = next.findings().iter().filter(|finding| finding.is_error());
    let codes: Vec<_> = next.findings().iter().map(Finding::code).collect();
    let (rules, codes) = (next.rules().rules().len(), codes.join(","));
    let hash = next.rules().hash();
    match next.state() {
        SnapshotState::Current => {
            tracing::info!(hash, rules, codes, "the rules are in force as they are written");
        }
        SnapshotState::LastGood => {
            tracing::warn!(hash, rules, codes, "rules are wrong; the last good ones are in force");
        }
        SnapshotState::Waiting => {
            tracing::error!(codes, "rules are wrong, and there are none to fall back to: not ready");
        }
    }
    for finding in errors.take(MAX_ERRORS) {
        tracing::warn!("{}", finding.headline());
    }
}

#[cfg(test)]
mod tests;
