//! Who may call, from what people say about it: files, names, an issuer of tokens.

mod authorities;
mod file;
mod keys;
mod tokens;

use std::path::PathBuf;
use std::sync::Arc;

use kube::Client;
use tokio::task::JoinSet;
use vestibule_server::{ClientAuthentication, Clients};

use self::keys::Keys;
use self::tokens::Tokens;

/// Who may call an app: whoever has a client certificate of some authorities, or a bearer token of an issuer.
///
/// ```
/// use vestibule::{ClientAuthentication, ClientSettings};
///
/// let mut clients = ClientSettings::new(ClientAuthentication::Require);
/// clients.authorities = Some("/etc/client-ca/ca.crt".into());
/// clients.names = vec!["kube-apiserver".to_owned()];
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ClientSettings {
    /// What is done about it. Nothing, unless set.
    pub authentication: ClientAuthentication,
    /// A file with the CAs of client certificates, in PEM. It is read again once a second, and what it says then holds for
    /// connections that are open too.
    pub authorities: Option<PathBuf>,
    /// Whose tokens are taken.
    pub tokens: Option<TokenSettings>,
    /// The clients that may call: the common name of a certificate, a DNS name or URI of it, or the subject of a token, such
    /// as `system:serviceaccount:NAMESPACE:NAME`. At least one, unless [`any_client`](Self::any_client) is set.
    pub names: Vec<String>,
    /// Every client whose certificate one of the authorities signed may call. With the cluster's own CA that is every node and
    /// every user with a certificate. Tokens need a name all the same, since the owner of a namespace can make tokens for any
    /// audience.
    pub any_client: bool,
}

/// Whose tokens (RFC 7519) are taken, and for whom they must be.
///
/// Signature, issuer, audience and times are verified here, and nobody is asked: a token is good for as long as it says,
/// whatever became of the object that it is bound to. Clocks may differ by a minute.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TokenSettings {
    /// The issuer: `--service-account-issuer` of the API server.
    pub issuer: String,
    /// The audiences, of which a token must have one. The API server makes tokens for the URL of the webhook's Service, as
    /// in `https://hook.shop.svc:443`, with or without the path of the hook (KEP-6060).
    pub audiences: Vec<String>,
    /// A file with the issuer's keys, a JSON Web Key Set (RFC 7517), read again once a second. Without one, those that the
    /// API server publishes at `/openid/v1/jwks` (`Options::client`).
    pub keys: Option<PathBuf>,
}

/// Why nobody can be told from others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// There is nothing to know clients by.
    #[error(
        "clients are to be known, and nothing says by what: name the CAs of their certificates or the issuer of their tokens"
    )]
    Nothing,
    /// No client is named: every client of the authorities, or every ServiceAccount of the issuer, could call.
    #[error(
        "no client is named, and a CA or an issuer of tokens knows many: name the clients that may call in `names`, as in kube-apiserver or system:serviceaccount:NAMESPACE:NAME, or set `any_client` where every certificate of the CA may"
    )]
    Nameless,
    /// [`ClientSettings::any_client`] is set beside [`ClientSettings::names`].
    #[error("`any_client` and `names` contradict each other: set one of them")]
    AnyClientAndNames,
    /// A token without audience is for everybody.
    #[error("nothing says for which audience tokens must be")]
    NoAudience,
    /// The keys come from the API server, and there is no cluster.
    #[error(
        "the keys of token issuers are asked of the API server, and there is none: set `Options::client`, or name a file with the keys"
    )]
    NoCluster,
    /// A file cannot be used.
    #[error("{what} in {}: {why}", path.display())]
    File {
        /// What it should be.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// In a few words.
        why: String,
    },
}

impl TokenSettings {
    /// Tokens of `issuer` for one of `audiences`, by the keys that the API server publishes.
    pub fn new(issuer: impl Into<String>, audiences: Vec<String>) -> Self {
        Self { issuer: issuer.into(), audiences, keys: None }
    }
}

/// Clients that are told apart, and what goes on for that.
#[derive(Default)]
pub(crate) struct Started {
    pub(crate) clients: Clients,
    /// Follows files and keys until it is dropped.
    pub(crate) follows: JoinSet<()>,
    /// Without which nobody who has to be known can be.
    required_keys: Option<Arc<Keys>>,
}

impl ClientSettings {
    /// What is done about clients; who is known is said next.
    pub fn new(authentication: ClientAuthentication) -> Self {
        Self { authentication, ..Self::default() }
    }

    /// Whether it cannot be done without a cluster.
    pub fn needs_client(&self) -> bool {
        self.is_on() && self.tokens.as_ref().is_some_and(|tokens| tokens.keys.is_none())
    }

    /// Reads what there is to read, and follows it.
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
            started.follows.spawn(follow);
        }
        if let Some(settings) = &self.tokens {
            if settings.audiences.is_empty() {
                return Err(ClientError::NoAudience);
            }
            let keys = match &settings.keys {
                Some(path) => {
                    let (keys, follow) = keys::of_file(path)?;
                    started.follows.spawn(follow);
                    keys
                }
                None => {
                    let (keys, follow) = keys::of_cluster(client.ok_or(ClientError::NoCluster)?.clone());
                    started.follows.spawn(follow);
                    keys
                }
            };
            // With authorities there are clients that can be told without keys.
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

impl Started {
    /// Whether the keys of the token issuer are missing, for which readiness waits; nothing where they are not required, or
    /// where certificates do as well.
    pub(crate) fn missing(&self) -> Option<impl Fn() -> bool + Send + Sync + use<>> {
        let keys = self.required_keys.clone()?;
        Some(move || keys.are_missing())
    }
}

#[cfg(test)]
mod tests;
