//! Keys that nobody reads and that look as if they were ours.

use super::Inquiry;
use crate::diagnostic::shown;
use crate::near::nearest;
use crate::well_known::{INJECT_KEY, RULE_KEY_PREFIX};

/// How many are looked at closely and how many are told, so that a hostile object costs no more than a careless one.
const MOST_LOOKED_AT: usize = 16;
const MOST_TOLD: usize = 4;

/// No key is longer: what is cannot be a slip.
const LONGEST: usize = 63;

const DOMAIN: &str = group!();
const RULE_DOMAIN: &str = concat!("inject.", group!());
const INJECT: &str = "inject";

/// Names below our domain that mean something, or are written by us.
const KNOWN: &[&str] = &[INJECT, "config", "injected", "injector"];

impl Inquiry<'_> {
    /// A sentence for every key of the object and its namespace that was probably meant to be one of ours.
    pub(crate) fn mistyped(&self) -> Vec<String> {
        let object = self.received.keys().map(|key| ("the object", key));
        let facts = self.subject.facts.into_iter();
        let namespace = facts.flat_map(|facts| facts.labels.keys().chain(facts.annotations.keys()));
        let keys = object.chain(namespace.map(|key| ("the namespace", key.as_str())));
        let suspicious = keys.filter(|(_, key)| is_suspicious(key, self)).take(MOST_LOOKED_AT);
        // In order, so that of two names that are as near it is always the same.
        let mut names: Vec<&str> = Vec::new();
        let told = suspicious.filter_map(|(whose, key)| {
            if names.is_empty() {
                names.extend(self.names());
                names.sort_unstable();
            }
            let meant = meant(key, &names)?;
            let key = shown(key);
            Some(match meant {
                Some(meant) => format!("nobody reads {key} of {whose}; did you mean {meant}?"),
                None => format!("nobody reads {key} of {whose}: there is no such rule"),
            })
        });
        told.take(MOST_TOLD).collect()
    }
}

/// What can be told at a glance: most keys of most objects are nobody's slip.
fn is_suspicious(key: &str, inquiry: &Inquiry<'_>) -> bool {
    let Some((domain, name)) = key.split_once('/') else { return false };
    let fine = match domain {
        DOMAIN => KNOWN.contains(&name),
        RULE_DOMAIN => inquiry.names().contains(name),
        _ => false,
    };
    // Two letters may be wrong, but not in all three.
    let like_ours = |three: &[u8]| match three {
        // Lower case where these are letters, and no such letter where they are not.
        [one, two, three] => {
            matches!(one | 0x20, b't'..=b'v')
                && matches!(&[one | 0x20, two | 0x20, three | 0x20], b"ves" | b"tib" | b"ule")
        }
        _ => false,
    };
    !fine && key.as_bytes().windows(3).any(like_ours)
}

/// The key that was meant; `Some(None)` if it is surely ours and nobody knows which; `None` if it is somebody else's.
fn meant(key: &str, names: &[&str]) -> Option<Option<String>> {
    let (domain, name) = key.split_once('/')?;
    if domain.len() > LONGEST || name.len() > LONGEST {
        return None;
    }
    let of_rule = |rule: &str| format!("{RULE_KEY_PREFIX}{rule}");
    let exact = |name: &str| names.binary_search(&name).ok().and_then(|index| names.get(index)).copied();
    let rule = |name: &str| exact(name).or_else(|| nearest(name, names.iter().copied()));
    match nearest(domain, [DOMAIN, RULE_DOMAIN])? {
        RULE_DOMAIN => match rule(name) {
            Some(rule) => Some(Some(of_rule(rule))),
            None if name == INJECT => Some(Some(INJECT_KEY.to_owned())),
            None => (domain == RULE_DOMAIN).then_some(None),
        },
        _ => {
            let behind = name.strip_prefix(INJECT).map(|rest| rest.trim_start_matches(['-', '.', '_']));
            if let Some(rule) = behind.and_then(rule).or_else(|| exact(name)) {
                return Some(Some(of_rule(rule)));
            }
            nearest(name, [INJECT]).map(|_| Some(INJECT_KEY.to_owned()))
        }
    }
}
