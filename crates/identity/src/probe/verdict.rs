//! Judges a chain in Go's order and with Go's error texts.
//!
//! The order is that of `x509.Certificate.Verify`: dates of the leaf, its names, then who signed it.

use rustls_pki_types::{CertificateDer, UnixTime};
use std::net::IpAddr;
use vestibule_pki::{Bundle, CertificateFacts, VerifyError};

use super::names::{common_name, legacy, matches_name, wrong_name};
use super::refusal::{Cause, Refusal};
use super::time::rfc3339;

const UNKNOWN: &str = "x509: certificate signed by unknown authority";
/// How `verify` calls a certificate of the bundle.
const AUTHORITY: &str = "CA certificate";

/// The chain and the bundle that are compared.
pub(super) struct Question<'a> {
    /// The `caBundle`.
    pub(super) bundle: &'a str,
    pub(super) roots: &'a [CertificateFacts],
    pub(super) chain: &'a [CertificateDer<'static>],
    pub(super) presented: &'a [CertificateFacts],
    pub(super) name: &'a str,
    pub(super) now: UnixTime,
}

impl Question<'_> {
    /// Everything that is wrong; the first is what Go says.
    pub(super) fn refusals(&self) -> Vec<Refusal> {
        let Some(leaf) = self.presented.first() else { return vec![no_certificate()] };
        let dates = self.dates(leaf);
        let name = self.name(leaf);
        // A leaf whose dates are wrong says nothing about who signed it.
        let signer = if dates.is_none() { self.signer(leaf) } else { None };
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
        let (addresses, domains): (Vec<_>, Vec<_>) =
            leaf.names.iter().map(String::as_str).partition(|name| name.parse::<IpAddr>().is_ok());
        let named = if address.is_some() { addresses } else { domains };
        if leaf.names.is_empty()
            && let Some(found) = common_name(&leaf.subject).filter(|found| matches_name(found, name))
        {
            return Some(legacy(&found));
        }
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

    /// Checks the signer, after the names.
    fn signer(&self, leaf: &CertificateFacts) -> Option<Refusal> {
        let none: &[&str] = &[];
        let error = vestibule_pki::verify(self.bundle, self.chain, none, self.now).err()?;
        // Go trusts every certificate of the bundle, whatever its signer.
        let stored = Bundle::read(self.bundle.as_bytes()).certificates;
        if self.chain.first().is_some_and(|leaf| stored.values().any(|root| root == leaf)) {
            return None;
        }
        Some(match error {
            VerifyError::EmptyBundle => empty_bundle(self.bundle),
            VerifyError::JoinedBundle => joined_bundle(),
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
            VerifyError::PathLength => path_length(),
            VerifyError::Usage => usage(),
            VerifyError::Other(reason) if reason.contains("NameConstraint") => self.constraint(leaf),
            other => Refusal::new(Cause::Other, other.to_string(), "the certificate must be made anew"),
        })
    }

    fn expired(&self, which: &str, not_after: UnixTime) -> Refusal {
        let (now, end) = (rfc3339(self.now), rfc3339(not_after));
        let is_authority = which == AUTHORITY;
        let advice = if is_authority {
            "a new CA is needed, in the bundle first and then under the certificate; with a ring: `vestibule certs show`"
        } else {
            "the server must present a newer certificate; a server that reads files may need a restart to see new ones"
        };
        Refusal::new(
            if is_authority { Cause::AuthorityExpired } else { Cause::Expired },
            format!("the {which} expired at {end}"),
            advice,
        )
        .in_go(&format!(
            "x509: certificate has expired or is not yet valid: current time {now} is after {end}"
        ))
    }

    fn not_yet_valid(&self, which: &str, not_before: UnixTime) -> Refusal {
        let (now, begin) = (rfc3339(self.now), rfc3339(not_before));
        Refusal::new(
            Cause::NotYetValid,
            format!("the {which} is not valid before {begin}"),
            "compare the clocks: of this machine, of the API servers, and of whoever made the certificate",
        )
        .in_go(&format!(
            "x509: certificate has expired or is not yet valid: current time {now} is before {begin}"
        ))
    }

    fn unknown(&self) -> Refusal {
        let issuer = self.presented.last().map(|top| top.issuer.as_str()).unwrap_or_default();
        let Some(root) = self.namesake() else {
            let roots: Vec<_> = self.roots.iter().map(|root| root.subject.as_str()).collect();
            return Refusal::new(
                Cause::UnknownAuthority,
                format!("signed by {issuer}; the bundle holds {}", roots.join("; ")),
                "put the CA that signed the certificate into the bundle, or present a certificate that this CA signed",
            )
            .in_go(UNKNOWN);
        };
        let refusal = Refusal::new(
            Cause::UnknownAuthority,
            format!(
                "signed by a CA named {issuer}, but not by the one of this name in the bundle: its key is another"
            ),
            "the CA was made anew: put the new one into the bundle, beside the old one for as long as both sign",
        );
        match root.key_algorithm.split(' ').next() {
            Some("ECDSA") => refusal.in_go(&candidate("x509: ECDSA verification failure", root)),
            Some("Ed25519") => refusal.in_go(&candidate("x509: Ed25519 verification failure", root)),
            Some("RSA") => refusal.in_go(&candidate("crypto/rsa: verification error", root)),
            _ => refusal,
        }
    }

    fn no_authority(&self, error: &VerifyError) -> Refusal {
        let Some(root) = self.namesake() else { return self.unknown() };
        let refusal = Refusal::new(
            Cause::NotAnAuthority,
            error.to_string(),
            "a CA needs basicConstraints CA:TRUE and, where there is a key usage, keyCertSign",
        );
        if root.is_authority {
            return refusal;
        }
        refusal.in_go(&candidate(
            "x509: invalid signature: parent certificate cannot sign this kind of certificate",
            root,
        ))
    }

    /// The certificate of the bundle that bears the name of the one who signed.
    fn namesake(&self) -> Option<&CertificateFacts> {
        let issuer = &self.presented.last()?.issuer;
        self.roots.iter().find(|root| root.subject == *issuer)
    }

    /// Whether what is wrong with a root is what is wrong with this chain; it may be a third's.
    fn is_concerned(&self, wrong: impl Fn(&CertificateFacts) -> bool) -> bool {
        self.namesake().is_some_and(wrong)
    }

    fn constraint(&self, leaf: &CertificateFacts) -> Refusal {
        Refusal::new(
            Cause::NameConstraint,
            format!("the CA may not sign all of the certificate's names ({})", leaf.names.join(", ")),
            "one name outside the CA's name constraints spoils the whole certificate: leave it out, or make a CA without them",
        )
        .in_go("x509: a root or intermediate certificate is not authorized to sign for this name")
    }
}

