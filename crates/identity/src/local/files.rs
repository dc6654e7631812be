//! The pair of files that holds a local CA.

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, RawMode, openat, renameat, unlinkat};
use rustix::io::Errno;
use vestibule_pki::{Authority, AuthorityError};
use zeroize::Zeroizing;

use crate::{IdentityError, key_file};

const CERTIFICATE: &str = "ca.crt";
const KEY: &str = "ca.key";

/// A folder that this process has locked until the value is dropped. Files are opened relative to the open folder, so that
/// the checked folder is the one that is read, also when another folder takes its name.
pub(crate) struct Folder {
    path: PathBuf,
    /// Locked: of several processes that find no CA, one makes it and the others then find it.
    folder: File,
}

impl Folder {
    /// Waits for other processes that hold the lock; they hold it for milliseconds.
    pub(crate) fn lock(path: &Path) -> Result<Self, IdentityError> {
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed("create", path))?;
        let folder = File::open(path).map_err(failed("open", path))?;
        let metadata = folder.metadata().map_err(failed("read", path))?;
        check_owner(path, metadata.uid())?;
        let mode = metadata.mode() & 0o777;
        if mode & 0o022 != 0 {
            // Another user could put another CA into the folder.
            let problem = format!("can be written by others (mode {mode:03o}): chmod 700 {}", path.display());
            return Err(IdentityError::Folder { path: path.to_owned(), problem });
        }
        folder.lock().map_err(failed("lock", path))?;
        Ok(Self { path: path.to_owned(), folder })
    }

    pub(crate) fn load(&self) -> Result<Option<Authority>, IdentityError> {
        let (certificate, key) = (self.read(CERTIFICATE)?, self.read_key()?);
        match (certificate, key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => {
                Authority::from_pem(&certificate, &key).map(Some).map_err(|error| self.unusable(error))
            }
            (Some(_), None) => Err(self.half_pair(CERTIFICATE, KEY)),
            (None, Some(key)) => self.finish(&key).map(Some),
        }
    }

    /// Each file appears whole or not at all. Both are written before the first gets its name, so that a process that dies
    /// in between leaves what the next one needs to finish.
    pub(crate) fn store(&self, authority: &Authority) -> Result<(), IdentityError> {
        self.write(KEY, 0o600, authority.key_pem().as_bytes())?;
        self.write(CERTIFICATE, 0o644, authority.certificate_pem().as_bytes())?;
        self.rename(KEY)?;
        self.rename(CERTIFICATE)
    }

    pub(crate) fn unusable(&self, source: AuthorityError) -> IdentityError {
        let (certificate, key) = (self.path.join(CERTIFICATE), self.path.join(KEY));
        IdentityError::Authority { certificate, key, source }
    }

    /// Finishes the work of a process that died after it renamed the key: uses the certificate under its temporary name if it
    /// belongs to this key.
    fn finish(&self, key: &str) -> Result<Authority, IdentityError> {
        let remainder = self.read(&unfinished(CERTIFICATE))?;
        let authority = remainder.and_then(|certificate| Authority::from_pem(&certificate, key).ok());
        let authority = authority.ok_or_else(|| self.half_pair(KEY, CERTIFICATE))?;
        self.rename(CERTIFICATE)?;
        Ok(authority)
    }

    fn read_key(&self) -> Result<Option<Zeroizing<String>>, IdentityError> {
        let Some(file) = self.open(KEY)? else { return Ok(None) };
        let path = self.path.join(KEY);
        let mode = file.metadata().map_err(failed("read", &path))?.mode() & 0o777;
        if mode & 0o077 != 0 {
            // Another user could sign for every client that trusts the CA.
            let problem = format!("can be read by others (mode {mode:03o}): chmod 600 {}", path.display());
            return Err(IdentityError::Folder { path, problem });
        }
        key_file::read(file).map(Some).map_err(failed("read", &path))
    }

    fn read(&self, name: &str) -> Result<Option<Zeroizing<String>>, IdentityError> {
        let Some(file) = self.open(name)? else { return Ok(None) };
        key_file::read(file).map(Some).map_err(failed("read", &self.path.join(name)))
    }

    /// Opens the file once: the owner check, the type check and the read use the same descriptor.
    fn open(&self, name: &str) -> Result<Option<File>, IdentityError> {
        let path = self.path.join(name);
        // A pipe without a writer would never be opened.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match openat(&self.folder, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(failed("read", &path)(error.into())),
        };
        let metadata = file.metadata().map_err(failed("read", &path))?;
        check_owner(&path, metadata.uid())?;
        if !metadata.is_file() {
            return Err(failed("read", &path)(io::Error::new(ErrorKind::InvalidInput, "it is no file")));
        }
        Ok(Some(file))
    }

    fn write(&self, name: &str, mode: RawMode, content: &[u8]) -> Result<(), IdentityError> {
        let name = unfinished(name);
        let path = self.path.join(&name);
        // A process that died may have left this file; under the lock no other process uses it.
        match unlinkat(&self.folder, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed("remove", &path)(error.into())),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.folder, &name, flags, Mode::from_raw_mode(mode));
        let mut file = file.map(File::from).map_err(|error| failed("create", &path)(error.into()))?;
        file.write_all(content).and_then(|()| file.sync_all()).map_err(failed("write", &path))
    }

    /// Gives a finished file its own name.
    fn rename(&self, name: &str) -> Result<(), IdentityError> {
        let path = self.path.join(name);
        renameat(&self.folder, unfinished(name), &self.folder, name)
            .map_err(io::Error::from)
            .and_then(|()| self.folder.sync_all())
            .map_err(failed("create", &path))
    }

    fn half_pair(&self, present: &str, missing: &str) -> IdentityError {
        let problem = format!(
            "is there, but {} is missing: put it back, or delete the former to have a new CA made",
            self.path.join(missing).display()
        );
        IdentityError::Folder { path: self.path.join(present), problem }
    }
}

/// The owner of a file can change its mode and then its content, so only this user and root may own it.
fn check_owner(path: &Path, owner: u32) -> Result<(), IdentityError> {
    let process = rustix::process::geteuid().as_raw();
    if owner == process || owner == 0 {
        return Ok(());
    }
    let problem = format!(
        "belongs to user {owner}, and this process runs as user {process}: chown {process} {}, or name another folder",
        path.display()
    );
    Err(IdentityError::Folder { path: path.to_owned(), problem })
}

/// The name of a file before [`Folder::store`] gives it its own.
fn unfinished(name: &str) -> String {
    format!("{name}.unfinished")
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> IdentityError {
    let path = path.to_owned();
    move |source| IdentityError::File { action, path, source }
}
