//! The settings of client authentication.

use std::path::PathBuf;

use vestibule_server::ClientAuthentication;

/// The clients that may call an app: with a client certificate of some CAs, or a bearer token of an issuer.
///
/// ```
/// use vestibule::ClientSettings;
/// use vestibule::server::ClientAuthentication;
///
/// let mut clients = ClientSettings::new(ClientAuthentication::Require);
/// clients.authorities = Some("/etc/client-ca/ca.crt".into());
/// clients.names = vec!["kube-apiserver".to_owned()];
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ClientSettings {
    /// Whether clients are observed or must authenticate. Off, unless set.
    pub authentication: ClientAuthentication,
    /// A file with the CAs of client certificates, in PEM. It is read once a second. A change that two reads in a
    /// row found is used, for open connections too.
    pub authorities: Option<PathBuf>,
    /// The issuer of accepted tokens.
    pub tokens: Option<TokenSettings>,
    /// The clients that may call: the common name of a certificate, a DNS name or URI of it, or the subject of a token, such
    /// as `system:serviceaccount:NAMESPACE:NAME`. At least one, unless [`any_client`](Self::any_client) is set.
    pub names: Vec<String>,
    /// Every client whose certificate one of the authorities signed may call. With the cluster's own CA that is every node and
    /// every user with a certificate. Tokens need a name nevertheless, since the owner of a namespace can make tokens for any
    /// audience.
    pub any_client: bool,
}

/// The issuer and the audiences of accepted tokens (RFC 7519).
///
/// Signature, issuer, audience and times are verified in the process, without a TokenReview: a token is valid until it expires,
/// even if the object that it is bound to is deleted. Clocks may differ by a minute.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TokenSettings {
    /// The issuer: `--service-account-issuer` of the API server.
    pub issuer: String,
    /// The audiences, of which a token must have one. The API server makes tokens for the URL of the webhook's Service, as
    /// in `https://hook.shop.svc:443`, with or without the path of the hook (KEP-6060).
    pub audiences: Vec<String>,
    /// A file with the issuer's keys, a JSON Web Key Set (RFC 7517), read once a second. Without it, the keys that the API
    /// server publishes at `/openid/v1/jwks` ([`Options::client`](crate::Options::client)).
    pub keys: Option<PathBuf>,
}

/// Settings by which clients cannot be authenticated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Neither CAs nor an issuer of tokens are given.
    #[error(
        "clients must authenticate, and no method is configured: name the CAs of their certificates or the issuer of their tokens"
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
    /// No audience is given: a token for any other service would be accepted.
    #[error("no audience of tokens is named: set `audiences`")]
    NoAudience,
    /// The keys come from the API server, and there is no client for it.
    #[error(
        "the keys of token issuers are read from the API server, and there is no client for it: set `Options::client`, or name a file with the keys"
    )]
    NoCluster,
    /// A file cannot be used.
    #[error("{what} in {}: {why}", path.display())]
    File {
        /// The content that was expected.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

impl TokenSettings {
    /// Tokens of `issuer` for one of `audiences`, by the keys that the API server publishes.
    pub fn new(issuer: impl Into<String>, audiences: Vec<String>) -> Self {
        Self { issuer: issuer.into(), audiences, keys: None }
    }
}

impl ClientSettings {
    /// Settings without CAs, tokens and names, which must be set next.
    pub fn new(authentication: ClientAuthentication) -> Self {
        Self { authentication, ..Self::default() }
    }
}
