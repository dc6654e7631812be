//! The address, CA and user of a connection to an API server.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::Uri;
use k8s_openapi::ByteString;
use kube::{Client, Config};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json};

use crate::error::Error;

/// An API server's address and CA, and the user for requests.
#[derive(Clone)]
pub(crate) struct Access {
    pub(crate) address: SocketAddr,
    pub(crate) url: String,
    /// The CA, as PEM.
    pub(crate) authority: Arc<str>,
    pub(crate) token: String,
    /// An ordinary user to act as, whose only group is `system:authenticated`.
    pub(crate) impersonate: Option<String>,
}

impl Access {
    pub(crate) fn new(address: SocketAddr, authority: &str, token: String) -> Self {
        Self { address, url: url(address), authority: authority.into(), token, impersonate: None }
    }

    /// The same user and CA at `address`.
    pub(crate) fn at(&self, address: SocketAddr) -> Self {
        Self { address, url: url(address), ..self.clone() }
    }

    /// A client that runs in the runtime of the caller.
    pub(crate) fn client(&self) -> Result<Client, Error> {
        let unusable = |problem: String| Error::Object(format!("the address {}: {problem}", self.url));
        let url: Uri = self.url.parse().map_err(|error| unusable(format!("{error}")))?;
        let authority = CertificateDer::from_pem_slice(self.authority.as_bytes());
        let authority = authority.map_err(|error| unusable(format!("{error}")))?;
        let mut config = Config::new(url);
        config.root_cert = Some(vec![authority.to_vec()]);
        config.auth_info.token = Some(self.token.clone().into());
        config.auth_info.impersonate = self.impersonate.clone();
        // A test needs each answer, not the one after retries.
        config.default_retry = false;
        Client::try_from(config).map_err(Error::api("make a client"))
    }

    /// A kubeconfig in JSON, which is YAML.
    pub(crate) fn kubeconfig(&self) -> Value {
        let authority = ByteString(self.authority.as_bytes().to_vec());
        let mut user = json!({ "token": self.token });
        if let Some(name) = &self.impersonate {
            user["as"] = json!(name);
        }
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "testenv",
                "cluster": { "server": self.url, "certificate-authority-data": authority },
            }],
            "users": [{ "name": "testenv", "user": user }],
            "contexts": [{ "name": "testenv", "context": { "cluster": "testenv", "user": "testenv" } }],
            "current-context": "testenv",
        })
    }
}

fn url(address: SocketAddr) -> String {
    format!("https://{address}")
}
