//! Reports a rule that writes a label or annotation which a rule or an exemption reads, since a second evaluation would differ
//! from the first, and a label by which controllers find their pods.
//!
//! `load` calls [`findings`] once for all rules of the cluster, and for rules of namespaces. The keys that are read are indexed first, so the work is one lookup
//! for each written key and not one comparison for each pair of rules.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::diagnostic::{CONTROLLER_LABEL, Code, Diagnostic, FEEDBACK, Position, RESERVED};
use crate::label_selector::LabelRequirement;
use crate::parameter::Parameter;
use crate::rule::{MetadataOf, Resource, Rule};
use crate::select::MIRROR_ANNOTATION;
use crate::settings::Settings;
use crate::subject::{HASH_LABEL, is_of_controllers};
use crate::well_known::{INJECT_KEY, OWN_POD_LABEL, PROBES_ANNOTATION, STATUS_ANNOTATION};

/// The findings about labels and annotations that rules of `writing` write, and rules of `reading` or exemptions read.
pub(super) fn findings<'l>(
    writing: impl IntoIterator<Item = &'l Rule>,
    reading: impl IntoIterator<Item = &'l Rule>,
    settings: &'l Settings,
) -> Vec<Diagnostic> {
    let readers = Readers::new(reading, settings);
    let mut findings = Vec::new();
    for rule in writing {
        let source = &rule.text;
        for (map, key, at) in keys_written(rule) {
            if let Some((code, sentence)) = reserved(&map, key) {
                findings.push(source.finding(code, at, sentence));
            }
            if let Some(message) = readers.refused(rule, &map, key) {
                findings.push(source.finding(&FEEDBACK, at, message));
            }
        }
    }
    findings
}

/// Why no rule may write this label or annotation, if none may.
pub(crate) fn reserved(map: &str, key: &str) -> Option<(&'static Code, String)> {
    if map == "annotations" && [STATUS_ANNOTATION, PROBES_ANNOTATION].contains(&key) {
        return Some((&RESERVED, format!("the injector itself writes `{key}`")));
    }
    // A controller that does not find the pod that it has created creates another one, without end.
    is_of_controllers(map, key)
        .then(|| (&CONTROLLER_LABEL, format!("controllers set `{key}`, and may find their pods by it")))
}

/// The resources whose pods or pod templates `rule` reads; rules write there. With `metadataOf: workload` it reads the labels of
/// the workload itself, which no rule writes.
fn resources_read(rule: &Rule) -> impl Iterator<Item = Resource> {
    let reads =
        |resource: &Resource| *resource == Resource::Pods || rule.metadata_of == MetadataOf::PodTemplate;
    rule.targets.iter().copied().filter(reads)
}

/// The first reader of each label and annotation, by map, key and resource.
pub(crate) struct Readers {
    by_key: HashMap<(&'static str, Resource), HashMap<Arc<str>, ReadBy>>,
    /// The first reader of annotations with a prefix, and the lengths of all prefixes.
    by_prefix: HashMap<Resource, HashMap<Arc<str>, ReadBy>>,
    lengths: BTreeSet<usize>,
    /// The first rule whose conditions read a label or annotation of pods. Rules of the cluster are evaluated together and may
    /// write it; a rule of a namespace would switch the reader off in the next call.
    by_condition: HashMap<(String, String), Arc<str>>,
    /// Insertions and lookups.
    #[cfg(test)]
    steps: std::sync::atomic::AtomicUsize,
}

#[derive(Clone)]
enum ReadBy {
    Rule(Arc<str>),
    Exemption,
}

impl Readers {
    pub(crate) fn new<'l>(rules: impl IntoIterator<Item = &'l Rule>, settings: &Settings) -> Self {
        let mut readers = Self {
            by_key: HashMap::new(),
            by_prefix: HashMap::new(),
            lengths: BTreeSet::new(),
            by_condition: HashMap::new(),
            #[cfg(test)]
            steps: std::sync::atomic::AtomicUsize::default(),
        };
        for rule in rules {
            for key in keys_of_conditions(rule) {
                readers.by_condition.entry(key).or_insert_with(|| Arc::clone(&rule.name));
            }
            for resource in resources_read(rule) {
                for (map, key) in keys_read(rule) {
                    readers.insert(map, key, resource, || ReadBy::Rule(Arc::clone(&rule.name)));
                }
                for prefix in rule.logic.parameters.iter().filter_map(Parameter::pod_prefix) {
                    let of_resource = readers.by_prefix.entry(resource).or_default();
                    let reader = || ReadBy::Rule(Arc::clone(&rule.name));
                    of_resource.entry(Arc::from(prefix)).or_insert_with(reader);
                    readers.lengths.insert(prefix.len());
                }
            }
        }
        let exempt = settings.exemptions.iter().flat_map(|exemption| exemption.objects.requirements());
        for requirement in exempt {
            for resource in Resource::ALL {
                readers.insert("labels", requirement.key(), *resource, || ReadBy::Exemption);
            }
        }
        readers
    }

