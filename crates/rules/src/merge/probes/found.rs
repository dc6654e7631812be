//! The probes of a pod that the kubelet sends over the network.

use vestibule_patch::{Pointer, View};

use super::super::draft::Draft;
use crate::subject::text;

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
    /// `livenessProbe`
    pub(super) member: &'static str,
    /// `livez`
    pub(super) word: &'static str,
    /// The place of the probe.
    pub(super) probe: Pointer,
    pub(super) handler: &'static str,
    pub(super) port: Port,
    pub(super) path: Option<String>,
    pub(super) timeout: Option<i64>,
}

/// The port that a probe asks for.
#[derive(PartialEq, Eq)]
pub(super) enum Port {
    Number(i64),
    /// It is named, and its container has no port of that name.
    Unknown,
}

impl FoundProbe {
    /// The place of its handler.
    pub(super) fn place(&self) -> Pointer {
        self.probe.child(self.handler)
    }
}

/// All such probes, in the order of the containers.
pub(super) fn found_probes(draft: &Draft<'_>) -> Vec<FoundProbe> {
    let mut found = Vec::new();
    for list in ["containers", "initContainers"] {
        let place = draft.layout.list(list);
        let containers = draft.at(&place).map(View::items).unwrap_or_default();
        for (index, container) in containers.into_iter().enumerate() {
            let probes = PROBES.iter().filter_map(|(member, word)| {
                found_probe(container, member, word, || place.item(index).child(member))
            });
            found.extend(probes);
        }
    }
    found
}

fn found_probe(
    container: View<'_>,
    member: &'static str,
    word: &'static str,
    place: impl FnOnce() -> Pointer,
) -> Option<FoundProbe> {
    let probe = container.get(member)?;
    let mut handlers = HANDLERS
        .iter()
        .filter_map(|name| Some((*name, probe.get(name).filter(|handler| !handler.is_null())?)));
    let (handler, value) = handlers.next()?;
    let port = value.get("port")?;
    let number = port.as_i64().or_else(|| named_port(container, &port.as_str()?));
    Some(FoundProbe {
        container: text(Some(container), "name")?,
        member,
        word,
        probe: place(),
        handler,
        port: number.map_or(Port::Unknown, Port::Number),
        path: text(Some(value), "path"),
        timeout: probe.get("timeoutSeconds").and_then(View::as_i64),
    })
}

/// The number of the port `name` of `container`. The kubelet looks for it in the container of the probe too.
fn named_port(container: View<'_>, name: &str) -> Option<i64> {
    let mut ports = container.get("ports")?.iter();
    let port = ports.find(|port| text(Some(*port), "name").is_some_and(|found| found == name))?;
    port.get("containerPort")?.as_i64()
}
