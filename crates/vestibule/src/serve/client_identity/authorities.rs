//! The CAs of client certificates, from a file.

use std::path::Path;
use std::sync::Arc;

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use vestibule_server::ClientAuthorities;

use super::file::ReloadedFile;
use super::settings::ClientError;

/// The CAs in the file at `path`, and a future that reloads them.
pub(super) fn follow(
    path: &Path,
    names: Vec<String>,
) -> Result<(Arc<ClientAuthorities>, impl Future<Output = ()> + Send + use<>), ClientError> {
    let file = ReloadedFile::open("the CAs of clients", path)?;
    let first = certificates(file.content())
        .and_then(|certificates| ClientAuthorities::new(&certificates, names).map_err(|why| why.to_string()));
    let authorities = Arc::new(first.map_err(|why| file.unusable(why))?);
    let known = Arc::clone(&authorities);
    let follow =
        file.follow(move |content| known.replace(&certificates(content)?).map_err(|why| why.to_string()));
    Ok((authorities, follow))
}

/// Skips text between the certificates.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    certificates.map_err(|error| format!("it is no PEM: {error}"))
}
