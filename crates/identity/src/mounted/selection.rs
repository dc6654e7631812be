//! Decides which pair is presented.

use std::sync::Arc;

use rustls_pki_types::UnixTime;
use vestibule_pki::{Bundle, CertificateFacts, Leaf, describe, verify};

use super::MountedFiles;
use super::files::Content;
use crate::time::system_time;
use crate::{AuthorityStatus, Role};

/// Remembers the last reads, to tell a new pair from a known one, and a settled file from one that is being written.
#[derive(Default)]
pub(super) struct Selection {
    last: Option<Result<Content, String>>,
    /// The content that was adopted last.
    adopted: Option<Content>,
}

/// A pair that is presented.
pub(super) struct Pair {
    pub(super) leaf: Arc<Leaf>,
    pub(super) ca_bundle: Option<Arc<str>>,
    /// Each CA of the bundle.
    pub(super) authorities: Vec<AuthorityStatus>,
    /// The reason why clients might refuse it.
    pub(super) refusal: Option<String>,
}

/// The result of one read.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) adopted: Option<Pair>,
    pub(super) problem: Option<String>,
    /// The files have the pair that is presented now, or is adopted.
    pub(super) is_presented: bool,
    /// The files are unchanged since the read before, so they are not being written now.
    pub(super) is_settled: bool,
}

impl Selection {
    pub(super) fn select(
        &mut self,
        content: Result<Content, String>,
        presented: Option<&Pair>,
        files: &MountedFiles,
        name: Option<&str>,
        now: UnixTime,
    ) -> Outcome {
        let is_settled = self.last.as_ref() == Some(&content);
        let expired = presented.is_none_or(|pair| now > pair.leaf.not_after);
        let may_be_refused = presented.is_some_and(|pair| pair.refusal.is_some());
        let known = content.as_ref().is_ok_and(|content| self.adopted.as_ref() == Some(content));
        if known && let Some(presented) = presented {
            let end = expired.then(|| format!("{} has expired", files.certificate));
            self.last = Some(content);
            let problem = end.or_else(|| presented.refusal.clone());
            return Outcome { adopted: None, problem, is_presented: true, is_settled };
        }
        let found = match &content {
            Ok(content) => check_pair(content, files, name, now),
            Err(reason) => Err(reason.clone()),
        };
        let (adopted, problem) = match found {
            Err(reason) => (None, Some(reason)),
            // A new pair that clients may refuse replaces the current one only if that has expired or may be refused too.
            Ok(found) if found.refusal.is_some() && !expired && !may_be_refused => (None, found.refusal),
            Ok(found) => {
                let refusal = found.refusal.clone();
                (Some(found), refusal)
            }
        };
        if adopted.is_some() {
            self.adopted = content.as_ref().ok().cloned();
        }
        self.last = Some(content);
        let is_presented = adopted.is_some();
        Outcome { adopted, problem, is_presented, is_settled }
    }
}

/// The pair as it would be presented, or why it cannot be.
fn check_pair(
    content: &Content,
    files: &MountedFiles,
    name: Option<&str>,
    now: UnixTime,
) -> Result<Pair, String> {
    let MountedFiles { certificate, key, authority, .. } = files;
    let leaf = Leaf::from_pem(&content.certificate, &content.key, now)
        .map_err(|error| format!("{certificate} and {key}: {error}"))?;
    // An issuer may leave the file empty.
    let bundle = content.authority.as_ref().map(|text| text.as_str()).filter(|text| !text.trim().is_empty());
    let none: [&str; 0] = [];
    let verified = bundle.map_or(Ok(()), |bundle| verify(bundle, &leaf.chain, &none, now));
    let refusal = match (verified, name) {
        (Err(error), _) => Some(format!("clients that trust {authority} refuse {certificate}: {error}")),
        (Ok(()), Some(name)) if !leaf.serves(name) => {
            Some(format!("{certificate} is not for `{name}`; it names {}", leaf.names.join(", ")))
        }
        _ => None,
    };
    let read = Bundle::read(bundle.unwrap_or_default().as_bytes());
    let status = |facts: CertificateFacts| AuthorityStatus {
        role: Role::Foreign,
        not_after: system_time(facts.not_after.as_secs()),
    };
    let authorities = read.certificates.values().filter_map(describe).map(status).collect();
    Ok(Pair { leaf: Arc::new(leaf), ca_bundle: bundle.map(Arc::from), authorities, refusal })
}

#[cfg(test)]
mod tests;
