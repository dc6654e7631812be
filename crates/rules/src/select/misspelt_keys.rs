//! Warnings about labels and annotations that look like misspelt opt-in keys.

use std::sync::Arc;

use super::MatchContext;
use crate::diagnostic::printable_short;
use crate::did_you_mean::nearest;
use crate::rule::{MetadataOf, Resource, Rule};
use crate::well_known::{INJECT_KEY, OWN_KEYS, RULE_KEY_PREFIX};

/// How many suspicious keys are compared with the names of rules: a hostile object may have thousands.
const MAX_COMPARED: usize = 16;
const MAX_WARNINGS: usize = 4;

/// The longest domain or name that is compared. The opt-in keys are shorter.
const MAX_LENGTH: usize = 63;

const DOMAIN: &str = group!();
const RULE_DOMAIN: &str = concat!("inject.", group!());
const INJECT: &str = "inject";

impl MatchContext<'_> {
    /// A warning for each key of the object and its namespace that is probably a misspelt opt-in key. `own` are the rules of the
    /// namespace.
    pub(crate) fn misspelt_keys(&self, own: &[Arc<Rule>]) -> Vec<String> {
        let read = |of: &MetadataOf| {
            *of == MetadataOf::PodTemplate
                || self.is_workload() && self.rules.iter().any(|rule| rule.metadata_of == *of)
        };
        let read = [MetadataOf::PodTemplate, MetadataOf::Workload].into_iter().filter(read);
        let object = read.flat_map(|of| {
            let described = self.received.described(of);
            self.received.metadata(of).keys().map(move |key| (described, key))
        });
        let facts = self.subject.facts.into_iter();
        let namespace = facts.flat_map(|facts| facts.labels.keys().chain(facts.annotations.keys()));
        let keys = object.chain(namespace.map(|key| ("the namespace", key.as_str())));
        let is_suspicious = |key: &str| is_suspicious(key, self) && own.iter().all(|rule| rule.key != key);
        let suspicious = keys.filter(|(_, key)| is_suspicious(key)).take(MAX_COMPARED);
        // Sorted, so that of two names at the same distance the suggestion is always the same one.
        let mut names: Vec<&str> = Vec::new();
        let warnings = suspicious.filter_map(|(level, key)| {
            if names.is_empty() {
                names.extend(self.rule_names());
                names.extend(own.iter().filter_map(|rule| rule.key.strip_prefix(RULE_KEY_PREFIX)));
                names.sort_unstable();
            }
            let suggestion = suggestion(key, &names)?;
            let key = printable_short(key);
            Some(match suggestion {
                Some(meant) => format!("no rule reads {key} of {level}; did you mean {meant}?"),
                None => format!("no rule reads {key} of {level}: there is no rule of this name"),
            })
        });
        self.misplaced_keys().chain(warnings).take(MAX_WARNINGS).collect()
    }

    /// A warning for each opt-in key of a workload that rules read from its pod template only.
    fn misplaced_keys(&self) -> impl Iterator<Item = String> {
        let (template, own) =
            [MetadataOf::PodTemplate, MetadataOf::Workload].map(|of| self.received.metadata(of)).into();
        let concerns = |rule: &Rule, key: &str| {
            let named = key == INJECT_KEY || key == rule.key;
            named && rule.targets.contains(&self.subject.resource)
        };
        let is_misplaced = move |key: &&str| {
            let mut rules = self.rules.iter().filter(|rule| concerns(rule, key)).peekable();
            rules.peek().is_some()
                && rules.all(|rule| rule.metadata_of == MetadataOf::PodTemplate)
                && template.label(key).or(template.annotation(key)).is_none()
        };
        let keys = own.keys().filter(|_| self.is_workload());
        keys.filter(is_misplaced).map(|key| {
            format!("no rule reads {key} of the object: rules read the pod template, unless they have `metadataOf: workload`")
        })
    }

    fn is_workload(&self) -> bool {
        self.subject.resource != Resource::Pods
    }
}

/// A cheap test that rejects most keys of most objects before names are compared.
fn is_suspicious(key: &str, context: &MatchContext<'_>) -> bool {
    let Some((domain, name)) = key.split_once('/') else { return false };
    let fine = match domain {
        DOMAIN => OWN_KEYS.contains(&key),
        RULE_DOMAIN => context.rule_names().contains(name),
        _ => false,
    };
    // A misspelt domain keeps at least one of the parts `ves`, `tib` and `ule`.
    let like_ours = |three: &[u8]| match three {
        // `| 0x20` makes ASCII letters lower case, and makes none of these letters from another byte.
        [one, two, three] => {
            matches!(one | 0x20, b't'..=b'v')
                && matches!(&[one | 0x20, two | 0x20, three | 0x20], b"ves" | b"tib" | b"ule")
        }
        _ => false,
    };
    !fine && key.as_bytes().windows(3).any(like_ours)
}

/// The key that was probably meant; `Some(None)` if the key is in the domain of rules and no rule has a similar name; `None` if
/// the key is not an opt-in key.
fn suggestion(key: &str, names: &[&str]) -> Option<Option<String>> {
    let (domain, name) = key.split_once('/')?;
    if domain.len() > MAX_LENGTH || name.len() > MAX_LENGTH {
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
