//! The rule format as CustomResourceDefinitions, for rules and settings that are Kubernetes objects.

mod schema;
mod status;
mod validation;

use serde_json::{Value, json};
use vestibule_patch::Schema;

use self::schema::Writer;
use crate::well_known::{API_VERSION, CustomResource};

/// The definitions of [`CustomResource::ALL`], generated from the tables that the reader uses. `pod` is the schema of pods: with
/// it, `kubectl explain` lists the fields of containers and volumes.
///
/// The schemas are structural, and strict where a map belongs to the format. Parts of pods accept any field, since an
/// expression may stand there and the API server may know more fields than this version: the injector checks them. Rules in
/// CEL refuse some documents also while the injector is down.
///
/// ```
/// let definitions = vestibule_rules::custom_resource::definitions(vestibule_patch::Schema::unknown());
/// assert_eq!(definitions[0]["metadata"]["name"], "injections.vestibule.dev");
/// ```
pub fn definitions(pod: Schema<'_>) -> Vec<Value> {
    CustomResource::ALL.into_iter().map(|resource| definition(resource, pod)).collect()
}

fn definition(resource: CustomResource, pod: Schema<'_>) -> Value {
    let (short_names, columns) = match resource {
        CustomResource::Injection => (["vinj"], status::RULE_COLUMNS),
        CustomResource::InjectorSettings => (["vset"], status::SETTINGS_COLUMNS),
        CustomResource::NamespacedInjection => (["vninj"], status::NAMESPACED_COLUMNS),
    };
    let (group, version) = API_VERSION.split_once('/').unwrap_or_default();
    let (kind, plural) = (resource.kind(), resource.plural());
    let mut schema = Writer { pod, namespaced: resource.is_namespaced() }.document(resource.table());
    schema["properties"]["status"] = status::schema(resource);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": if resource.is_namespaced() { "Namespaced" } else { "Cluster" },
            "names": {
                "kind": kind,
                "listKind": format!("{kind}List"),
                "plural": plural,
                "singular": kind.to_lowercase(),
                "shortNames": short_names,
                "categories": ["vestibule"],
            },
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}},
                "additionalPrinterColumns": status::columns(columns),
            }],
        },
    })
}
