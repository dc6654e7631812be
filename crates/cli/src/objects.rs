//! Objects in files, folders and stdin. Each item of a list is an object.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use vestibule::patch::{self, Pointer};
use vestibule_command::CommandError;
use vestibule_injector::files::{first_subfolder, printable_path, yaml_files};
use vestibule_rules::diagnostic::{code, printable};
use vestibule_rules::yaml::{self, Entry, Node};
use vestibule_rules::{Diagnostic, NamespaceFacts, Position};

use crate::workload::Workload;
use crate::{Failure, files};

/// An object and its place.
pub(crate) struct Object {
    /// JSON with members in their order; the bytes of the file, if that is JSON.
    pub(crate) json: String,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    /// The name; `web-*****` where the API server generates it.
    pub(crate) name: String,
    source: String,
    at: Position,
    /// The first line of its document.
    pub(crate) document_line: usize,
    /// Its place in the document.
    pub(crate) pointer: Pointer,
}

/// A text and its objects.
pub(crate) struct ObjectSource {
    pub(crate) text: String,
    pub(crate) objects: Vec<Object>,
    /// The only document as JSON; [`None`] where there are several.
    pub(crate) document: Option<String>,
}

/// Reads all objects of all `files`; `-` is stdin, a folder its `*.yaml`, `*.yml` and `*.json`.
pub(crate) fn read(files: &[PathBuf]) -> Result<Vec<ObjectSource>, Failure> {
    let mut sources = Vec::new();
    let mut findings = Vec::new();
    for file in files {
        for (name, text) in texts_of(file)? {
            match ObjectSource::parse(&name, text) {
                Ok(source) => sources.push(source),
                Err(found) => findings.extend(found),
            }
        }
    }
    if !findings.is_empty() {
        return Err(Failure::Findings(findings));
    }
    if sources.iter().all(|source| source.objects.is_empty()) {
        let below = files.iter().find_map(|file| first_subfolder(file));
        let below = below.map(|folder| {
            let folder = printable_path(&folder);
            format!("; of a folder, *.yaml, *.yml and *.json are read, and folders in it are not: name them, as in {folder}")
        });
        let words = format!("there is no object in the files given{}", below.unwrap_or_default());
        return Err(CommandError::input(words).into());
    }
    Ok(sources)
}

/// The objects of one text.
pub(crate) fn parse(name: &str, text: &str) -> Result<Vec<Object>, Vec<Diagnostic>> {
    objects_of(&yaml::read(name, text)?)
}

impl ObjectSource {
    fn parse(name: &str, text: String) -> Result<Self, Vec<Diagnostic>> {
        let documents = yaml::read(name, &text)?;
        let objects = objects_of(&documents)?;
        let document = match documents.as_slice() {
            [one] => Some(one.as_json().map_or_else(|| one.to_kubectl_json(), str::to_owned)),
            _ => None,
        };
        Ok(Self { text, objects, document })
    }
}

fn objects_of(documents: &[yaml::Document]) -> Result<Vec<Object>, Vec<Diagnostic>> {
    let mut objects = Vec::new();
    let mut findings = Vec::new();
    for document in documents {
        let written = document.as_json().and_then(|json| patch::Document::parse(json).ok());
        for (node, listed, pointer) in items(document.root()) {
            let written = written.as_ref().and_then(|written| Some(written.at(&pointer)?.to_json()));
            match object(document.source(), node, listed, written.as_deref()) {
                Ok(object) => {
                    let template = object.workload().map_or("", |workload| workload.template);
                    findings.extend(unquoted(document, node, template));
                    let document_line = document.root().at().line;
                    objects.push(Object { document_line, pointer, ..object });
                }
                Err((at, message)) => findings.push(document.diagnostic(&code::NO_OBJECT, at, message)),
            }
        }
    }
    if findings.is_empty() { Ok(objects) } else { Err(findings) }
}

/// Findings about values of annotations and labels that are not strings, also in the pod `template`. The API server refuses
/// such an object, and rules would read the value as absent.
fn unquoted(document: &yaml::Document, node: &Node, template: &str) -> Vec<Diagnostic> {
    let below = |path: &str| path.split('/').skip(1).try_fold(node, |node, key| node.get(key));
    let holders = [Some(node), below(template).filter(|_| !template.is_empty())];
    let mut findings = Vec::new();
    for metadata in holders.into_iter().flatten().filter_map(|holder| holder.get("metadata")) {
        for map in ["annotations", "labels"] {
            for Entry { key, value, .. } in metadata.get(map).and_then(Node::as_map).into_iter().flatten() {
                let json = value.to_kubectl_json();
                // Go reads null as an empty text.
                if json.starts_with('"') || json == "null" {
                    continue;
                }
                let kind = if json.starts_with(['{', '[']) { "no text" } else { "not in quotes" };
                let message = format!("values of {map} are strings, and this one of `{key}` is {kind}");
                let finding = document.diagnostic(&code::NOT_A_STRING, value.at(), message);
                let written =
                    value.as_text().map(|text| format!("quote it: `{}: {}`", printable(key), json!(text)));
                findings.push(match written {
                    Some(help) => finding.with_help(help),
                    None => finding,
                });
            }
        }
    }
    findings
}

