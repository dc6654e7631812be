//! Judges a chain in Go's order and with Go's error texts.
//!
//! The order is that of `x509.Certificate.Verify`: dates of the leaf, its names, then its signer.

use std::net::IpAddr;

use rustls_pki_types::{CertificateDer, UnixTime};
use vestibule_pki::{Bundle, CertificateFacts, VerifyError};

use super::Refusal;
use super::names::{common_name, legacy, matches_name, wrong_name};
use crate::certs::time::{rfc3339, system_time};

const UNKNOWN: &str = "x509: certificate signed by unknown authority";
const NO_ROOTS: &str = "unable to load root certificates: unable to parse bytes as PEM block";
/// The name of a certificate of the bundle in the errors of `verify`.
const AUTHORITY: &str = "CA certificate";

/// The chain and the bundle that are compared.
pub(super) struct Verification<'a> {
    /// The `caBundle`.
    pub(super) bundle: &'a str,
    pub(super) roots: &'a [CertificateFacts],
    pub(super) chain: &'a [CertificateDer<'static>],
    pub(super) presented: &'a [CertificateFacts],
    pub(super) name: &'a str,
    pub(super) now: UnixTime,
}

impl Verification<'_> {
    /// Every error; the first is the one that Go reports.
    pub(super) fn refusals(&self) -> Vec<Refusal> {
        let Some(leaf) = self.presented.first() else {
            if !self.chain.is_empty() {
                return vec![unreadable()];
            }
            return vec![Refusal::new(
                "other",
                "the server presented no certificate",
                "look into the server's log: it may not have one yet",
                "",
            )];
        };
        let none: &[&str] = &[];
        let error = vestibule_pki::verify(self.bundle, self.chain, none, self.now).err();
        // Go reads all certificates before it checks one.
        if let Some(error @ (VerifyError::Unreadable { .. } | VerifyError::Malformed { .. })) = error {
            return vec![self.signer(leaf, error)];
        }
        let dates = self.dates(leaf);
        let name = self.name(leaf);
        // A leaf whose dates are wrong says nothing about its signer.
        let error = error.filter(|_| dates.is_none());
        let signer = error.map(|error| self.signer(leaf, error));
        dates.into_iter().chain(name).chain(signer).collect()
    }

    fn dates(&self, leaf: &CertificateFacts) -> Option<Refusal> {
        if self.now < leaf.not_before {
            return Some(self.not_yet_valid("certificate", leaf.not_before));
        }
        (self.now > leaf.not_after).then(|| self.expired("certificate", leaf.not_after))
    }

    fn name(&self, leaf: &CertificateFacts) -> Option<Refusal> {
        let name = self.name;
        let address = name.parse::<IpAddr>().ok();
        let matches = |pattern: &String| match address {
            Some(address) => pattern.parse() == Ok(address),
            None => matches_name(pattern, name),
        };
        if leaf.names.iter().any(matches) {
            return None;
        }
        if leaf.names.is_empty()
            && let Some(found) = common_name(&leaf.subject).filter(|found| matches_name(found, name))
        {
            return Some(legacy(&found));
        }
        let is_comparable = |name: &&str| name.parse::<IpAddr>().is_ok() == address.is_some();
        let named: Vec<_> = leaf.names.iter().map(String::as_str).filter(is_comparable).collect();
        let go = match (named.is_empty(), address) {
            (true, Some(_)) => {
                format!("x509: cannot validate certificate for {name} because it doesn't contain any IP SANs")
            }
            (true, None) => {
                format!("x509: certificate is not valid for any names, but wanted to match {name}")
            }
            (false, _) => format!("x509: certificate is valid for {}, not {name}", named.join(", ")),
        };
        Some(wrong_name(name, &leaf.names, &go))
    }

    /// The refusal for an error of the signer. Names are checked before it.
    fn signer(&self, leaf: &CertificateFacts, error: VerifyError) -> Refusal {
        match error {
            VerifyError::EmptyBundle if self.bundle.is_empty() => Refusal::new(
                "empty_bundle",
                "the bundle is empty, so the API server trusts the CAs of its operating system",
                "put the CA that signed the certificate into the bundle",
                UNKNOWN,
            ),
            VerifyError::EmptyBundle => Refusal::new(
                "empty_bundle",
                "the bundle holds no certificate that can be read: the API server does not even connect",
                "a bundle is one or more blocks of -----BEGIN CERTIFICATE-----, in `caBundle` all of it in base64, once; \
                 an API server skips certificates with a negative serial number or with an extension twice",
                NO_ROOTS,
            ),
            VerifyError::JoinedBundle => Refusal::new(
                "joined_bundle",
                "two certificates of the bundle are joined without a line break: the API server reads none of them",
                "end every certificate with a line break before another is appended",
                NO_ROOTS,
            ),
            VerifyError::Expired { which: AUTHORITY, .. }
                if !self.is_concerned(|root| self.now > root.not_after) =>
            {
                self.unknown()
            }
            VerifyError::NotYetValid { which: AUTHORITY, .. }
                if !self.is_concerned(|root| self.now < root.not_before) =>
            {
                self.unknown()
            }
            VerifyError::Expired { which, not_after } => self.expired(which, not_after),
            VerifyError::NotYetValid { which, not_before } => self.not_yet_valid(which, not_before),
            VerifyError::UnknownAuthority => self.unknown(),
            VerifyError::NotAnAuthority => self.no_authority(&error),
            VerifyError::PathLength => Refusal::new(
                "path_length",
                "there are more CAs between certificate and root than the root's path length allows",
                "make the root with a longer pathlen or none, or sign with the root itself",
                "x509: too many intermediates for path length constraint",
            ),
            VerifyError::Usage => Refusal::new(
                "usage",
                "the certificate is not for servers: its extended key usage leaves serverAuth out",
                "make it with extendedKeyUsage serverAuth, or without that extension",
                "x509: certificate specifies an incompatible key usage",
            ),
            VerifyError::Other(reason) if reason.contains("NameConstraint") => Refusal::new(
                "name_constraint",
                format!("the CA may not sign all of the certificate's names ({})", leaf.names.join(", ")),
                "one name outside the CA's name constraints spoils the whole certificate: leave it out, or make a CA without them",
                "x509: a root or intermediate certificate is not authorized to sign for this name",
            ),
            VerifyError::Unreadable { .. } => unreadable(),
            VerifyError::Malformed { .. } => Refusal::new(
                "unreadable",
                error.to_string(),
                "that certificate must be made anew, or left out of the chain if nothing needs it",
                "",
            ),
            VerifyError::IntermediateNotAnAuthority => Refusal::new(
                "not_an_authority",
                error.to_string(),
                "an intermediate CA needs basicConstraints CA:TRUE and, where there is a key usage, keyCertSign",
                "",
            ),
            VerifyError::SignatureAlgorithm => Refusal::new(
                "signature_algorithm",
                error.to_string(),
                "sign the certificate anew, with SHA-256 or longer",
                "",
            ),
            other => Refusal::new("other", other.to_string(), "the certificate must be made anew", ""),
        }
    }

    fn expired(&self, which: &str, not_after: UnixTime) -> Refusal {
        let (now, end) = (rfc3339(system_time(self.now)), rfc3339(system_time(not_after)));
        let (cause, advice) = if which == AUTHORITY {
            (
                "authority_expired",
                "a new CA is needed, in the bundle first and then under the certificate; with a ring: `certs show`",
            )
        } else {
            (
                "expired",
                "the server must present a newer certificate; a server that reads files may need a restart to see new ones",
            )
        };
        let go =
            format!("x509: certificate has expired or is not yet valid: current time {now} is after {end}");
        Refusal::new(cause, format!("the {which} expired at {end}"), advice, &go)
    }

    fn not_yet_valid(&self, which: &str, not_before: UnixTime) -> Refusal {
        let (now, begin) = (rfc3339(system_time(self.now)), rfc3339(system_time(not_before)));
        Refusal::new(
            "not_yet_valid",
            format!("the {which} is not valid before {begin}"),
            "compare the clocks: of this machine, of the API servers, and of the machine that made the certificate",
            &format!(
                "x509: certificate has expired or is not yet valid: current time {now} is before {begin}"
            ),
        )
    }

    fn unknown(&self) -> Refusal {
        let issuer = self.presented.last().map(|top| top.issuer.as_str()).unwrap_or_default();
        let Some(root) = self.namesake() else {
            let roots: Vec<_> = self.roots.iter().map(|root| root.subject.as_str()).collect();
            // Two certificates on one line are such blocks.
            let unreadable = match Bundle::read(self.bundle.as_bytes()).unreadable {
                0 => String::new(),
                blocks => format!("; the API server cannot read {blocks} more blocks of it"),
            };
            return Refusal::new(
                "unknown_authority",
                format!("signed by {issuer}; the bundle holds {}{unreadable}", roots.join("; ")),
                "put the CA that signed the certificate into the bundle, or present a certificate that this CA signed",
                UNKNOWN,
            );
        };
        let go = match root.key_algorithm.split(' ').next() {
            Some("ECDSA") => candidate("x509: ECDSA verification failure", root),
            Some("Ed25519") => candidate("x509: Ed25519 verification failure", root),
            Some("RSA") => candidate("crypto/rsa: verification error", root),
            _ => String::new(),
        };
        Refusal::new(
            "unknown_authority",
            format!(
                "signed by a CA named {issuer}, but not by the one of this name in the bundle: its key is another"
            ),
            "the CA was made anew: put the new one into the bundle, beside the old one for as long as both sign",
            &go,
        )
    }

    fn no_authority(&self, error: &VerifyError) -> Refusal {
        const FAILURE: &str =
            "x509: invalid signature: parent certificate cannot sign this kind of certificate";
        let Some(root) = self.namesake() else { return self.unknown() };
        let go = if root.is_authority { String::new() } else { candidate(FAILURE, root) };
        Refusal::new(
            "not_an_authority",
            error.to_string(),
            "a CA needs basicConstraints CA:TRUE and, where there is a key usage, keyCertSign",
            &go,
        )
    }

    /// The certificate of the bundle with the name of the issuer.
    fn namesake(&self) -> Option<&CertificateFacts> {
        let issuer = &self.presented.last()?.issuer;
        self.roots.iter().find(|root| root.subject == *issuer)
    }

    /// Whether the error of a root is the error of this chain; the root may be of another chain.
    fn is_concerned(&self, wrong: impl Fn(&CertificateFacts) -> bool) -> bool {
        self.namesake().is_some_and(wrong)
    }
}

fn unreadable() -> Refusal {
    Refusal::new(
        "unreadable",
        "the certificate that the server presented cannot be read: a field or a critical extension of it is not understood",
        "the certificate must be made anew",
        "",
    )
}

/// Go tries the certificates with the right name, and reports the first that does not fit.
fn candidate(failure: &str, root: &CertificateFacts) -> String {
    let name = common_name(&root.subject).unwrap_or_else(|| root.subject.clone());
    format!(
        "{UNKNOWN} (possibly because of {failure:?} while trying to verify candidate authority certificate {name:?})"
    )
}