    /// Why `rule` must not write this key.
    pub(crate) fn refused(&self, rule: &Rule, map: &str, key: &str) -> Option<String> {
        let reader = rule.targets.iter().find_map(|target| self.find(map, key, *target)).cloned();
        let of_condition = || {
            rule.namespace()?;
            self.by_condition.get(&(map.to_owned(), key.to_owned())).cloned().map(ReadBy::Rule)
        };
        let reader = reader.or_else(of_condition)?;
        Some(format!("{} `{key}` is read by {reader}", map.trim_end_matches('s')))
    }

    fn insert(&mut self, map: &'static str, key: &str, resource: Resource, reader: impl FnOnce() -> ReadBy) {
        self.count_step();
        let of_resource = self.by_key.entry((map, resource)).or_default();
        if !of_resource.contains_key(key) {
            of_resource.insert(Arc::from(key), reader());
        }
    }

    fn find(&self, map: &str, key: &str, resource: Resource) -> Option<&ReadBy> {
        self.count_step();
        let map = if map == "labels" { "labels" } else { "annotations" };
        let by_key = self.by_key.get(&(map, resource)).and_then(|of_resource| of_resource.get(key));
        by_key.or_else(|| {
            let of_resource = self.by_prefix.get(&resource).filter(|_| map == "annotations")?;
            let mut prefixes = self.lengths.iter().filter_map(|length| key.get(..*length));
            prefixes.find_map(|prefix| of_resource.get(prefix))
        })
    }

    fn count_step(&self) {
        #[cfg(test)]
        self.steps.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

impl std::fmt::Display for ReadBy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rule(name) => write!(formatter, "rule `{name}`"),
            Self::Exemption => formatter.write_str("an exemption"),
        }
    }
}

/// The labels and annotations of pods that `rule` adds or removes: map, key and location.
fn keys_written(rule: &Rule) -> impl Iterator<Item = (String, &str, Position)> {
    let added = rule.metadata.iter().map(|part| (part.path.concat(), &part.item.key, &part.item.clause));
    let maps = rule.removals.iter().filter(|one| matches!(one.list, "labels" | "annotations"));
    let removed = maps.map(|one| (one.list.to_owned(), &one.key, &one.clause));
    added.chain(removed).map(|(map, key, clause)| (map, key.as_str(), clause.at))
}

/// The labels and annotations of pods that `rule` reads before it acts.
fn keys_read(rule: &Rule) -> impl Iterator<Item = (&'static str, &str)> {
    let either = [INJECT_KEY, OWN_POD_LABEL, MIRROR_ANNOTATION, &rule.key];
    let either = either.into_iter().flat_map(|key| [("labels", key), ("annotations", key)]);
    let matched = rule.matching.objects.requirements().iter().map(LabelRequirement::key);
    let hash = rule.asks_for_workload().then_some(HASH_LABEL);
    let compat = rule.compat.iter().map(|compat| compat.key.as_str());
    let parameters = rule.logic.parameters.iter().filter_map(|parameter| parameter.pod_annotation());
    either
        .chain(matched.chain(hash).map(|key| ("labels", key)))
        .chain(compat.chain(parameters).map(|key| ("annotations", key)))
}

/// The labels and annotations of pods that the conditions of `rule` read, where the keys are written as literals.
fn keys_of_conditions(rule: &Rule) -> impl Iterator<Item = (String, String)> {
    let conditions = rule.logic.conditions.iter().filter(|_| rule.targets.contains(&Resource::Pods));
    let paths = conditions.flat_map(|one| one.expression.literal_paths(&rule.logic.variables));
    paths.filter_map(|path| {
        let path = path.strip_prefix(&["request".to_owned()][..]).unwrap_or(&path);
        let [object, metadata, map, key] = path else { return None };
        (object == "object" && metadata == "metadata").then(|| (map.clone(), key.clone()))
    })
}

#[cfg(test)]
mod tests {
    use vestibule_patch::Schema;

    use super::*;
    use crate::expression::SharedBudget;
    use crate::load::injection::injection;
    use crate::load::reader;
    use crate::yaml;

    fn steps(count: usize) -> usize {
        let loaded = |number: usize| {
            let yaml = format!(
                "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: r{number}}}\n\
                 spec: {{match: {{objectSelector: {{matchLabels: {{in-{number}: x}}}}}}, pod: {{labels: {{out-{number}: x}}}}}}\n"
            );
            let documents = yaml::read("a.yaml", &yaml).unwrap();
            let source = Arc::clone(documents[0].source_text());
            let mut reader = reader::Reader::new(source, true, SharedBudget::of_a_load());
            injection(&mut reader, documents[0].root(), Schema::unknown()).unwrap()
        };
        let loaded: Vec<Rule> = (0..count).map(loaded).collect();
        let settings = Settings::default();
        let readers = Readers::new(&loaded, &settings);
        for (map, key, _) in loaded.iter().flat_map(keys_written) {
            assert!(readers.find(&map, key, Resource::Pods).is_none());
        }
        readers.steps.into_inner()
    }

    /// Eight keys that opting in reads, one label that is matched and one that is written.
    #[test]
    fn the_work_grows_with_the_number_of_rules_and_not_with_its_square() {
        assert_eq!((steps(1), steps(100), steps(1_000)), (10, 1_000, 10_000));
    }
}
