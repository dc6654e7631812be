//! A CA in a folder or in memory, and a leaf in memory.

#[cfg(unix)]
mod files;
#[cfg(not(unix))]
mod unsupported;

use std::path::Path;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use rustls_pki_types::UnixTime;
use vestibule_pki::{Authority, AuthorityError, Leaf};

#[cfg(unix)]
use self::files::Folder;
#[cfg(not(unix))]
use self::unsupported::Folder;
use crate::log_throttle::LogThrottle;
use crate::time::{system_time, unix_time};
use crate::{AuthorityStatus, Identity, IdentityError, Role, Status};

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
const AUTHORITY_LIFE: Duration = YEAR.saturating_mul(10);
const LEAF_LIFE: Duration = YEAR;

/// A certificate for a laptop, a test or a single process: the CA is kept in a folder so that it need be registered
/// only once, or in memory; the leaf is made anew at each start, and after two thirds of its life of a year.
///
/// The CA's key stays in memory for that: a process keeps working when the folder is deleted, and a CA that was replaced in
/// the folder takes effect at the next start.
pub struct Local {
    ca_bundle: Arc<str>,
    names: Vec<String>,
    leaf: ArcSwap<Leaf>,
    /// Locked while a leaf is signed: one of several concurrent handshakes signs, the others present the old leaf.
    authority: Mutex<Authority>,
    authority_not_after: UnixTime,
    warnings: LogThrottle,
    clock: fn() -> SystemTime,
}

impl Local {
    /// Uses the CA in `folder` (`ca.crt`, `ca.key`), or makes one there that lives for ten years, readable by the
    /// owner only. Processes that start at the same time end with the same CA.
    ///
    /// # Errors
    /// Files that cannot be read or written, a key that others may read, a CA that has expired or is none; on Windows every
    /// folder, because the key of a CA would have no mode that keeps other users away.
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
        Self::issue(authority, names, now).map_err(|error| match error {
            AuthorityError::Verify(_) => folder.unusable(error),
            other => IdentityError::Leaf(other),
        })
    }

    /// A CA in memory that ends with the process.
    ///
    /// # Errors
    /// Names that cannot stand in a certificate.
    pub fn in_memory(names: &[impl AsRef<str>], now: SystemTime) -> Result<Self, IdentityError> {
        let now = unix_time(now);
        Self::issue(new_authority(now)?, names, now).map_err(IdentityError::Leaf)
    }

    fn issue(authority: Authority, names: &[impl AsRef<str>], now: UnixTime) -> Result<Self, AuthorityError> {
        let leaf = authority.issue(names, now, LEAF_LIFE)?;
        Ok(Self {
            ca_bundle: authority.certificate_pem().into(),
            names: names.iter().map(|name| name.as_ref().to_owned()).collect(),
            leaf: ArcSwap::from_pointee(leaf),
            authority_not_after: authority.not_after(),
            authority: Mutex::new(authority),
            warnings: LogThrottle::default(),
            clock: SystemTime::now,
        })
    }

    /// Whether the leaf is in the last third of its life and a longer one can be signed, or the clock was set back to before its
    /// begin.
    fn is_due(&self, leaf: &Leaf, now: UnixTime) -> bool {
        let life = leaf.not_after.as_secs().saturating_sub(leaf.not_before.as_secs());
        // A leaf that ends with the CA cannot be replaced by a longer one.
        let ends_soon = now.as_secs() >= leaf.not_after.as_secs().saturating_sub(life / 3)
            && leaf.not_after < self.authority_not_after;
        ends_soon || now < leaf.not_before
    }

    fn renew(&self, now: UnixTime) {
        let authority = match self.authority.try_lock() {
            Ok(authority) => authority,
            // Another thread panicked with the lock; an `Authority` is never left half changed.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if !self.is_due(&self.leaf.load(), now) {
            return;
        }
        match authority.issue(&self.names, now, LEAF_LIFE) {
            Ok(leaf) => self.leaf.store(Arc::new(leaf)),
            Err(error) => self.warnings.warn(&format!("no new serving certificate can be made: {error}")),
        }
    }

    /// A new CA has to be registered by hand, so a warning is logged from one year before its end.
    fn warn_before_expiry(&self, now: UnixTime) {
        let remaining = self.authority_not_after.as_secs().saturating_sub(now.as_secs());
        if remaining < YEAR.as_secs() {
            let days = remaining / (24 * 60 * 60);
            self.warnings.warn(&format!(
                "the local CA ends in {days} days: delete ca.crt and ca.key, start again, and register the new caBundle"
            ));
        }
    }
}