/// Go tries what bears the right name, and tells of the first that does not fit.
fn candidate(failure: &str, root: &CertificateFacts) -> String {
    let name = common_name(&root.subject).unwrap_or_else(|| root.subject.clone());
    format!(
        "{UNKNOWN} (possibly because of {failure:?} while trying to verify candidate authority certificate {name:?})"
    )
}

fn empty_bundle(bundle: &str) -> Refusal {
    if bundle.is_empty() {
        return Refusal::new(
            Cause::EmptyBundle,
            "the bundle is empty, so the API server trusts the CAs of its operating system".to_owned(),
            "put the CA that signed the certificate into the bundle",
        )
        .in_go(UNKNOWN);
    }
    Refusal::new(
        Cause::EmptyBundle,
        "the bundle holds no certificate that can be read: the API server does not even connect".to_owned(),
        "a bundle is one or more blocks of -----BEGIN CERTIFICATE-----; in `caBundle` all of it in base64, once",
    )
    .root_certificates()
}

fn joined_bundle() -> Refusal {
    Refusal::new(
        Cause::JoinedBundle,
        "two certificates of the bundle are joined without a line break: the API server reads none of them"
            .to_owned(),
        "end every certificate with a line break before another is appended",
    )
    .root_certificates()
}

fn path_length() -> Refusal {
    Refusal::new(
        Cause::PathLength,
        "there are more CAs between certificate and root than the root's path length allows".to_owned(),
        "make the root with a longer pathlen or none, or sign with the root itself",
    )
    .in_go("x509: too many intermediates for path length constraint")
}

fn usage() -> Refusal {
    Refusal::new(
        Cause::Usage,
        "the certificate is not for servers: its extended key usage leaves serverAuth out".to_owned(),
        "make it with extendedKeyUsage serverAuth, or without that extension",
    )
    .in_go("x509: certificate specifies an incompatible key usage")
}

fn no_certificate() -> Refusal {
    Refusal::new(
        Cause::Other,
        "the server presented no certificate".to_owned(),
        "look into the server's log: it may not have one yet",
    )
}
