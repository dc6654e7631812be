//! Reads `match`, `optIn` and `rollout`: the objects that a rule applies to.

use super::reader::Reader;
use crate::diagnostic::{self, Position};
use crate::format;
use crate::rule::{Label, Labels, Match, OptIn, Rollout};
use crate::select::NO_OWNER;
use crate::syntax;
use crate::yaml::Node;

pub(super) fn match_of(reader: &mut Reader, spec: &Node) -> Match {
    let node = spec.get("match");
    let at = node.map_or(spec.at(), Node::at);
    if let Some(node) = node {
        reader.fields(node, &format::MATCH);
    }
    let part = |name: &str| node.and_then(|node| node.get(name));
    let namespaces = part("namespaces");
    let objects = part("objects");
    if let Some(namespaces) = namespaces {
        reader.fields(namespaces, &format::NAMESPACES);
    }
    if let Some(objects) = objects {
        reader.fields(objects, &format::OBJECTS);
    }
    let mut names = |field: &str| {
        let list = namespaces.and_then(|namespaces| namespaces.get(field));
        list.map(|list| reader.texts(list, field)).unwrap_or_default()
    };
    Match {
        at,
        namespaces: names("names"),
        excluded: names("exclude"),
        namespace_labels: labels(reader, namespaces, "matchLabels", at),
        labels: labels(reader, objects, "labels", at),
        os: part("os").map_or(Some("linux"), |node| reader.word(node, "os", &format::OS).flatten()),
        os_at: part("os").map_or(at, Node::at),
        skip_host_network: part("hostNetwork").and_then(|node| {
            let skip = reader.word(node, "hostNetwork", &format::HOST_NETWORK)?;
            skip.then(|| node.at())
        }),
        owner_kinds: part("ownerKinds").map(|node| owner_kinds(reader, spec, node)).unwrap_or_default(),
        owner_kinds_at: part("ownerKinds").map_or(at, Node::at),
    }
}

/// `rollout`.
pub(super) fn rollout(reader: &mut Reader, spec: &Node) -> Option<Rollout> {
    let node = spec.get("rollout")?;
    reader.fields(node, &format::ROLLOUT);
    let percent = node.get("percent")?;
    let at = percent.at();
    let found = reader.integer::<i64>(percent, "percent")?;
    let share = u8::try_from(found).ok().filter(|share| *share <= 100);
    if share.is_none() {
        let message = format!("`percent` cannot be {found}");
        reader.error_with_help(&diagnostic::WRONG_VALUE, at, message, "0 to 100");
    }
    share.map(|percent| Rollout { percent, at })
}

fn owner_kinds(reader: &mut Reader, spec: &Node, node: &Node) -> Vec<String> {
    let kinds = reader.texts(node, "ownerKinds");
    if kinds.is_empty() && node.as_list().is_some() {
        reader.error(&diagnostic::WRONG_VALUE, node.at(), "`ownerKinds` is empty");
    }
    let targets = spec.get("targets").and_then(Node::as_list).unwrap_or_default();
    let only_pods = targets.iter().all(|target| target.as_text() == Some("pods"));
    for kind in &kinds {
        let starts = kind.chars().next().is_some_and(|first| first.is_ascii_uppercase());
        let fine = starts && kind.len() <= 63 && kind.chars().all(|letter| letter.is_ascii_alphanumeric());
        match kind.as_str() {
            NO_OWNER => {}
            "CronJob" if only_pods => reader.error_with_help(
                &diagnostic::UNSEEN_OWNER,
                node.at(),
                "a pod never names a CronJob as its owner",
                "`Job` is what a CronJob makes; to change the CronJob itself, set `targets: [cronjobs]`",
            ),
            _ if fine => {}
            _ => {
                let message = format!("`ownerKinds` cannot be `{kind}`");
                let help =
                    "a kind such as `Deployment`, `Job` or `Workflow`, or `none` for pods without an owner";
                reader.error_with_help(&diagnostic::WRONG_VALUE, node.at(), message, help);
            }
        }
    }
    kinds
}

/// `optIn` and its location.
pub(super) fn opt_in(reader: &mut Reader, spec: &Node, matching: &Match) -> (OptIn, Position) {
    let node = spec.get("optIn");
    let opt_in = node.and_then(|node| reader.word(node, "optIn", &format::OPT_IN));
    let at = node.map_or(matching.at, Node::at);
    let addressed = !matching.namespaces.is_empty()
        || !matching.namespace_labels.pairs.is_empty()
        || !matching.labels.pairs.is_empty();
    // An unknown word was reported already.
    if (node.is_none() || opt_in == Some(OptIn::Always)) && !addressed {
        reader.error_with_help(
            &diagnostic::MATCHES_EVERY_POD,
            at,
            "this rule matches every pod of the cluster",
            "name namespaces or labels under `match`, or set `optIn: pod`",
        );
    }
    (opt_in.unwrap_or(OptIn::Always), at)
}

pub(super) fn labels(reader: &mut Reader, parent: Option<&Node>, field: &str, at: Position) -> Labels {
    let Some(node) = parent.and_then(|parent| parent.get(field)) else {
        return Labels { at, pairs: Vec::new() };
    };
    let pairs = reader.text_map(node, field);
    for (key, value, at) in &pairs {
        reader.check_format(syntax::label_key(key), "no object can have a label with this key", *at);
        reader.check_format(
            syntax::label_value(value),
            &format!("no object can have this value of the label `{key}`"),
            *at,
        );
    }
    let at = pairs.first().map_or(node.at(), |(_, _, at)| *at);
    let label = |(key, value, _)| {
        let missing = format!("the object has no label {key}={value}").into();
        Label { key, value, missing }
    };
    Labels { at, pairs: pairs.into_iter().map(label).collect() }
}
