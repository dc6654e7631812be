//! A CA in a folder or in memory, and a leaf in memory.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls_pki_types::UnixTime;
use vestibule_pki::{Authority, AuthorityError, Leaf};

use crate::folder::Folder;
use crate::{Identity, IdentityError, Status};

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
const AUTHORITY_LIFE: Duration = YEAR.saturating_mul(10);
const LEAF_LIFE: Duration = YEAR;

/// A certificate for a laptop, a test or a single process: the CA is kept in a folder so that it need be registered
/// only once, or in memory; the leaf is made anew at each start and lives for a year.
pub struct Local {
    ca_bundle: Arc<str>,
    leaf: Arc<Leaf>,
}

impl Local {
    /// Uses the CA in `folder` (`ca.crt`, `ca.key`), or makes one there that lives for ten years, readable by the
    /// owner only. Processes that start at the same time end with the same CA.
    ///
    /// # Errors
    /// Files that cannot be read or written, a key that others may read, a CA that has expired or is none.
    pub fn open(folder: &Path, names: &[impl AsRef<str>], now: SystemTime) -> Result<Self, IdentityError> {
        let now = unix_time(now);
        let folder = Folder::lock(folder)?;
        let authority = match folder.load()? {
            Some(authority) => authority,
            None => {
                let authority = new_authority(now)?;
                folder.store(&authority)?;
                authority
            }
        };
        Self::issue(&authority, names, now).map_err(|error| match error {
            AuthorityError::Verify(_) => folder.unusable(error),
            other => IdentityError::Leaf(other),
        })
    }

    /// A CA that nobody else knows and that ends with the process.
    ///
    /// # Errors
    /// Names that cannot stand in a certificate.
    pub fn in_memory(names: &[impl AsRef<str>], now: SystemTime) -> Result<Self, IdentityError> {
        let now = unix_time(now);
        Self::issue(&new_authority(now)?, names, now).map_err(IdentityError::Leaf)
    }

    fn issue(
        authority: &Authority,
        names: &[impl AsRef<str>],
        now: UnixTime,
    ) -> Result<Self, AuthorityError> {
        let leaf = authority.issue(names, now, LEAF_LIFE)?;
        Ok(Self { ca_bundle: authority.certificate_pem().into(), leaf: Arc::new(leaf) })
    }
}

impl Identity for Local {
    fn present(&self) -> Option<Arc<Leaf>> {
        Some(Arc::clone(&self.leaf))
    }

    fn ca_bundle(&self) -> Option<Arc<str>> {
        Some(Arc::clone(&self.ca_bundle))
    }

    fn status(&self) -> Status {
        let not_after = SystemTime::UNIX_EPOCH + Duration::from_secs(self.leaf.not_after.as_secs());
        Status { leaf_not_after: Some(not_after), ..Status::default() }
    }
}

fn new_authority(now: UnixTime) -> Result<Authority, IdentityError> {
    Authority::new("vestibule local CA", now, AUTHORITY_LIFE).map_err(IdentityError::Leaf)
}

fn unix_time(now: SystemTime) -> UnixTime {
    UnixTime::since_unix_epoch(now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}
