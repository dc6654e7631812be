//! Authentication of clients: off, observed, or required.
//!
//! The handshake never fails because of a client's certificate, unless its chain is longer than 16 KiB: kubelet's probes have no
//! certificate, and with `observe` calls are counted before any is refused. So each request is judged by the
//! certificate of its connection and by its bearer token.

mod authorities;
mod deferred_verifier;
mod peer;

use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;

use strum::{Display, IntoStaticStr, VariantArray};

pub use authorities::{ClientAuthorities, ClientAuthoritiesError};
pub(crate) use deferred_verifier::{DeferredVerifier, Possession};
pub(crate) use peer::Peer;

/// Whether clients are authenticated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ClientAuthentication {
    /// Clients are not asked for certificates, and `Authorization` headers are ignored.
    #[default]
    Off,
    /// Clients are authenticated and none is refused; the [`Observer`](crate::Observer) is told the result.
    Observe,
    /// A client without a valid certificate or token gets [`Refusal::Unauthenticated`](crate::Refusal::Unauthenticated). Probes stay
    /// open.
    Require,
}

/// The clients that may call: holders of certificates of given CAs, of bearer tokens that a verifier accepts, or of either.
///
/// ```
/// use std::sync::Arc;
/// use vestibule_server::{ClientAuthentication, ClientAuthorities, Clients};
///
/// # fn example(authorities: ClientAuthorities) -> Clients {
/// Clients::new(ClientAuthentication::Observe).with_certificates(Arc::new(authorities))
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Clients {
    pub(crate) authentication: ClientAuthentication,
    pub(crate) authorities: Option<Arc<ClientAuthorities>>,
    pub(crate) tokens: Option<Arc<dyn VerifyToken>>,
}

/// Verifies bearer tokens (RFC 6750). It is called at every request with a token, before the body is read.
pub trait VerifyToken: Send + Sync + 'static {
    /// Whether the holder of `token` may call. The token is a secret: it must reach no log and no error.
    fn verify<'a>(
        &'a self,
        token: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<(), CredentialError>> + Send + 'a>>;
}

/// The result of authenticating a client. It has no names, since it becomes a label of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ClientIdentity {
    /// The client has neither a certificate nor a token that this server verifies.
    None,
    /// The certificate is valid.
    Certificate,
    /// The bearer token is valid.
    Token,
    /// The certificate or the token is not valid.
    Invalid(CredentialError),
}

/// Why a certificate or a token is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum CredentialError {
    /// It cannot be parsed, or the JSON Web Token is not signed with a public key.
    Unreadable,
    /// The certificate's key did not sign the handshake, or the token's signature is wrong.
    Signature,
    /// The certificate is not signed by one of the given CAs.
    UnknownAuthority,
    /// The certificate is not for clients (extended key usage).
    Purpose,
    /// It has expired.
    Expired,
    /// It is not yet valid.
    NotYetValid,
    /// It is valid, and its name is not in the list of names that may call.
    Name,
    /// The token is signed with a key that the issuer does not publish.
    UnknownKey,
    /// The token is from another issuer.
    Issuer,
    /// The token is for another audience.
    Audience,
}

impl ClientAuthentication {
    /// `off`, `observe` or `require`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl FromStr for ClientAuthentication {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::VARIANTS.iter().copied().find(|one| one.as_str() == text);
        found.ok_or_else(|| "write off, observe or require".to_owned())
    }
}

impl Clients {
    /// No CAs and no verifier yet.
    pub fn new(authentication: ClientAuthentication) -> Self {
        Self { authentication, authorities: None, tokens: None }
    }

    /// Accepts certificates of `authorities`.
    #[must_use]
    pub fn with_certificates(self, authorities: Arc<ClientAuthorities>) -> Self {
        Self { authorities: Some(authorities), ..self }
    }

    /// Accepts tokens that `verifier` accepts.
    #[must_use]
    pub fn with_tokens(self, verifier: Arc<dyn VerifyToken>) -> Self {
        Self { tokens: Some(verifier), ..self }
    }

    /// Whether a handshake asks for a certificate.
    pub(crate) fn ask_for_certificates(&self) -> bool {
        self.authentication != ClientAuthentication::Off && self.authorities.is_some()
    }
}

impl ClientIdentity {
    /// `none`, `certificate`, `token` or `invalid`, for metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Why the certificate or token is not valid.
    pub fn error(self) -> Option<CredentialError> {
        match self {
            Self::Invalid(error) => Some(error),
            _ => None,
        }
    }

    /// Whether the client may call if authentication is required.
    pub(crate) fn is_known(self) -> bool {
        matches!(self, Self::Certificate | Self::Token)
    }

    /// The text of the 401 answer.
    pub(crate) fn explanation(self) -> &'static str {
        match self.error() {
            None => {
                "unauthorized: the client has neither a certificate nor a bearer token that this webhook verifies"
            }
            Some(error) => error.explanation(),
        }
    }
}

impl CredentialError {
    /// All of them.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// A lower-case word or a few, for logs and metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    fn explanation(self) -> &'static str {
        match self {
            Self::Unreadable => "cannot parse the client's certificate (x509) or token",
            Self::Signature => "invalid signature of the client's certificate (x509) or token",
            Self::UnknownAuthority => "x509: the client's certificate is signed by an unknown authority",
            Self::Purpose => "x509: the client's certificate has no extended key usage `clientAuth`",
            Self::Expired => "the client's certificate (x509) or token has expired",
            Self::NotYetValid => "the client's certificate (x509) or token is not yet valid",
            Self::Name => "the client is known, but its name is not in the list of clients that may call",
            Self::UnknownKey => "the client's token is signed with a key that its issuer does not publish",
            Self::Issuer => "the client's token is from another issuer",
            Self::Audience => "the client's token is for another audience",
        }
    }
}
