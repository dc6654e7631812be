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
pub(super) struct Kept {
    pub(super) leaf: Arc<Leaf>,
    pub(super) ca_bundle: Option<Arc<str>>,
    /// Each CA of the bundle.
    pub(super) authorities: Vec<AuthorityStatus>,
    /// The reason why clients might refuse it.
    pub(super) doubt: Option<String>,
}

/// The result of one read.
#[derive(Default)]
pub(super) struct Look {
    pub(super) adopted: Option<Kept>,
    pub(super) problem: Option<String>,
    /// The files are unchanged since the read before, so they are not being written now.
    pub(super) settled: bool,
}

impl Selection {
    pub(super) fn look(
        &mut self,
        content: Result<Content, String>,
        kept: Option<&Kept>,
        files: &MountedFiles,
        name: Option<&str>,
        now: UnixTime,
    ) -> Look {
        let settled = self.last.as_ref() == Some(&content);
        let expired = kept.is_none_or(|kept| now > kept.leaf.not_after);
        let doubted = kept.is_some_and(|kept| kept.doubt.is_some());
        let known = content.as_ref().is_ok_and(|content| self.adopted.as_ref() == Some(content));
        if known && let Some(kept) = kept {
            let end = expired.then(|| format!("{} has expired", files.certificate));
            self.last = Some(content);
            return Look { problem: end.or_else(|| kept.doubt.clone()), settled, adopted: None };
        }
        let found = match &content {
            Ok(content) => judge(content, files, name, now),
            Err(reason) => Err(reason.clone()),
        };
        let (adopted, problem) = match found {
            Err(reason) => (None, Some(reason)),
            // A new pair that clients may refuse replaces the current one only if that has expired or may be refused too.
            Ok(found) if found.doubt.is_some() && !expired && !doubted => (None, found.doubt),
            Ok(found) => {
                let doubt = found.doubt.clone();
                (Some(found), doubt)
            }
        };
        if adopted.is_some() {
            self.adopted = content.as_ref().ok().cloned();
        }
        self.last = Some(content);
        Look { adopted, problem, settled }
    }
}

/// The pair as it would be presented, or why it cannot be.
fn judge(content: &Content, files: &MountedFiles, name: Option<&str>, now: UnixTime) -> Result<Kept, String> {
    let MountedFiles { certificate, key, authority, .. } = files;
    let leaf = Leaf::from_pem(&content.certificate, &content.key, now)
        .map_err(|error| format!("{certificate} and {key}: {error}"))?;
    // An issuer may leave the file empty.
    let bundle = content.authority.as_ref().map(|text| text.as_str()).filter(|text| !text.trim().is_empty());
    let none: [&str; 0] = [];
    let vouched = bundle.map_or(Ok(()), |bundle| verify(bundle, &leaf.chain, &none, now));
    let doubt = match (vouched, name) {
        (Err(error), _) => Some(format!("{authority} did not sign {certificate}: {error}")),
        (Ok(()), Some(name)) if !leaf.serves(name) => {
            Some(format!("{certificate} is not for `{name}`; it names {}", leaf.names.join(", ")))
        }
        _ => None,
    };
    let read = Bundle::read(bundle.unwrap_or_default().as_bytes());
    let status = |facts: CertificateFacts| AuthorityStatus {
        role: Role::Foreign,
        not_after: system_time(facts.not_after),
    };
    let authorities = read.certificates.values().filter_map(describe).map(status).collect();
    Ok(Kept { leaf: Arc::new(leaf), ca_bundle: bundle.map(Arc::from), authorities, doubt })
}

#[cfg(test)]
mod tests;
