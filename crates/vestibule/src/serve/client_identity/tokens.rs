//! Verification of bearer tokens.

use std::pin::Pin;
use std::sync::Arc;

use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde::Deserialize;
use vestibule_server::{CredentialError, VerifyToken};

use super::keys::{Key, Keys};
use super::settings::TokenSettings;

/// How far clocks may differ, in seconds. The API server allows the same.
const LEEWAY: u64 = 60;

/// Accepts tokens of one issuer, for some audiences, of some subjects.
pub(super) struct Tokens {
    issuer: String,
    audiences: Vec<String>,
    subjects: Vec<String>,
    keys: Arc<Keys>,
}

/// The claims that [`Validation`] does not check by itself.
#[derive(Deserialize)]
struct Claims {
    sub: String,
}

impl Tokens {
    pub(super) fn new(settings: &TokenSettings, subjects: Vec<String>, keys: Arc<Keys>) -> Self {
        let TokenSettings { issuer, audiences, .. } = settings.clone();
        Self { issuer, audiences, subjects, keys }
    }

    async fn judge(&self, token: &str) -> Result<(), CredentialError> {
        let header = decode_header(token).map_err(|_| CredentialError::Unreadable)?;
        // An unknown critical extension makes a token invalid (RFC 7515 4.1.11).
        if !is_accepted(header.alg) || header.crit.is_some() {
            return Err(CredentialError::Unreadable);
        }
        let mut result = Err(CredentialError::UnknownKey);
        for key in self.keys.of(&header).await {
            result = self.verify(token, header.alg, &key);
            if result != Err(CredentialError::Signature) {
                break;
            }
        }
        if header.kid.is_none() && result == Err(CredentialError::Signature) {
            self.keys.request();
        }
        result
    }

    fn verify(&self, token: &str, algorithm: Algorithm, key: &Key) -> Result<(), CredentialError> {
        let mut validation = Validation::new(algorithm);
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&self.audiences);
        let token =
            decode::<Claims>(token, &key.key, &validation).map_err(|error| credential_error(&error))?;
        self.subjects.contains(&token.claims.sub).then_some(()).ok_or(CredentialError::Name)
    }
}

impl VerifyToken for Tokens {
    fn verify<'a>(
        &'a self,
        token: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<(), CredentialError>> + Send + 'a>> {
        Box::pin(self.judge(token))
    }
}

/// The public-key algorithms of API servers. Never HMAC: a public key could be used as the shared secret.
fn is_accepted(algorithm: Algorithm) -> bool {
    use Algorithm::{ES256, ES384, PS256, PS384, PS512, RS256, RS384, RS512};
    matches!(algorithm, RS256 | RS384 | RS512 | PS256 | PS384 | PS512 | ES256 | ES384)
}

/// Keeps the kind of the error only, because its text holds parts of the token.
fn credential_error(error: &Error) -> CredentialError {
    match error.kind() {
        ErrorKind::ExpiredSignature => CredentialError::Expired,
        ErrorKind::ImmatureSignature => CredentialError::NotYetValid,
        ErrorKind::InvalidIssuer => CredentialError::Issuer,
        ErrorKind::InvalidAudience => CredentialError::Audience,
        ErrorKind::InvalidSignature | ErrorKind::InvalidAlgorithm | ErrorKind::InvalidKeyFormat => {
            CredentialError::Signature
        }
        ErrorKind::MissingRequiredClaim(claim) if claim == "iss" => CredentialError::Issuer,
        ErrorKind::MissingRequiredClaim(claim) if claim == "aud" => CredentialError::Audience,
        _ => CredentialError::Unreadable,
    }
}
