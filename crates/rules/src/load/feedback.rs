//! Rules that write what rules read: their second evaluation would differ from the first.

use super::LoadedRule;
use crate::diagnostic::{self, Diagnostic};
use crate::rule::{Resource, Rule};
use crate::select::{MIRROR_ANNOTATION, OWN_POD_LABEL};
use crate::settings::Settings;
use crate::subject::HASH_LABEL;
use crate::well_known::{INJECT_KEY, RULE_KEY_PREFIX, STATUS_ANNOTATION};

pub(super) fn findings(loaded: &[LoadedRule], settings: &Settings) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for LoadedRule { source, writes, .. } in loaded {
        for (_, _, at) in
            writes.iter().filter(|(map, key, _)| map == "annotations" && key == STATUS_ANNOTATION)
        {
            let message = format!("the injector itself writes `{STATUS_ANNOTATION}`");
            findings.push(source.error(&diagnostic::RESERVED, *at, message));
        }
    }
    // Only pods have their own labels written; of a Deployment the template's are, which no match reads.
    let pods = || loaded.iter().filter(|loaded| loaded.rule.targets.contains(&Resource::Pods));
    for writer in pods() {
        for (map, key, at) in &writer.writes {
            let reader = pods().find(|reader| reads(&reader.rule, map, key));
            if let Some(reader) = reader {
                let message = format!("{} `{key}` is read by rule `{}`", singular(map), reader.rule.name);
                findings.push(writer.source.error(&diagnostic::FEEDBACK, *at, message));
            } else if *map == "labels" && exempts(settings, key) {
                let message = format!("label `{key}` is read by an exemption");
                findings.push(writer.source.error(&diagnostic::FEEDBACK, *at, message));
            }
        }
    }
    findings
}

fn reads(rule: &Rule, map: &str, key: &str) -> bool {
    matches!(key, INJECT_KEY | OWN_POD_LABEL | MIRROR_ANNOTATION)
        || key.strip_prefix(RULE_KEY_PREFIX) == Some(rule.name())
        || map == "labels" && rule.matching.labels.pairs.iter().any(|label| label.key == *key)
        || map == "annotations" && rule.compat.iter().any(|compat| compat.key == key)
        || map == "labels" && key == HASH_LABEL && rule.asks_for_workload()
        || map == "annotations" && rule.logic.parameters.iter().any(|parameter| parameter.reads(key))
}

fn exempts(settings: &Settings, label: &str) -> bool {
    settings.exemptions.iter().any(|exemption| exemption.object_labels().any(|(key, _)| key == label))
}

fn singular(map: &str) -> &str {
    map.trim_end_matches('s')
}
