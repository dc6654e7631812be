//! Reads `match`, `optIn` and `rollout`: the objects that a rule applies to.

use super::reader::Reader;
use crate::diagnostic::{MATCHES_EVERY_POD, Position, UNSEEN_OWNER, WRONG_VALUE};
use crate::format::{self, chosen};
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
    let names = |field: &str| namespaces.map(|node| node.texts(field)).unwrap_or_default();
    let at_field = |field: &str| part(field).map_or(at, Node::at);
    let skip_host_network = node.and_then(|node| chosen(node, "hostNetwork", &format::HOST_NETWORK));
    Match {
        at,
        namespaces: names("names"),
        excluded: names("exclude"),
        namespace_labels: labels(reader, namespaces, "matchLabels", at),
        labels: labels(reader, objects, "labels", at),
        os: match node.filter(|node| node.get("os").is_some()) {
            Some(node) => chosen(node, "os", &format::OS).flatten(),
            None => Some("linux"),
        },
        os_at: at_field("os"),
        skip_host_network: skip_host_network.unwrap_or_default().then(|| at_field("hostNetwork")),
        owner_kinds: node.map(|node| owner_kinds(reader, spec, node)).unwrap_or_default(),
        owner_kinds_at: at_field("ownerKinds"),
    }
}

/// `rollout`.
pub(super) fn rollout(reader: &mut Reader, spec: &Node) -> Option<Rollout> {
    let node = spec.get("rollout")?;
    reader.fields(node, &format::ROLLOUT);
    let (at, found) = (node.get("percent")?.at(), node.integer("percent")?);
    let share = u8::try_from(found).ok().filter(|share| *share <= 100);
    if share.is_none() {
        reader.error(&WRONG_VALUE, at, format!("`percent` cannot be {found}"), "0 to 100");
    }
    share.map(|percent| Rollout { percent, at })
}

fn owner_kinds(reader: &mut Reader, spec: &Node, node: &Node) -> Vec<String> {
    let kinds = node.texts("ownerKinds");
    let Some(node) = node.get("ownerKinds") else { return kinds };
    if kinds.is_empty() && node.as_list().is_some() {
        reader.error(&WRONG_VALUE, node.at(), "`ownerKinds` is empty", "");
    }
    let only_pods = spec.texts("targets").iter().all(|target| target == "pods");
    for kind in &kinds {
        let starts = kind.chars().next().is_some_and(|first| first.is_ascii_uppercase());
        let fine = starts && kind.len() <= 63 && kind.chars().all(|letter| letter.is_ascii_alphanumeric());
        match kind.as_str() {
            NO_OWNER => {}
            "CronJob" if only_pods => reader.error(
                &UNSEEN_OWNER,
                node.at(),
                "a pod never names a CronJob as its owner",
                "`Job` is what a CronJob makes; to change the CronJob itself, set `targets: [cronjobs]`",
            ),
            _ if fine => {}
            _ => {
                let message = format!("`ownerKinds` cannot be `{kind}`");
                let help =
                    "a kind such as `Deployment`, `Job` or `Workflow`, or `none` for pods without an owner";
                reader.error(&WRONG_VALUE, node.at(), message, help);
            }
        }
    }
    kinds
}

/// `optIn` and its location. A rule for every pod is an error, unless `match` has errors of its own: it is not known then what
/// the rule matches.
pub(super) fn opt_in(
    reader: &mut Reader,
    spec: &Node,
    matching: &Match,
    is_known: bool,
) -> (OptIn, Position) {
    let node = spec.get("optIn");
    let opt_in = chosen(spec, "optIn", &format::OPT_IN);
    let at = node.map_or(matching.at, Node::at);
    let addressed = !matching.namespaces.is_empty()
        || !matching.namespace_labels.pairs.is_empty()
        || !matching.labels.pairs.is_empty();
    // An unknown word was reported already.
    if (node.is_none() || opt_in == Some(OptIn::Always)) && !addressed && is_known {
        reader.error(
            &MATCHES_EVERY_POD,
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
