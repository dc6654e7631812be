//! Presents a certificate from files of another issuer: cert-manager, or a Secret that the kubelet mounts.

mod files;
mod selection;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwapOption;
use rustls_pki_types::UnixTime;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use vestibule_pki::Leaf;

use self::files::Content;
use self::selection::{Outcome, Pair, Selection};
use crate::log_throttle::LogThrottle;
use crate::time::{system_time, unix_time};
use crate::{Identity, IdentityError, IdentityEvent, MountedFiles, Observer, Settings, Status};

/// Presents the certificate of a folder, and each new one that replaces it.
///
/// The content of the files is compared once a second, so no file system events are needed for swapped links or files that
/// are written one after another. A certificate and a key of different generations are not adopted: the last good pair is
/// presented while it is valid, and a warning is logged. Files that are missing at the start are waited for.
pub struct Mounted {
    shared: Arc<Shared>,
    /// The task ends when this is dropped.
    _polling: JoinSet<()>,
}

impl Mounted {
    /// Looks into `folder` now, and again and again until the value is dropped. Of the settings it uses `mounted`, the
    /// names and the observer.
    ///
    /// # Errors
    /// There is no Tokio runtime around the call.
    pub fn start(folder: &Path, settings: &Settings) -> Result<Arc<Self>, IdentityError> {
        let runtime = Handle::try_current().map_err(|_| IdentityError::Runtime { identity: "mounted" })?;
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            files: settings.mounted.clone(),
            // Only the first name is required: API servers ask for it, and another issuer may not know the other names.
            name: settings.all_names().into_iter().next(),
            presented: ArcSwapOption::empty(),
            state: Mutex::default(),
            warnings: LogThrottle::default(),
            observer: settings.observer.clone(),
        });
        shared.read_files();
        let mut polling = JoinSet::new();
        polling.spawn_on(poll(Arc::clone(&shared)), &runtime);
        Ok(Arc::new(Self { shared, _polling: polling }))
    }
}

impl Identity for Mounted {
    fn present(&self) -> Option<Arc<Leaf>> {
        self.shared.presented.load().as_ref().map(|pair| Arc::clone(&pair.leaf))
    }

    fn ca_bundle(&self) -> Option<Arc<str>> {
        self.shared.presented.load().as_ref().and_then(|pair| pair.ca_bundle.clone())
    }

    fn status(&self) -> Status {
        let now = unix_time(SystemTime::now());
        let presented = self.shared.presented.load();
        Status {
            waiting_for: self.shared.waiting_for(now),
            leaf_not_after: presented.as_ref().map(|pair| system_time(pair.leaf.not_after.as_secs())),
            authorities: presented.as_ref().map(|pair| pair.authorities.clone()).unwrap_or_default(),
            ..Status::default()
        }
    }
}

async fn poll(shared: Arc<Shared>) {
    let mut ticks = tokio::time::interval(shared.files.poll.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let shared = Arc::clone(&shared);
        // A folder on a network may take its time.
        if tokio::task::spawn_blocking(move || shared.read_files()).await.is_err() {
            tracing::debug!("a read of mounted certificates was cut short");
        }
    }
}

struct Shared {
    folder: PathBuf,
    files: MountedFiles,
    name: Option<String>,
    presented: ArcSwapOption<Pair>,
    state: Mutex<PollState>,
    warnings: LogThrottle,
    observer: Option<Arc<dyn Observer>>,
}

#[derive(Default)]
struct PollState {
    selection: Selection,
    problem: Option<String>,
    /// The problem that was counted last; [`None`] after a read without one.
    counted: Option<String>,
}

impl Shared {
    fn read_files(&self) {
        let content = Content::read(&self.folder, &self.files);
        let now = unix_time(SystemTime::now());
        let mut state = self.lock_state();
        let presented = self.presented.load();
        let outcome =
            state.selection.select(content, presented.as_deref(), &self.files, self.name.as_deref(), now);
        let failed = self.report_problem(&mut state, &outcome);
        let renewed = outcome.adopted.and_then(|adopted| self.adopt(adopted, presented.as_deref()));
        state.problem = outcome.problem;
        // The observer may ask for the status, which takes this lock.
        drop(state);
        if let Some(observer) = &self.observer {
            failed.iter().chain(&renewed).for_each(|event| observer.happened(event));
        }
    }

    fn adopt(&self, adopted: Pair, former: Option<&Pair>) -> Option<IdentityEvent> {
        let folder = self.folder.display();
        let renewed = former.is_none_or(|former| former.leaf.chain != adopted.leaf.chain);
        if renewed {
            tracing::info!(%folder, "a new serving certificate was read");
        } else {
            tracing::info!(%folder, "new CAs were read; the serving certificate is the same");
        }
        let not_after = system_time(adopted.leaf.not_after.as_secs());
        self.presented.store(Some(Arc::new(adopted)));
        renewed.then_some(IdentityEvent::LeafRenewed { not_after })
    }

    fn waiting_for(&self, now: UnixTime) -> Option<String> {
        let is_valid = || self.presented.load().as_ref().is_some_and(|pair| now <= pair.leaf.not_after);
        if is_valid() {
            return None;
        }
        // Check again under the lock: a read in between may have found a certificate.
        let state = self.lock_state();
        (!is_valid()).then(|| {
            let problem = state.problem.as_deref().unwrap_or("it has expired");
            format!("a valid certificate in {}: {problem}", self.folder.display())
        })
    }

    /// Logs a problem at most once in 30 s while it lasts; returns it when it begins, to be counted.
    fn report_problem(&self, state: &mut PollState, outcome: &Outcome) -> Option<IdentityEvent> {
        let Some(reason) = &outcome.problem else {
            state.counted = None;
            return None;
        };
        if !outcome.is_settled {
            return None;
        }
        let object = self.folder.display().to_string();
        let outcome =
            if outcome.is_presented { "is presented, but clients may refuse it" } else { "is not taken" };
        self.warnings.warn(&format!("the certificate in {object} {outcome}: {reason}"));
        let is_new = state.counted.as_ref() != Some(reason);
        state.counted = Some(reason.clone());
        is_new.then(|| IdentityEvent::Failed { object, reason: reason.clone() })
    }

    fn lock_state(&self) -> MutexGuard<'_, PollState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
