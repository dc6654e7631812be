//! A certificate for a server that keeps none itself: made once, under a CA that signs nothing else.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use vestibule_pki::{Authority, AuthorityError};
use zeroize::Zeroizing;

use crate::time::{system_time, unix_time};

const FILES: [&str; 3] = ["ca.crt", "server.crt", "server.key"];

/// A serving certificate, its key, and the CA that signed it. The CA's key is erased as soon as it has signed, so that
/// no other certificate that these clients trust can be signed. No `Debug`: it holds a key.
///
/// ```
/// # use std::time::{Duration, SystemTime};
/// let pair = vestibule_identity::Pair::new(&["hooks.demo.svc"], SystemTime::now(), Duration::from_secs(86400))?;
/// assert!(pair.ca_bundle().starts_with("-----BEGIN CERTIFICATE-----"));
/// # Ok::<(), vestibule_identity::AuthorityError>(())
/// ```
pub struct Pair {
    ca_bundle: String,
    chain: String,
    key: Zeroizing<String>,
    not_after: SystemTime,
}

/// Why a pair cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PairError {
    /// There is one already, and clients may trust it.
    #[error("{} exists already, and clients may trust it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Pair {
    /// Makes a CA and a certificate for these DNS names and IP addresses, both valid from an hour before `now` until
    /// `life` after it. Verified as a client would.
    ///
    /// # Errors
    /// No names, a name that is none, a life that no certificate can hold.
    pub fn new(names: &[impl AsRef<str>], now: SystemTime, life: Duration) -> Result<Self, AuthorityError> {
        let now = unix_time(now);
        let authority = Authority::new(&common_name(names), now, life)?;
        let leaf = authority.issue(names, now, life)?;
        Ok(Self {
            ca_bundle: authority.certificate_pem().to_owned(),
            chain: leaf.chain_pem(),
            key: leaf.key_pem(),
            not_after: system_time(leaf.not_after),
        })
    }

    /// The CA in PEM, for `caBundle`.
    #[must_use]
    pub fn ca_bundle(&self) -> &str {
        &self.ca_bundle
    }

    /// The certificate in PEM: a `tls.crt`.
    #[must_use]
    pub fn chain(&self) -> &str {
        &self.chain
    }

    /// The key as PKCS#8 in PEM: a `tls.key`.
    #[must_use]
    pub fn key(&self) -> &Zeroizing<String> {
        &self.key
    }

    /// The end of both certificates.
    #[must_use]
    pub fn not_after(&self) -> SystemTime {
        self.not_after
    }

    /// Writes `ca.crt`, `server.crt` and `server.key` (mode 0600) into a folder, which is made (mode 0700) if need be.
    /// Each file appears whole or not at all.
    ///
    /// # Errors
    /// One of the files is there and `replace` is not set; a file cannot be written.
    pub fn write(&self, folder: &Path, replace: bool) -> Result<(), PairError> {
        let present = FILES.map(|name| folder.join(name)).into_iter().find(|path| path.exists());
        if let Some(path) = present.filter(|_| !replace) {
            return Err(PairError::Exists { path });
        }
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed(folder))?;
        let [ca, certificate, key] = FILES;
        write(&folder.join(key), 0o600, self.key.as_bytes())?;
        write(&folder.join(certificate), 0o644, self.chain.as_bytes())?;
        write(&folder.join(ca), 0o644, self.ca_bundle.as_bytes())
    }
}

/// Names tell pairs apart for people; a common name has at most 64 characters (RFC 5280, ub-common-name).
fn common_name(names: &[impl AsRef<str>]) -> String {
    let first = names.first().map(AsRef::as_ref).unwrap_or_default();
    format!("one-time CA for {first}").chars().take(64).collect()
}

fn write(path: &Path, mode: u32, content: &[u8]) -> Result<(), PairError> {
    let unfinished = path.with_extension("unfinished");
    let written = match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => OpenOptions::new().write(true).create_new(true).mode(mode).open(&unfinished),
    };
    let written = written.and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()));
    written.and_then(|()| fs::rename(&unfinished, path)).map_err(failed(path))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> PairError {
    let path = path.to_owned();
    move |source| PairError::File { path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_key_is_its_owners_alone_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("deep/certs");
        let pair = Pair::new(&["a.b.svc", "127.0.0.1"], SystemTime::now(), DAY).unwrap();
        pair.write(&folder, false).unwrap();
        assert_eq!((mode(&folder), mode(&folder.join("server.key"))), (0o700, 0o600));
        assert_eq!(mode(&folder.join("ca.crt")), 0o644);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    }

    #[test]
    fn what_somebody_may_trust_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.crt"), "old").unwrap();
        let pair = Pair::new(&["a.b.svc"], SystemTime::now(), DAY).unwrap();
        assert!(matches!(pair.write(folder.path(), false), Err(PairError::Exists { .. })));
        assert!(!folder.path().join("server.key").exists());
        pair.write(folder.path(), true).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("ca.crt")).unwrap(), pair.ca_bundle());
    }
}
