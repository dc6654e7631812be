//! The TLS configuration of an identity for servers that use rustls, such as hyper, axum and tonic.

use std::fmt;
use std::ptr;
use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};

use crate::{Identity, IdentityError, Leaf};

/// The TLS configuration of a webhook server for kube-apiserver: TLS 1.2 or newer, HTTP/1.1, no session tickets
/// (kube-apiserver resumes no sessions), and the certificate that `identity` presents at each handshake.
///
/// # Errors
/// [`IdentityError::Tls`], when the cryptographic library cannot be used as it was built.
pub fn server_config(identity: Arc<dyn Identity>) -> Result<Arc<ServerConfig>, IdentityError> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&TLS12, &TLS13])
        .map_err(|error| IdentityError::Tls(error.to_string()))?
        .with_no_client_auth()
        .with_cert_resolver(resolver(identity));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

/// Presents the certificate of `identity` in a [`ServerConfig`] of the caller. The key is parsed once for each leaf, not at each
/// handshake. The server name that a client asks for does not matter.
#[must_use]
pub fn resolver(identity: Arc<dyn Identity>) -> Arc<dyn ResolvesServerCert> {
    Arc::new(Resolver { identity, parsed: ArcSwapOption::empty() })
}

struct Resolver {
    identity: Arc<dyn Identity>,
    parsed: ArcSwapOption<Parsed>,
}

struct Parsed {
    /// Weak, so that a replaced leaf is dropped and its key erased. The address is not reused while the `Weak` exists.
    leaf: Weak<Leaf>,
    certified: Option<Arc<CertifiedKey>>,
}

impl Resolver {
    fn present(&self) -> Option<Arc<CertifiedKey>> {
        let leaf = self.identity.present()?;
        if let Some(parsed) = &*self.parsed.load()
            && ptr::eq(parsed.leaf.as_ptr(), Arc::as_ptr(&leaf))
        {
            return parsed.certified.clone();
        }
        let certified = certified(&leaf);
        let parsed = Parsed { leaf: Arc::downgrade(&leaf), certified: certified.clone() };
        self.parsed.store(Some(Arc::new(parsed)));
        certified
    }
}

fn certified(leaf: &Leaf) -> Option<Arc<CertifiedKey>> {
    match aws_lc_rs::sign::any_supported_type(&leaf.key) {
        Ok(key) => Some(Arc::new(CertifiedKey::new(leaf.chain.clone(), key))),
        Err(error) => {
            tracing::warn!(%error, "the key of the serving certificate cannot be used");
            None
        }
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.present()
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Resolver")
    }
}

#[cfg(test)]
mod tests;
