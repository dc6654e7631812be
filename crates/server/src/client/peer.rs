//! Who is at the other end of a connection.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use rustls_pki_types::{CertificateDer, UnixTime};

use super::authorities::Verifier;
use super::{ClientAuthentication, ClientAuthorities, ClientIdentity, Clients, Doubt, Possession};

/// For how long a judgement about a certificate holds, where the authorities stay the same.
const JUDGED_FOR: Duration = Duration::from_secs(60);

/// Far more than any issuer writes.
const LONGEST_TOKEN: usize = 16 << 10;

/// What a client showed in its handshake, and what was thought of it last.
#[derive(Default)]
pub(crate) struct Peer {
    chain: Vec<CertificateDer<'static>>,
    possession: Arc<Possession>,
    judged: Mutex<Option<Judgement>>,
}

struct Judgement {
    by: Arc<Verifier>,
    at: Instant,
    verdict: Result<(), Doubt>,
}

impl Peer {
    pub(crate) fn new(chain: Vec<CertificateDer<'static>>, possession: Arc<Possession>) -> Self {
        Self { chain, possession, judged: Mutex::default() }
    }

    /// Who makes a request with these headers; nothing where nobody asks.
    pub(crate) async fn identify(&self, clients: &Clients, headers: &HeaderMap) -> Option<ClientIdentity> {
        if clients.authentication == ClientAuthentication::Off {
            return None;
        }
        let certificate = clients.authorities.as_ref().and_then(|authorities| self.certificate(authorities));
        if certificate == Some(Ok(())) {
            return Some(ClientIdentity::Certificate);
        }
        let shown = match (&clients.tokens, bearer_token(headers)) {
            (Some(tokens), Some(token)) => match verify(&**tokens, token).await {
                Ok(()) => return Some(ClientIdentity::Token),
                Err(doubt) => Some(doubt),
            },
            _ => certificate.and_then(Result::err),
        };
        Some(shown.map_or(ClientIdentity::None, ClientIdentity::Invalid))
    }

    /// What is thought of the client's certificate, if it shows one.
    fn certificate(&self, authorities: &ClientAuthorities) -> Option<Result<(), Doubt>> {
        if self.chain.is_empty() {
            return None;
        }
        let by = authorities.verifier();
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |last: &&Judgement| Arc::ptr_eq(&last.by, &by) && last.at.elapsed() < JUDGED_FOR;
        if let Some(last) = judged.as_ref().filter(holds) {
            return Some(last.verdict);
        }
        let verdict =
            authorities.judge(&by, &self.chain, UnixTime::now()).and_then(|()| self.holds_the_key());
        *judged = Some(Judgement { by, at: Instant::now(), verdict });
        Some(verdict)
    }

    fn holds_the_key(&self) -> Result<(), Doubt> {
        self.possession.is_proved().then_some(()).ok_or(Doubt::Signature)
    }
}

async fn verify(tokens: &dyn super::VerifyToken, token: &str) -> Result<(), Doubt> {
    if token.len() > LONGEST_TOKEN {
        return Err(Doubt::Unreadable);
    }
    tokens.verify(token).await
}

/// Of `Authorization: Bearer TOKEN` (RFC 6750 2.1); another scheme is nothing that concerns us.
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
        let told = |value: &'static [u8]| {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap())]);
            bearer_token(&headers).map(str::to_owned)
        };
        assert_eq!(told(b"Bearer abc").as_deref(), Some("abc"));
        assert_eq!(told(b"bearer  abc").as_deref(), Some("abc"));
        assert_eq!(told(b"Basic abc"), None);
        assert_eq!(told(b"Bearer"), None);
        assert_eq!(told(b"Bearer \xff"), None);
        assert_eq!(bearer_token(&HeaderMap::new()), None);
    }
}