impl Identity for Local {
    fn present(&self) -> Option<Arc<Leaf>> {
        let now = unix_time((self.clock)());
        if self.is_due(&self.leaf.load(), now) {
            self.renew(now);
        }
        self.warn_before_expiry(now);
        Some(self.leaf.load_full())
    }

    fn ca_bundle(&self) -> Option<Arc<str>> {
        Some(Arc::clone(&self.ca_bundle))
    }

    fn status(&self) -> Status {
        let now = unix_time((self.clock)());
        let authority_ended = now > self.authority_not_after;
        Status {
            waiting_for: authority_ended.then(|| {
                "a new local CA: the old one has expired; delete ca.crt and ca.key, start again".to_owned()
            }),
            leaf_not_after: Some(system_time(self.leaf.load().not_after.as_secs())),
            authorities: vec![AuthorityStatus {
                role: Role::Active,
                not_after: system_time(self.authority_not_after.as_secs()),
            }],
            ..Status::default()
        }
    }
}

fn new_authority(now: UnixTime) -> Result<Authority, IdentityError> {
    Authority::new("vestibule local CA", now, AUTHORITY_LIFE).map_err(IdentityError::Leaf)
}

#[cfg(test)]
mod tests {
    use vestibule_pki::verify;

    use super::*;

    const NAMES: [&str; 1] = ["localhost"];
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    /// One that was made this long ago.
    fn made(ago: Duration) -> Local {
        Local::in_memory(&NAMES, SystemTime::now() - ago).unwrap()
    }

    #[test]
    fn a_leaf_is_renewed_after_two_thirds_of_its_life() {
        let fresh = made(DAY * 242);
        let first = fresh.present().unwrap();
        assert!(Arc::ptr_eq(&first, &fresh.present().unwrap()));

        let due = made(DAY * 244);
        let old = due.leaf.load_full();
        let new = due.present().unwrap();
        assert!(new.not_after.as_secs() > old.not_after.as_secs() + 243 * 24 * 60 * 60);
        assert_eq!(verify(&due.ca_bundle().unwrap(), &new.chain, &NAMES, UnixTime::now()), Ok(()));
        assert!(Arc::ptr_eq(&new, &due.present().unwrap()), "it is renewed once");
    }

    /// A laptop's clock was hours ahead at the start: clients refused the leaf until the clock got there.
    #[test]
    fn a_leaf_from_the_future_is_replaced_once() {
        let ahead = made(DAY);
        let tomorrow = unix_time(SystemTime::now() + DAY);
        let leaf = ahead.authority.lock().unwrap().issue(&NAMES, tomorrow, LEAF_LIFE).unwrap();
        ahead.leaf.store(Arc::new(leaf));
        let new = ahead.present().unwrap();
        assert!(new.not_before <= UnixTime::now());
        assert!(Arc::ptr_eq(&new, &ahead.present().unwrap()));
    }

    #[test]
    fn handshakes_at_the_same_time_never_wait_and_end_with_one_leaf() {
        let due = made(DAY * 300);
        let old = due.leaf.load_full();
        let held = due.authority.lock().unwrap();
        assert!(Arc::ptr_eq(&old, &due.present().unwrap()));
        drop(held);
        assert!(!Arc::ptr_eq(&old, &due.present().unwrap()));
    }

    #[test]
    fn the_end_of_the_authority_is_told_before_and_after() {
        let long = made(Duration::ZERO);
        long.present();
        assert!(!long.warnings.has_warned());

        let near = made(YEAR * 9 + DAY * 30);
        let leaf = near.present().unwrap();
        assert_eq!(leaf.not_after, near.authority_not_after, "a leaf does not outlive its CA");
        assert!(near.warnings.has_warned());
        assert_eq!(near.status().waiting_for, None);
        assert!(Arc::ptr_eq(&leaf, &near.present().unwrap()), "there is none better to be had");

        let over = made(YEAR * 10 + DAY);
        assert!(over.present().is_some(), "what a client may still take is presented");
        assert!(over.status().waiting_for.unwrap().contains("delete ca.crt"));
    }
}
