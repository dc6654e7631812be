//! Reads `match`, `optIn` and `rollout`: the objects that a rule applies to.

use super::reader::Reader;
use crate::diagnostic::{MATCHES_EVERY_POD, Position, RENAMED, UNSEEN_OWNER, WRONG_VALUE};
use crate::format::{self, chosen};
use crate::rule::{Match, MetadataOf, OptIn, Resource, Rollout};
use crate::select::NO_OWNER;
use crate::yaml::Node;

pub(super) fn match_of(reader: &mut Reader, spec: &Node) -> Match {
    let node = spec.get("match");
    let at = node.map_or(spec.at(), Node::at);
    if let Some(node) = node {
        reader.fields(node, &format::MATCH);
    }
    let part = |name: &str| node.and_then(|node| node.get(name));
    let at_field = |field: &str| part(field).map_or(at, Node::at);
    let skip_host_network = node.and_then(|node| chosen(node, "hostNetwork", &format::HOST_NETWORK));
    Match {
        at,
        namespaces: reader.label_selector(part("namespaceSelector"), at),
        objects: reader.label_selector(part("objectSelector"), at),
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
    let addressed = matching.namespaces.asks_for_labels()
        || matching.objects.asks_for_labels()
        || reader.namespaced
        // The selectors have their former names.
        || reader.findings.iter().any(|finding| finding.code() == &RENAMED);
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

/// `metadataOf`.
pub(super) fn metadata_of(reader: &mut Reader, spec: &Node, targets: &[Resource]) -> MetadataOf {
    let found = chosen(spec, "metadataOf", &format::METADATA_SOURCES).unwrap_or_default();
    if let Some(node) = spec.get("metadataOf").filter(|_| targets == [Resource::Pods]) {
        let help = "leave it out, or name workloads under `targets`";
        reader.error(&WRONG_VALUE, node.at(), "`metadataOf` has no meaning for pods alone", help);
    }
    found
}