impl Object {
    /// `Pod shop/web`, for headings.
    pub(crate) fn title(&self, default_namespace: &str) -> String {
        let namespace = self.namespace.as_deref().unwrap_or(default_namespace);
        printable(&match self.is_namespace() {
            true => format!("Namespace {}", self.name),
            false => format!("{} {namespace}/{}", self.kind, self.name),
        })
    }

    /// Its kind among those that hold a pod template.
    pub(crate) fn workload(&self) -> Option<&'static Workload> {
        Workload::of(&self.api_version, &self.kind)
    }

    /// Whether the owner of the pods that this object makes has a name that is not known yet.
    pub(crate) fn has_presumed_owner(&self) -> bool {
        self.workload().is_some_and(|workload| !workload.names_owner() || self.given_name().is_empty())
    }

    /// The name; empty if the API server generates it.
    pub(crate) fn given_name(&self) -> &str {
        if self.name.ends_with(['*', ')']) { "" } else { &self.name }
    }

    /// Labels and annotations, if the object is a namespace.
    pub(crate) fn facts(&self) -> Option<NamespaceFacts> {
        if !self.is_namespace() {
            return None;
        }
        let mut object: Value = serde_json::from_str(&self.json).ok()?;
        let metadata: ObjectMeta = serde_json::from_value(object["metadata"].take()).ok()?;
        let (labels, annotations) = (metadata.labels, metadata.annotations);
        Some(NamespaceFacts {
            labels: labels.unwrap_or_default(),
            annotations: annotations.unwrap_or_default(),
        })
    }

    fn is_namespace(&self) -> bool {
        (&*self.api_version, &*self.kind) == ("v1", "Namespace")
    }

    /// `pod.yaml:3`
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", printable(&self.source), self.at.line)
    }
}

fn texts_of(file: &Path) -> Result<Vec<(String, String)>, CommandError> {
    if files::is_stdin(file) {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| files::unreadable("stdin", &error))?;
        return Ok(vec![("stdin".to_owned(), text)]);
    }
    let read = |file: PathBuf| {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| files::unreadable(&name, &error))?;
        Ok((name, text))
    };
    let files = yaml_files(file).map_err(|error| files::unreadable(file.display(), &error))?;
    files.into_iter().map(read).collect()
}

/// The items of a list, or the object itself; each with the type that its list names, and its place.
fn items(root: &Node) -> Vec<(&Node, Option<Type<'_>>, Pointer)> {
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
struct Type<'d> {
    api_version: &'d str,
    kind: &'d str,
}

/// Reads one object. `written` is its text, if that is JSON.
fn object(
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
    Ok(Object {
        json,
        api_version,
        kind,
        namespace: text(metadata, "namespace"),
        name: text(metadata, "name").or_else(generated).unwrap_or_else(|| "(no name)".to_owned()),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(text: &str) -> Vec<String> {
        parse("f.yaml", text).unwrap().iter().map(|object| object.title("default")).collect()
    }

    #[test]
    fn documents_and_lists_are_split_into_objects() {
        let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\n---\napiVersion: v1\nkind: List\nitems:\n\
                    - {apiVersion: v1, kind: Pod, metadata: {generateName: b-}}\n- {apiVersion: v1, kind: Service}\n";
        assert_eq!(titles(text), ["Pod shop/a", "Pod default/b-*****", "Service default/(no name)"]);
    }

    #[test]
    fn items_of_a_typed_list_have_the_type_of_the_list() {
        let list =
            "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n- {apiVersion: v1, kind: Pod}\n";
        let objects = parse("f.yaml", list).unwrap();
        assert_eq!(objects[0].json, r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#);
        assert_eq!(objects[1].json, r#"{"apiVersion":"v1","kind":"Pod"}"#);
        assert!(parse("f.yaml", "apiVersion: v1\nkind: PodList\nitems: [5]\n").is_err());
    }

    #[test]
    fn an_empty_list_has_no_objects() {
        for items in ["items: []", "items:"] {
            assert_eq!(titles(&format!("apiVersion: v1\nkind: List\n{items}\n")), [""; 0]);
        }
    }

    #[test]
    fn a_document_that_is_no_object_is_reported_with_its_place() {
        let found = parse("f.yaml", "a: 1\n---\napiVersion: v1\nkind: List\nitems:\n- b: 1\n").err().unwrap();
        let found: Vec<_> = found.iter().map(Diagnostic::headline).collect();
        assert!(found[0].starts_with("f.yaml:1:1: error[VST0108]"), "{found:?}");
        assert!(found[1].starts_with("f.yaml:6:3: error[VST0108]"), "{found:?}");
    }

    #[test]
    fn plain_scalars_are_read_as_kubectl_reads_them() {
        let pod = "apiVersion: v1\nkind: Pod\nspec: {hostNetwork: yes, shareProcessNamespace: off, subdomain: 'on'}\n";
        let json = &parse("f.yaml", pod).unwrap()[0].json;
        assert!(
            json.ends_with(r#""spec":{"hostNetwork":true,"shareProcessNamespace":false,"subdomain":"on"}}"#),
            "{json}"
        );
    }

    #[test]
    fn an_object_knows_its_place() {
        assert_eq!(parse("f.yaml", "\n\napiVersion: v1\nkind: Pod\n").unwrap()[0].place(), "f.yaml:3");
    }
}
