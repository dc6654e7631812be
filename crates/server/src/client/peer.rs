//! The client of one connection.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use rustls_pki_types::{CertificateDer, UnixTime};

use super::authorities::Verifier;
use super::{ClientAuthentication, ClientAuthorities, ClientIdentity, Clients, CredentialError, Possession};

/// The time for which a judgement about a certificate is reused while the CAs stay the same.
const JUDGEMENT_LIFETIME: Duration = Duration::from_secs(60);

/// Issuers write tokens of 1 to 2 KiB.
const MAX_TOKEN: usize = 16 << 10;

/// The certificate of the handshake, and the last judgement about it.
#[derive(Default)]
pub(crate) struct Peer {
    chain: Vec<CertificateDer<'static>>,
    possession: Arc<Possession>,
    judged: Mutex<Option<Judgement>>,
}

struct Judgement {
    by: Arc<Verifier>,
    at: Instant,
    verdict: Result<(), CredentialError>,
}

impl Peer {
    pub(crate) fn new(chain: Vec<CertificateDer<'static>>, possession: Arc<Possession>) -> Self {
        Self { chain, possession, judged: Mutex::default() }
    }

    /// Authenticates a request with these headers; [`None`] if authentication is off.
    pub(crate) async fn identify(&self, clients: &Clients, headers: &HeaderMap) -> Option<ClientIdentity> {
        if clients.authentication == ClientAuthentication::Off {
            return None;
        }
        let certificate = clients.authorities.as_ref().and_then(|authorities| self.certificate(authorities));
        if certificate == Some(Ok(())) {
            return Some(ClientIdentity::Certificate);
        }
        let invalid = match (&clients.tokens, bearer_token(headers)) {
            (Some(tokens), Some(token)) => match verify(&**tokens, token).await {
                Ok(()) => return Some(ClientIdentity::Token),
                Err(error) => Some(error),
            },
            _ => certificate.and_then(Result::err),
        };
        Some(invalid.map_or(ClientIdentity::None, ClientIdentity::Invalid))
    }

    /// The judgement about the client's certificate, if it has one.
    fn certificate(&self, authorities: &ClientAuthorities) -> Option<Result<(), CredentialError>> {
        if self.chain.is_empty() {
            return None;
        }
        let by = authorities.verifier();
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |last: &&Judgement| Arc::ptr_eq(&last.by, &by) && last.at.elapsed() < JUDGEMENT_LIFETIME;
        if let Some(last) = judged.as_ref().filter(holds) {
            return Some(last.verdict);
        }
        let verdict =
            authorities.judge(&by, &self.chain, UnixTime::now()).and_then(|()| self.holds_the_key());
        *judged = Some(Judgement { by, at: Instant::now(), verdict });
        Some(verdict)
    }

    fn holds_the_key(&self) -> Result<(), CredentialError> {
        self.possession.is_proved().then_some(()).ok_or(CredentialError::Signature)
    }
}

async fn verify(tokens: &dyn super::VerifyToken, token: &str) -> Result<(), CredentialError> {
    if token.len() > MAX_TOKEN {
        return Err(CredentialError::Unreadable);
    }
    tokens.verify(token).await
}

/// The token of `Authorization: Bearer TOKEN` (RFC 6750 section 2.1). Other schemes are ignored.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_token_is_what_follows_its_scheme() {
        let token = |value: &'static [u8]| {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap())]);
            bearer_token(&headers).map(str::to_owned)
        };
        assert_eq!(token(b"Bearer abc").as_deref(), Some("abc"));
        assert_eq!(token(b"bearer  abc").as_deref(), Some("abc"));
        assert_eq!(token(b"Basic abc"), None);
        assert_eq!(token(b"Bearer"), None);
        assert_eq!(token(b"Bearer \xff"), None);
        assert_eq!(bearer_token(&HeaderMap::new()), None);
    }
}
