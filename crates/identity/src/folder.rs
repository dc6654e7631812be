//! The pair of files that holds a local CA.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use vestibule_pki::{Authority, AuthorityError};
use zeroize::Zeroizing;

use crate::IdentityError;

/// A folder that this process alone looks into until the value is dropped.
pub(crate) struct Folder {
    certificate: PathBuf,
    key: PathBuf,
    /// Locked: of several processes that find no CA, one makes it and the others then find it.
    _lock: File,
}

impl Folder {
    /// Waits for other processes that hold the lock; they hold it for milliseconds.
    pub(crate) fn lock(path: &Path) -> Result<Self, IdentityError> {
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed("create", path))?;
        let lock = File::open(path).map_err(failed("open", path))?;
        let mode = lock.metadata().map_err(failed("read", path))?.permissions().mode() & 0o777;
        if mode & 0o002 != 0 {
            return Err(IdentityError::FolderWritable { path: path.to_owned(), mode });
        }
        lock.lock().map_err(failed("lock", path))?;
        Ok(Self { certificate: path.join("ca.crt"), key: path.join("ca.key"), _lock: lock })
    }

    pub(crate) fn load(&self) -> Result<Option<Authority>, IdentityError> {
        let certificate = present(&self.certificate, fs::read_to_string(&self.certificate))?;
        let key = self.read_key()?;
        match (certificate, key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => {
                Authority::from_pem(&certificate, &key).map(Some).map_err(|error| self.unusable(error))
            }
            (Some(_), None) => Err(half_pair(&self.certificate, &self.key)),
            (None, Some(_)) => Err(half_pair(&self.key, &self.certificate)),
        }
    }

    /// The certificate comes last, and each file appears whole or not at all.
    pub(crate) fn store(&self, authority: &Authority) -> Result<(), IdentityError> {
        write(&self.key, 0o600, authority.key_pem().as_bytes())?;
        write(&self.certificate, 0o644, authority.certificate_pem().as_bytes())
    }

    pub(crate) fn unusable(&self, source: AuthorityError) -> IdentityError {
        IdentityError::Authority { certificate: self.certificate.clone(), key: self.key.clone(), source }
    }

    fn read_key(&self) -> Result<Option<Zeroizing<String>>, IdentityError> {
        let path = &self.key;
        let Some(metadata) = present(path, fs::metadata(path))? else {
            return Ok(None);
        };
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(IdentityError::KeyReadable { path: path.clone(), mode });
        }
        present(path, fs::read_to_string(path).map(Zeroizing::new))
    }
}

fn write(path: &Path, mode: u32, content: &[u8]) -> Result<(), IdentityError> {
    let unfinished = path.with_extension("unfinished");
    // One left behind by a process that died; under the lock it is nobody else's.
    present(&unfinished, fs::remove_file(&unfinished))?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&unfinished)
        .map_err(failed("create", &unfinished))?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(failed("write", &unfinished))?;
    fs::rename(&unfinished, path).map_err(failed("create", path))
}

fn present<T>(path: &Path, outcome: io::Result<T>) -> Result<Option<T>, IdentityError> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path)(error)),
    }
}

fn half_pair(present: &Path, missing: &Path) -> IdentityError {
    IdentityError::HalfPair { present: present.to_owned(), missing: missing.to_owned() }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> IdentityError {
    let path = path.to_owned();
    move |source| IdentityError::File { action, path, source }
}
