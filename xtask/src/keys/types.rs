//! Turns schemas into the numbered types of the table.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};

use super::openapi::{Documents, Kind, Property, Schema};

const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Groups of the API server that webhooks rarely change. With them the table would exceed the limit of lines; objects that the
/// table does not know are still patched, with lists compared by content.
const LEFT_OUT: &[&str] = &[
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "resource.k8s.io",
];

/// The kinds that can be objects of a review, and every type below them.
pub(super) struct Types {
    /// Sorted; each with the index of its type.
    pub(super) roots: Vec<(Kind, usize)>,
    pub(super) types: Vec<Type>,
}

/// One type; its index is its position in the table.
pub(super) struct Type {
    /// The short name, for readers: `core.v1.PodSpec`.
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
}

/// One member.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) list: List,
    /// The index of the type of the member, or of its items.
    pub(super) of: Option<usize>,
}

/// The identity of the items of a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum List {
    Unknown,
    Atomic,
    Set,
    /// Each key with its default as JSON text.
    Map(Vec<(String, Option<String>)>),
}

impl Types {
    /// The types that are reachable from kinds with metadata: lists of objects and options are never in a review.
    pub(super) fn reachable(documents: &Documents) -> anyhow::Result<Self> {
        let roots: BTreeMap<&Kind, &str> = documents.schemas.iter().filter_map(root).collect();
        let mut reached = BTreeSet::new();
        let mut pending: Vec<&str> = roots.values().copied().collect();
        while let Some(name) = pending.pop() {
            let Some(schema) = documents.schemas.get(name).filter(|schema| !schema.properties.is_empty())
            else {
                continue;
            };
            if reached.insert(name) {
                pending.extend(schema.properties.values().filter_map(type_of));
            }
        }
        let index: BTreeMap<&str, usize> =
            reached.iter().enumerate().map(|(index, name)| (*name, index)).collect();
        let roots =
            roots.into_iter().filter_map(|(kind, name)| Some((kind.clone(), *index.get(name)?))).collect();
        let types =
            reached.iter().map(|name| read(name, documents, &index)).collect::<anyhow::Result<_>>()?;
        Ok(Self { roots, types })
    }
}

fn root<'d>((name, schema): (&'d String, &'d Schema)) -> Option<(&'d Kind, &'d str)> {
    let [kind] = schema.kinds.as_slice() else { return None };
    let metadata = schema.properties.get("metadata")?.refers_to();
    let wanted = metadata == Some(METADATA) && !LEFT_OUT.contains(&kind.group.as_str());
    wanted.then_some((kind, name.as_str()))
}

/// The type of a member, or of its items; maps have none, because their keys are data.
fn type_of(property: &Property) -> Option<&str> {
    property.items.as_deref().unwrap_or(property).refers_to()
}

fn read(name: &str, documents: &Documents, index: &BTreeMap<&str, usize>) -> anyhow::Result<Type> {
    let properties = documents.schemas.get(name).into_iter().flat_map(|schema| &schema.properties);
    let fields = properties.map(|(field, property)| {
        let list = list(property, documents).with_context(|| format!("{name}, {field}"))?;
        let of = type_of(property).and_then(|of| index.get(of)).copied();
        Ok(Field { name: field.clone(), list, of })
    });
    Ok(Type { name: short(name), fields: fields.collect::<anyhow::Result<_>>()? })
}

fn list(property: &Property, documents: &Documents) -> anyhow::Result<List> {
    let items = type_of(property).and_then(|name| documents.schemas.get(name));
    Ok(match property.list_type.as_deref() {
        None => List::Unknown,
        Some("atomic") => List::Atomic,
        Some("set") => List::Set,
        Some("map") => {
            List::Map(property.list_keys.iter().map(|key| (key.clone(), default(key, items))).collect())
        }
        Some(other) => bail!("the list type {other:?} is not known here"),
    })
}

/// The default of an optional key; the default of a required member is only its zero value.
fn default(key: &str, items: Option<&Schema>) -> Option<String> {
    let items = items.filter(|items| !items.required.iter().any(|required| required == key))?;
    items.properties.get(key)?.default.as_ref().map(ToString::to_string)
}

/// The last three parts of a name: group, version, type.
fn short(name: &str) -> String {
    let start = name.rmatch_indices('.').nth(2).map_or(0, |(at, _)| at + 1);
    name.get(start..).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r##"{"info": {"version": "v1.36.2"}, "components": {"schemas": {
        "io.k8s.api.core.v1.Pod": {
            "properties": {
                "metadata": {"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]},
                "ports": {"items": {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Port"}]},
                    "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["number", "protocol"]},
                "sizes": {"additionalProperties": {"$ref": "#/components/schemas/io.k8s.api.core.v1.Port"}},
                "when": {"$ref": "#/components/schemas/io.k8s.api.core.v1.Time"}},
            "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Pod"}]},
        "io.k8s.api.core.v1.Port": {
            "properties": {"number": {"default": 0}, "protocol": {"default": "TCP"}}, "required": ["number"]},
        "io.k8s.api.core.v1.PodList": {
            "properties": {"metadata": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"}},
            "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "PodList"}]},
        "io.k8s.api.core.v1.Time": {"type": "string"},
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
            "properties": {"finalizers": {"items": {"type": "string"}, "x-kubernetes-list-type": "set"}}}}}}"##;

    #[test]
    fn only_what_a_review_can_hold_is_reached() {
        let types = types();
        let names: Vec<_> = types.types.iter().map(|of| of.name.as_str()).collect();
        assert_eq!(names, ["core.v1.Pod", "core.v1.Port", "meta.v1.ObjectMeta"]);
        let roots: Vec<_> = types.roots.iter().map(|(kind, index)| (kind.kind.as_str(), *index)).collect();
        assert_eq!(roots, [("Pod", 0)]);
    }

    #[test]
    fn optional_keys_have_their_defaults() {
        let pod = &types().types[0];
        let ports = pod.fields.iter().find(|field| field.name == "ports").unwrap();
        let keys = vec![("number".to_owned(), None), ("protocol".to_owned(), Some(r#""TCP""#.to_owned()))];
        assert_eq!((&ports.list, ports.of), (&List::Map(keys), Some(1)));
    }

    #[test]
    fn maps_and_scalars_have_no_type() {
        let pod = &types().types[0];
        for name in ["sizes", "when"] {
            let field = pod.fields.iter().find(|field| field.name == name).unwrap();
            assert_eq!((&field.list, field.of), (&List::Unknown, None), "{name}");
        }
    }

    fn types() -> Types {
        let mut documents = Documents::default();
        documents.add(DOCUMENT).unwrap();
        Types::reachable(&documents).unwrap()
    }
}
