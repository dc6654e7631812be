//! The folder of a local CA where files have no modes: none is used.

use std::path::Path;

use vestibule_pki::{Authority, AuthorityError};

use crate::IdentityError;

/// No value of it exists.
pub(crate) enum Folder {}

impl Folder {
    pub(crate) fn lock(path: &Path) -> Result<Self, IdentityError> {
        let problem = "cannot hold a CA on this system: whether other users may read the key is only known from the modes of Unix";
        Err(IdentityError::Folder { path: path.to_owned(), problem: problem.to_owned() })
    }

    pub(crate) fn load(&self) -> Result<Option<Authority>, IdentityError> {
        match *self {}
    }

    pub(crate) fn store(&self, _: &Authority) -> Result<(), IdentityError> {
        match *self {}
    }

    pub(crate) fn unusable(&self, _: AuthorityError) -> IdentityError {
        match *self {}
    }
}
