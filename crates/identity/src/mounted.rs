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
use self::selection::{Kept, Look, Selection};
use crate::log_throttle::LogThrottle;
use crate::time::{system_time, unix_time};
use crate::{Identity, IdentityError, IdentityEvent, Observer, Settings, Status};

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

/// The names of the files of [`Mounted`], and how often they are read.
///
/// ```
/// use vestibule_identity::MountedFiles;
///
/// let files = MountedFiles { certificate: "server.crt".into(), key: "server.key".into(), ..MountedFiles::default() };
/// assert_eq!(files.authority, "ca.crt");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountedFiles {
    /// The certificate chain in PEM, the leaf first: `tls.crt`.
    pub certificate: String,
    /// The leaf's key in PEM: `tls.key`.
    pub key: String,
    /// The CAs in PEM, for `caBundle`: `ca.crt`. Without it there is no `caBundle`.
    pub authority: String,
    /// The time between two reads: 1 second.
    pub poll: Duration,
}

impl Default for MountedFiles {
    fn default() -> Self {
        Self {
            certificate: "tls.crt".to_owned(),
            key: "tls.key".to_owned(),
            authority: "ca.crt".to_owned(),
            poll: Duration::from_secs(1),
        }
    }
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
            kept: ArcSwapOption::empty(),
            looking: Mutex::default(),
            warnings: LogThrottle::default(),
            observer: settings.observer.clone(),
        });
        shared.look();
        let mut polling = JoinSet::new();
        polling.spawn_on(poll(Arc::clone(&shared)), &runtime);
        Ok(Arc::new(Self { shared, _polling: polling }))
    }
}

impl Identity for Mounted {
    fn present(&self) -> Option<Arc<Leaf>> {
        self.shared.kept.load().as_ref().map(|kept| Arc::clone(&kept.leaf))
    }

    fn ca_bundle(&self) -> Option<Arc<str>> {
        self.shared.kept.load().as_ref().and_then(|kept| kept.ca_bundle.clone())
    }

    fn status(&self) -> Status {
        let now = unix_time(SystemTime::now());
        let kept = self.shared.kept.load();
        Status {
            waiting_for: self.shared.waiting_for(now),
            leaf_not_after: kept.as_ref().map(|kept| system_time(kept.leaf.not_after)),
            authorities: kept.as_ref().map(|kept| kept.authorities.clone()).unwrap_or_default(),
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
        if tokio::task::spawn_blocking(move || shared.look()).await.is_err() {
            tracing::debug!("a look at mounted certificates was cut short");
        }
    }
}

struct Shared {
    folder: PathBuf,
    files: MountedFiles,
    name: Option<String>,
    kept: ArcSwapOption<Kept>,
    looking: Mutex<Looking>,
    warnings: LogThrottle,
    observer: Option<Arc<dyn Observer>>,
}

#[derive(Default)]
struct Looking {
    selection: Selection,
    problem: Option<String>,
    /// The problem that was counted last; [`None`] after a look without one.
    counted: Option<String>,
}

impl Shared {
    fn look(&self) {
        let content = Content::read(&self.folder, &self.files);
        let now = unix_time(SystemTime::now());
        let mut looking = self.looking();
        let kept = self.kept.load();
        let look = looking.selection.look(content, kept.as_deref(), &self.files, self.name.as_deref(), now);
        let failed = self.tell(&mut looking, &look);
        let renewed = look.adopted.and_then(|adopted| self.adopt(adopted, kept.as_deref()));
        looking.problem = look.problem;
        // The observer may ask for the status, which takes this lock.
        drop(looking);
        if let Some(observer) = &self.observer {
            failed.iter().chain(&renewed).for_each(|event| observer.happened(event));
        }
    }

    fn adopt(&self, adopted: Kept, former: Option<&Kept>) -> Option<IdentityEvent> {
        let folder = self.folder.display();
        let renewed = former.is_none_or(|former| former.leaf.chain != adopted.leaf.chain);
        if renewed {
            tracing::info!(%folder, "a new serving certificate was read");
        } else {
            tracing::info!(%folder, "new CAs were read; the serving certificate is the same");
        }
        let not_after = system_time(adopted.leaf.not_after);
        self.kept.store(Some(Arc::new(adopted)));
        renewed.then_some(IdentityEvent::LeafRenewed { not_after })
    }

    fn waiting_for(&self, now: UnixTime) -> Option<String> {
        let is_valid = || self.kept.load().as_ref().is_some_and(|kept| now <= kept.leaf.not_after);
        if is_valid() {
            return None;
        }
        // Look again: the look before may have found a certificate, which ends its problem.
        let looking = self.looking();
        (!is_valid()).then(|| {
            let problem = looking.problem.as_deref().unwrap_or("it has expired");
            format!("a valid certificate in {}: {problem}", self.folder.display())
        })
    }

    /// Logs a problem at most once in 30 s while it lasts; returns it when it begins, to be counted.
    fn tell(&self, looking: &mut Looking, look: &Look) -> Option<IdentityEvent> {
        let Some(reason) = &look.problem else {
            looking.counted = None;
            return None;
        };
        if !look.settled {
            return None;
        }
        let object = self.folder.display().to_string();
        self.warnings.warn(&format!("the certificate in {object} cannot be taken: {reason}"));
        let is_new = looking.counted.as_ref() != Some(reason);
        looking.counted = Some(reason.clone());
        is_new.then(|| IdentityEvent::Failed { object, reason: reason.clone() })
    }

    fn looking(&self) -> MutexGuard<'_, Looking> {
        self.looking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
