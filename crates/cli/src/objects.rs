//! Objects in files, folders and stdin. Each item of a list is an object.

mod item;

use std::io;
use std::path::{Path, PathBuf};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use vestibule::patch::{self, Pointer};
use vestibule_command::CommandError;
use vestibule_injector::files::{first_subfolder, printable_path};
use vestibule_rules::diagnostic::{code, printable};
use vestibule_rules::yaml::{self, Entry, Node};
use vestibule_rules::{Diagnostic, NamespaceFacts, Position};

use self::item::{items, object};
use crate::workload::Workload;
use crate::{Failure, files};

/// An object and its place.
pub(crate) struct Object {
    /// JSON with members in their order; the bytes of the file, if that is JSON.
    pub(crate) json: String,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    /// The name for people; `web-*****` where the API server generates it.
    pub(crate) name: String,
    /// The name; empty if the API server generates it.
    pub(crate) given_name: String,
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

    /// The error of an evaluation of this object.
    pub(crate) fn failure(&self, default_namespace: &str, error: &anyhow::Error) -> CommandError {
        CommandError::running(format_args!("{} ({}): {error:#}", self.title(default_namespace), self.place()))
    }

    /// Its kind among those that hold a pod template.
    pub(crate) fn workload(&self) -> Option<&'static Workload> {
        Workload::of(&self.api_version, &self.kind)
    }

    /// Whether the owner of the pods that this object makes has a name that is not known yet.
    pub(crate) fn has_presumed_owner(&self) -> bool {
        self.workload().is_some_and(|workload| !workload.names_owner() || self.given_name.is_empty())
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
        let text = io::read_to_string(io::stdin()).map_err(|error| files::unreadable("stdin", &error))?;
        return Ok(vec![("stdin".to_owned(), text)]);
    }
    let texts = files::read(file)?.into_iter();
    Ok(texts.map(|(file, text)| (file.display().to_string(), text)).collect())
}

#[cfg(test)]
mod tests;
