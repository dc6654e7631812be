//! The errors of an identity. Each names the file or object and says what to do.

use std::io;
use std::path::PathBuf;

use vestibule_pki::AuthorityError;

/// Why a text names no source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// `local` or `mounted` without its folder.
    #[error("identity `{word}` needs a folder: `{word}:DIR`")]
    NoFolder {
        /// `local` or `mounted`.
        word: &'static str,
    },
    /// Anything else.
    #[error("`{given}` is no identity; use `self`, `mounted:DIR` or `local:DIR`")]
    Unknown {
        /// As given.
        given: String,
    },
}

/// Why there is no certificate to present.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// A file or folder cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// `read`, `create` and so on.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Other users may read or replace a file of the CA, or one file of the pair is missing.
    #[error("{} {problem}", path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// The problem, and the step that resolves it.
        problem: String,
    },
    /// The pair can be read, but cannot sign what clients accept: expired, or not a pair.
    #[error(
        "{} and {} cannot be used: {source}; restore them, or delete both to have a new CA made (its caBundle must then \
         be registered again)",
        certificate.display(), key.display()
    )]
    Authority {
        /// The certificate file.
        certificate: PathBuf,
        /// The key file.
        key: PathBuf,
        /// The reason.
        source: AuthorityError,
    },
    /// No CA can sign a certificate for these names.
    #[error("no serving certificate can be made: {0}")]
    Leaf(#[source] AuthorityError),
    /// The source cannot be opened without a cluster, or without files that others keep.
    #[error("identity `{identity}` cannot be used here; use `local:DIR`")]
    NotLocal {
        /// The source.
        identity: String,
    },
    /// No way to an API server is known.
    #[error("identity `self` needs a cluster, and there is no way to one: {0}, or use `local:DIR`")]
    Cluster(String),
    /// The source works in the background, and there is nothing to work in.
    #[error("identity `{identity}` needs a Tokio runtime: open it inside `block_on`, or an async `main`")]
    Runtime {
        /// The source.
        identity: &'static str,
    },
    /// The cryptographic library cannot be used as it was built.
    #[error("no TLS server can be made: {0}")]
    Tls(String),
    /// Settings that `self` cannot work with.
    #[error("identity `self` cannot begin: {reason}")]
    Settings {
        /// The missing or wrong setting.
        reason: String,
    },
}
