//! From one snapshot to the next.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;

use super::patience::Patience;
use super::settle::{Compile, Document, Settled, Source, settle};
use super::{Finding, Snapshot, State};

/// Brings texts into force, and remembers what was good.
pub(crate) struct Keeper<C> {
    compiler: C,
    /// Whose texts are brought into force: one after the other. Others need not wait for what is proved meanwhile.
    turn: Mutex<()>,
    known: Mutex<Known>,
    snapshots: watch::Sender<Arc<Snapshot>>,
}

#[derive(Default)]
struct Known {
    /// The texts as they were last seen; nothing before that.
    sources: Option<Vec<Source>>,
    /// What is in force, or was before a restart; nothing where nothing good was ever known.
    good: Option<Vec<Document>>,
}

/// What texts that nobody has applied yet would come to.
pub(crate) struct Judgement {
    /// What is wrong with them, or is wrong because of them.
    pub(crate) errors: Vec<Finding>,
    /// What their author might want to know.
    pub(crate) remarks: Vec<Finding>,
    /// Whether all was proved; otherwise more may be wrong, and nothing is remarked.
    pub(crate) is_whole: bool,
}

impl<C: Compile> Keeper<C> {
    /// One that waits for texts, and whoever follows it with it.
    pub(crate) fn new(compiler: C, waits_for: &str) -> (Arc<Self>, watch::Receiver<Arc<Snapshot>>) {
        let waiting = Snapshot::waiting(vec![Finding::Whole(waits_for.to_owned())]);
        let (snapshots, follower) = watch::channel(Arc::new(waiting));
        (Arc::new(Self { compiler, turn: Mutex::default(), known: Mutex::default(), snapshots }), follower)
    }

    /// What is in force now.
    pub(crate) fn current(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshots.borrow())
    }

    /// What was good before a restart.
    pub(crate) fn restore(&self, good: Vec<Document>) {
        self.known().good = Some(good);
    }

    /// The texts are these now. Returns the good documents where they are others than before, to be stored.
    pub(crate) fn advance(&self, sources: Vec<Source>) -> Option<Vec<Document>> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let before = {
            let known = self.known();
            if known.sources.as_ref() == Some(&sources) {
                return None;
            }
            known.good.clone()
        };
        let good = before.as_deref().unwrap_or_default();
        let Settled { settled, errors } = settle(&sources, good, &self.compiler, &Patience::default());
        let former = Arc::clone(&self.snapshots.borrow());
        let (next, good) = match (settled, &before) {
            (Some((snapshot, documents)), _) if errors.is_empty() => {
                (snapshot.at(SystemTime::now()), Some(documents))
            }
            (Some((snapshot, documents)), Some(_)) => {
                (snapshot.instead_of(errors, former.since()), Some(documents))
            }
            (None, Some(_)) if former.state() != State::Waiting => {
                (Snapshot::clone(&former).instead_of(errors, former.since()), None)
            }
            (None, Some(good)) => (self.revived(good, errors), None),
            (_, None) => (Snapshot::waiting(errors), None),
        };
        told(&next);
        self.snapshots.send_replace(Arc::new(next.after(&former)));
        let mut known = self.known();
        known.sources = Some(sources);
        let good = good.filter(|good| before.as_ref() != Some(good))?;
        known.good = Some(good.clone());
        Some(good)
    }

    /// What would be wrong if the sources that are `replaced` were these, as far as it is found out while patience lasts.
    pub(crate) fn judge(
        &self,
        replaced: impl Fn(&str) -> bool,
        by: &[Source],
        patience: &Patience,
    ) -> Judgement {
        let (mut sources, good) = {
            let known = self.known();
            (known.sources.clone().unwrap_or_default(), known.good.clone().unwrap_or_default())
        };
        let before: Vec<_> = self.snapshots.borrow().findings().iter().map(Finding::headline).collect();
        let theirs =
            |finding: &Finding| finding.source().is_some_and(|name| by.iter().any(|it| it.name == name));
        sources.retain(|source| !replaced(&source.name));
        // Behind the others: what two of them cannot both have is said of the one to come.
        sources.extend(by.iter().cloned());
        let Settled { settled, mut errors } = settle(&sources, &good, &self.compiler, patience);
        errors.retain(|finding| theirs(finding) || !before.contains(&finding.headline()));
        let settled = settled.filter(|_| !patience.is_over());
        let mut remarks = settled.map_or_else(Vec::new, |(snapshot, _)| {
            let hints = snapshot.rules().lint().into_iter().map(Finding::from);
            snapshot.findings().iter().cloned().chain(hints).collect()
        });
        remarks.retain(|finding| !finding.is_error() && theirs(finding));
        Judgement { errors, remarks, is_whole: !patience.is_over() }
    }

    /// After a restart into texts that contradict each other: all that was good before.
    fn revived(&self, good: &[Document], mut errors: Vec<Finding>) -> Snapshot {
        let texts: Vec<_> = good.iter().map(Document::text).collect();
        match self.compiler.compile(&texts, &Patience::default()) {
            Ok(snapshot) => snapshot.instead_of(errors, None),
            Err(findings) => {
                errors.extend(findings);
                Snapshot::waiting(errors)
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One line, of codes; what each is about follows, without the author's values.
fn told(next: &Snapshot) {
    const MOST: usize = 20;
    let errors = || next.findings().iter().filter(|finding| finding.is_error());
    let codes: Vec<_> = next.findings().iter().map(Finding::code).collect();
    let (rules, codes) = (next.rules().rules().len(), codes.join(","));
    let hash = next.rules().hash();
    match next.state() {
        State::Current => tracing::info!(hash, rules, codes, "the rules are in force as they are written"),
        State::LastGood => {
            tracing::warn!(hash, rules, codes, "rules are wrong; the last good ones are in force");
        }
        State::Waiting => {
            tracing::error!(codes, "rules are wrong, and there are none to fall back to: not ready");
        }
    }
    for finding in errors().take(MOST) {
        tracing::warn!("{}", finding.headline());
    }
}

#[cfg(test)]
mod tests;
