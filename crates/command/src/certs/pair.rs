//! A certificate for a server that keeps none itself: made once, under a CA that signs nothing else.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustls_pki_types::UnixTime;
use vestibule_pki::{Authority, AuthorityError};
use zeroize::Zeroizing;

use super::time::system_time;
use crate::CommandError;

const FILES: [&str; 3] = ["ca.crt", "server.crt", "server.key"];

/// A serving certificate, its key, and the CA that signed it. The CA's key is erased as soon as it has signed, so that
/// no other certificate that these clients trust can be signed. No `Debug`: it holds a key.
pub(super) struct Pair {
    /// The CA in PEM, for `caBundle`.
    pub(super) ca_bundle: String,
    /// The certificate in PEM: a `tls.crt`.
    pub(super) chain: String,
    /// The key as PKCS#8 in PEM: a `tls.key`.
    pub(super) key: Zeroizing<String>,
    /// The end of both certificates.
    pub(super) not_after: SystemTime,
}

impl Pair {
    /// Makes a CA and a certificate for these DNS names and IP addresses, both valid from an hour before `now` until
    /// `life` after it. Verified as a client would.
    pub(super) fn new(
        names: &[impl AsRef<str>],
        now: SystemTime,
        life: Duration,
    ) -> Result<Self, AuthorityError> {
        let now = UnixTime::since_unix_epoch(now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
        let authority = Authority::new(&common_name(names), now, life)?;
        let leaf = authority.issue(names, now, life)?;
        Ok(Self {
            ca_bundle: authority.certificate_pem().to_owned(),
            chain: leaf.chain_pem(),
            key: leaf.key_pem(),
            not_after: system_time(leaf.not_after),
        })
    }

    /// Writes `ca.crt`, `server.crt` and `server.key` (mode 0600) into a folder, which is made (mode 0700) if need be. Windows has no
    /// modes: there the files inherit the access list of the folder above.
    /// Each file appears whole or not at all. Files that exist are replaced only if `replace` is set.
    pub(super) fn write(&self, folder: &Path, replace: bool) -> Result<(), CommandError> {
        let present = FILES.map(|name| folder.join(name)).into_iter().find(|path| path.exists());
        if let Some(path) = present.filter(|_| !replace) {
            return Err(CommandError::input(format_args!(
                "{} exists already, and clients may trust it; --force replaces all three files",
                path.display()
            )));
        }
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder).map_err(failed(folder))?;
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

fn write(path: &Path, mode: u32, content: &[u8]) -> Result<(), CommandError> {
    let unfinished = path.with_extension("unfinished");
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _no_modes = mode;
    let written = match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => options.write(true).create_new(true).open(&unfinished),
    };
    let written = written.and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()));
    written.and_then(|()| fs::rename(&unfinished, path)).map_err(failed(path))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> CommandError {
    move |error| CommandError::input(format_args!("cannot write {}: {error}", path.display()))
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
    fn an_existing_ca_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.crt"), "old").unwrap();
        let pair = Pair::new(&["a.b.svc"], SystemTime::now(), DAY).unwrap();
        let error = pair.write(folder.path(), false).unwrap_err().to_string();
        assert!(error.contains("ca.crt exists already"), "{error}");
        assert!(!folder.path().join("server.key").exists());
        pair.write(folder.path(), true).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("ca.crt")).unwrap(), pair.ca_bundle);
    }
}
