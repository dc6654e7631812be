//! Authentication of clients by certificates of given CAs, or by bearer tokens of an issuer.

mod authorities;
mod file;
mod keys;
pub(crate) mod settings;
mod tokens;

use std::sync::Arc;

use kube::Client;
use tokio::task::JoinSet;
use vestibule_server::{ClientAuthentication, Clients};

use self::keys::Keys;
use self::settings::{ClientError, ClientSettings};
use self::tokens::Tokens;

/// Client authentication in operation.
#[derive(Default)]
pub(crate) struct Started {
    pub(crate) clients: Clients,
    /// Reloads files and keys until it is dropped.
    pub(crate) reloads: JoinSet<()>,
    /// The keys without which no client can authenticate, so that readiness waits for them.
    pub(crate) required_keys: Option<Arc<Keys>>,
}

impl ClientSettings {
    /// Whether a client of the API server is needed, for the keys.
    pub fn needs_client(&self) -> bool {
        self.is_on() && self.tokens.as_ref().is_some_and(|tokens| tokens.keys.is_none())
    }

    /// Reads the files, and reloads them from now on.
    pub(crate) fn start(&self, client: Option<&Client>) -> Result<Started, ClientError> {
        let mut started = Started { clients: Clients::new(self.authentication), ..Started::default() };
        if !self.is_on() {
            return Ok(started);
        }
        if self.authorities.is_none() && self.tokens.is_none() {
            return Err(ClientError::Nothing);
        }
        if self.any_client && !self.names.is_empty() {
            return Err(ClientError::AnyClientAndNames);
        }
        let any_certificate = self.any_client && self.tokens.is_none();
        if self.names.is_empty() && !any_certificate {
            return Err(ClientError::Nameless);
        }
        if let Some(path) = &self.authorities {
            let (authorities, follow) = authorities::follow(path, self.names.clone())?;
            started.clients = started.clients.with_certificates(authorities);
            started.reloads.spawn(follow);
        }
        if let Some(settings) = &self.tokens {
            if settings.audiences.is_empty() {
                return Err(ClientError::NoAudience);
            }
            let keys = match &settings.keys {
                Some(path) => {
                    let (keys, follow) = keys::of_file(path)?;
                    started.reloads.spawn(follow);
                    keys
                }
                None => {
                    let (keys, follow) = keys::of_cluster(client.ok_or(ClientError::NoCluster)?.clone());
                    started.reloads.spawn(follow);
                    keys
                }
            };
            // With CAs, clients can authenticate without keys.
            if self.authentication == ClientAuthentication::Require && self.authorities.is_none() {
                started.required_keys = Some(Arc::clone(&keys));
            }
            let tokens = Tokens::new(settings, self.names.clone(), keys);
            started.clients = started.clients.with_tokens(Arc::new(tokens));
        }
        Ok(started)
    }

    fn is_on(&self) -> bool {
        self.authentication != ClientAuthentication::Off
    }
}

#[cfg(test)]
mod tests;
