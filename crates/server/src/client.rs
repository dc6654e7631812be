//! Who calls: off, observed, or required.
//!
//! The handshake never fails because of a client's certificate, unless it is longer than anybody's: probes of a kubelet have none, and who observes wants to
//! see calls before he refuses any. So a certificate is taken as it comes, and judged request by request, together with a
//! bearer token.

mod authorities;
mod capture;
mod peer;

use std::fmt;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;

pub use authorities::{ClientAuthorities, ClientAuthoritiesError};
pub(crate) use capture::{Capture, Possession};
pub(crate) use peer::Peer;

/// What is done about who calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// Nobody is asked. An `Authorization` that comes along is not looked at.
    #[default]
    Off,
    /// Everybody is asked and nobody is refused; the [`Observer`](crate::Observer) is told.
    Observe,
    /// Who does not show who he is gets [`Refusal::Unauthenticated`](crate::Refusal::Unauthenticated). Probes stay open.
    Require,
}

/// Who may call: client certificates of some authorities, bearer tokens that somebody verifies, or either.
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

/// Verifies bearer tokens (RFC 6750). Asked at every request that brings one, before its body is read.
pub trait VerifyToken: Send + Sync + 'static {
    /// Whether `token` is from somebody who may call. The token is for nobody else: it must reach no log and no error.
    fn verify<'a>(&'a self, token: &'a str) -> Pin<Box<dyn Future<Output = Result<(), Doubt>> + Send + 'a>>;
}

/// What became of the question who calls. It says how, never who: names are not for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientIdentity {
    /// Nothing was shown that somebody here could judge.
    None,
    /// A certificate that is good.
    Certificate,
    /// A bearer token that is good.
    Token,
    /// A certificate or a token that is not good.
    Invalid(Doubt),
}

/// Why a certificate or a token is not good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Doubt {
    /// It is no certificate, or no JSON Web Token that is signed with a public key.
    Unreadable,
    /// The certificate's key did not sign the handshake, or the token's signature is wrong.
    Signature,
    /// The certificate leads to no authority that is known here.
    UnknownAuthority,
    /// The certificate is not for clients.
    Purpose,
    /// Its time is over.
    Expired,
    /// Its time has not come yet.
    NotYetValid,
    /// It is good, and its name is not among those that may call.
    Name,
    /// The token is signed with a key that the issuer does not publish.
    UnknownKey,
    /// The token is from another issuer.
    Issuer,
    /// The token is for somebody else.
    Audience,
}

impl ClientAuthentication {
    /// `off`, `observe` or `require`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Observe => "observe",
            Self::Require => "require",
        }
    }
}

impl FromStr for ClientAuthentication {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = [Self::Off, Self::Observe, Self::Require];
        let found = all.into_iter().find(|one| one.as_str() == text);
        found.ok_or_else(|| "write off, observe or require".to_owned())
    }
}

impl fmt::Display for ClientAuthentication {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Clients {
    /// Nobody yet: who requires something of clients says next what.
    pub fn new(authentication: ClientAuthentication) -> Self {
        Self { authentication, authorities: None, tokens: None }
    }

    /// Whoever has a certificate of `authorities`.
    #[must_use]
    pub fn with_certificates(self, authorities: Arc<ClientAuthorities>) -> Self {
        Self { authorities: Some(authorities), ..self }
    }

    /// Whoever has a token that `verifier` finds good.
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
        match self {
            Self::None => "none",
            Self::Certificate => "certificate",
            Self::Token => "token",
            Self::Invalid(_) => "invalid",
        }
    }

    /// Why what was shown is not good.
    pub fn doubt(self) -> Option<Doubt> {
        match self {
            Self::Invalid(doubt) => Some(doubt),
            _ => None,
        }
    }

    /// Whether he may call where somebody is required.
    pub(crate) fn is_known(self) -> bool {
        matches!(self, Self::Certificate | Self::Token)
    }

    /// What is answered to whom it keeps out.
    pub(crate) fn words(self) -> &'static str {
        match self.doubt() {
            None => {
                "who calls shows neither a client certificate nor a bearer token that could be judged here"
            }
            Some(doubt) => doubt.words(),
        }
    }
}

impl Doubt {
    /// Every one.
    pub const ALL: [Self; 10] = [
        Self::Unreadable,
        Self::Signature,
        Self::UnknownAuthority,
        Self::Purpose,
        Self::Expired,
        Self::NotYetValid,
        Self::Name,
        Self::UnknownKey,
        Self::Issuer,
        Self::Audience,
    ];

    /// A lower-case word or a few, for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Signature => "signature",
            Self::UnknownAuthority => "unknown_authority",
            Self::Purpose => "purpose",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::Name => "name",
            Self::UnknownKey => "unknown_key",
            Self::Issuer => "issuer",
            Self::Audience => "audience",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Unreadable => "cannot parse the client's certificate (x509) or token",
            Self::Signature => "invalid signature of the client's certificate (x509) or token",
            Self::UnknownAuthority => "x509: the client's certificate is signed by an unknown authority",
            Self::Purpose => "x509: the client's certificate has no extended key usage `clientAuth`",
            Self::Expired => "the client's certificate (x509) or token has expired",
            Self::NotYetValid => "the client's certificate (x509) or token is not yet valid",
            Self::Name => "the client is known, but is not among those that may call",
            Self::UnknownKey => "the client's token is signed with a key that its issuer does not publish",
            Self::Issuer => "the client's token is from another issuer",
            Self::Audience => "the client's token is for another audience",
        }
    }
}
