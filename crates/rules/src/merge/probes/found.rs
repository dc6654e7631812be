//! The probes of a pod that the kubelet sends over the network.

use std::borrow::Cow;

use vestibule_patch::{Pointer, View};

use super::super::contains::present;
use super::super::draft::Draft;
use crate::pod::CONTAINER_LISTS;
use crate::subject::string_member;

/// The members of containers that hold probes, and the last part of the URL for each.
const PROBES: [(&str, &str); 3] =
    [("livenessProbe", "livez"), ("readinessProbe", "readyz"), ("startupProbe", "startupz")];

pub(super) const HTTP_GET: &str = "httpGet";

/// The handlers that use the network. `exec` does not.
pub(super) const HANDLERS: [&str; 3] = [HTTP_GET, "tcpSocket", "grpc"];

/// A probe with a handler that uses the network.
pub(super) struct FoundProbe {
    /// The name of its container.
    pub(super) container: String,
    /// The list and the index of its container.
    pub(super) at: (&'static str, usize),
    /// `livenessProbe`
    pub(super) member: &'static str,
    /// `livez`
    pub(super) word: &'static str,
    /// The place of the probe.
    pub(super) probe: Pointer,
    pub(super) handler: &'static str,
    /// The handler, JSON.
    pub(super) value: String,
    /// The number of the port that it asks for. `None` if its container has no port of the name.
    pub(super) port: Option<i64>,
    pub(super) path: Option<String>,
    pub(super) timeout: Option<i64>,
    /// Whether the probe has a further handler. Another program has changed it then, and the API server refuses it.
    pub(super) is_ambiguous: bool,
}

impl FoundProbe {
    /// The place of its handler.
    pub(super) fn place(&self) -> Pointer {
        self.probe.child(self.handler)
    }

    /// Whether it is an HTTP probe of this port.
    pub(super) fn asks_for(&self, port: i64) -> bool {
        self.handler == HTTP_GET && self.port == Some(port)
    }
}

/// All such probes, in the order of the containers.
pub(super) fn found_probes(draft: &Draft<'_>) -> Vec<FoundProbe> {
    let mut found = Vec::new();
    for list in CONTAINER_LISTS {
        let place = draft.layout.list(list);
        let containers = draft.at(&place).map(View::items).unwrap_or_default();
        for (index, container) in containers.into_iter().enumerate() {
            let probes = PROBES.iter().filter_map(|(member, word)| {
                found_probe(container, (list, index), (member, word), || place.item(index).child(member))
            });
            found.extend(probes);
        }
    }
    found
}

fn found_probe(
    container: View<'_>,
    at: (&'static str, usize),
    (member, word): (&'static str, &'static str),
    place: impl FnOnce() -> Pointer,
) -> Option<FoundProbe> {
    let probe = container.get(member)?;
    let has_handler = |name: &&str| present(probe, name).is_some();
    let mut handlers = HANDLERS.iter().copied().filter(has_handler);
    let handler = handlers.next()?;
    let value = probe.get(handler)?;
    let port = value.get("port")?;
    let number = port.as_i64().or_else(|| named_port(container, &port.as_str()?));
    Some(FoundProbe {
        container: string_member(container, "name")?.into_owned(),
        at,
        member,
        word,
        probe: place(),
        handler,
        value: value.to_json().into_owned(),
        port: number,
        path: string_member(value, "path").map(Cow::into_owned),
        timeout: probe.get("timeoutSeconds").and_then(View::as_i64),
        is_ambiguous: handlers.next().is_some() || has_handler(&"exec"),
    })
}

/// The number of the port `name` of `container`. The kubelet looks for it in the container of the probe too.
fn named_port(container: View<'_>, name: &str) -> Option<i64> {
    let mut ports = container.get("ports")?.iter();
    let port = ports.find(|port| string_member(*port, "name").is_some_and(|found| found == name))?;
    port.get("containerPort")?.as_i64()
}
