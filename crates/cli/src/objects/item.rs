//! Reads one object, or one item of a list.

use serde_json::json;
use vestibule::patch::Pointer;
use vestibule_rules::Position;
use vestibule_rules::yaml::Node;

use super::Object;

/// The items of a list, or the object itself; each with the type that its list names, and its place.
pub(super) fn items(root: &Node) -> Vec<(&Node, Option<Type<'_>>, Pointer)> {
    let text = |key| root.get(key).and_then(Node::as_text).unwrap_or_default();
    let (Some(of), Some(items)) = (text("kind").strip_suffix("List"), root.get("items")) else {
        return vec![(root, None, Pointer::root())];
    };
    // Items of a `v1 List` have a type; items of a `PodList`, as `kubectl get --raw` prints it, do not.
    let named = (!of.is_empty()).then(|| Type { api_version: text("apiVersion"), kind: of });
    match items.as_list() {
        Some(list) => {
            let pointer = |index| Pointer::root().child("items").item(index);
            list.iter().enumerate().map(|(index, item)| (item, named, pointer(index))).collect()
        }
        None if items.is_null() => Vec::new(),
        None => vec![(root, None, Pointer::root())],
    }
}

/// `apiVersion` and `kind`.
#[derive(Clone, Copy)]
pub(super) struct Type<'d> {
    api_version: &'d str,
    kind: &'d str,
}

/// Reads one object. `written` is its text, if that is JSON.
pub(super) fn object(
    source: &str,
    node: &Node,
    listed: Option<Type<'_>>,
    written: Option<&str>,
) -> Result<Object, (Position, &'static str)> {
    let json = written.map_or_else(|| node.to_kubectl_json(), str::to_owned);
    let metadata = node.get("metadata").filter(|metadata| !metadata.is_null());
    if let Some(metadata) = metadata.filter(|metadata| metadata.as_map().is_none()) {
        return Err((metadata.at(), "`metadata` is no map: this is no Kubernetes object"));
    }
    let text = |node: Option<&Node>, key: &str| {
        let text = node?.get(key)?.as_text()?;
        (!text.is_empty()).then(|| text.to_owned())
    };
    let has_no_type =
        |node: &Node| node.as_map().is_some() && node.get("apiVersion").or(node.get("kind")).is_none();
    let (api_version, kind, json) = match listed.filter(|_| has_no_type(node)) {
        Some(listed) => (listed.api_version.to_owned(), listed.kind.to_owned(), typed(&json, listed)),
        None => {
            let found = text(Some(node), "apiVersion").zip(text(Some(node), "kind"));
            let (api_version, kind) = found.ok_or((node.at(), NO_TYPE))?;
            (api_version, kind, json)
        }
    };
    let generated = || text(metadata, "generateName").map(|prefix| format!("{prefix}*****"));
    let given = text(metadata, "name");
    Ok(Object {
        json,
        api_version,
        kind,
        namespace: text(metadata, "namespace"),
        name: given.clone().or_else(generated).unwrap_or_else(|| "(no name)".to_owned()),
        given_name: given.unwrap_or_default(),
        source: source.to_owned(),
        at: node.at(),
        document_line: node.at().line,
        pointer: Pointer::root(),
    })
}

const NO_TYPE: &str = "`apiVersion` or `kind` is missing: this is no Kubernetes object; values and templates, such as \
                       Helm's, must be rendered first";

/// The object `json` with the type of its list.
fn typed(json: &str, of: Type<'_>) -> String {
    let members = json.trim_start().strip_prefix('{').unwrap_or_default().trim_start();
    let comma = if members.starts_with('}') { "" } else { "," };
    let Type { api_version, kind } = of;
    format!(r#"{{"apiVersion":{},"kind":{}{comma}{members}"#, json!(api_version), json!(kind))
}
