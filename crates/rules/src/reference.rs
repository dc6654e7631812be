//! The rule format as text: every field with its type, default and example, from the tables that the reader uses.
//!
//! `docs/reference/rules.md` is [`page`]; `vestibule explain spec.sidecars.position` prints [`explained`].

use std::fmt::Write;

use vestibule_patch::{List, Schema};

use crate::did_you_mean::did_you_mean;
use crate::format::{Field, INJECTION, Kind, Table};
use crate::well_known::{API_VERSION, CustomResource};

/// The reference page: for each map of the format a table of its fields.
pub fn page(pod: Schema<'_>) -> String {
    let mut page = String::new();
    for resource in CustomResource::ALL {
        let mut sections = Sections { pod, maps: Vec::new() };
        sections.collect("", resource.table());
        // The fields of the rest are those of an Injection.
        let is_shared = |path: &str| resource.is_namespaced() && path.starts_with("spec");
        for (path, table) in sections.maps.iter().filter(|(path, _)| !is_shared(path)) {
            let title = format!("`{}`", if path.is_empty() { resource.kind() } else { path });
            let level = if path.is_empty() { "##" } else { "###" };
            let head = "| Field | Type | Default | Since | Meaning | Example |\n|---|---|---|---|---|---|\n";
            let rows = table.supported().map(|field| sections.row(path, field));
            // Writing to a string cannot fail.
            let _infallible = write!(page, "\n{level} {title}\n\n{head}{}", rows.collect::<String>());
        }
    }
    page
}

/// The documentation of the field at `path`, as `kubectl explain` prints it. The path may start with a kind: `injectorsettings.spec.mode`.
///
/// # Errors
/// There is no such field. The error is a sentence that names the nearest one.
///
/// ```
/// use vestibule_rules::reference::explained;
///
/// let pod = vestibule_patch::Schema::unknown();
/// let text = explained("spec.sidecars.position", pod).unwrap();
/// assert!(text.contains("FIELD:    position <Object>") && text.contains("initContainers\t<"));
/// let wrong = explained("spec.sidecar", pod).unwrap_err();
/// assert_eq!(wrong, "there is no field `sidecar` in `spec` of an Injection; did you mean `sidecars`?");
/// ```
pub fn explained(path: &str, pod: Schema<'_>) -> Result<String, String> {
    let mut steps: Vec<&str> = path.split('.').map(|step| step.split('[').next().unwrap_or(step)).collect();
    if let Some(resource) = steps.first().and_then(|first| of_kind(first)) {
        steps.remove(0);
        return describe(resource, &steps, pod);
    }
    describe(CustomResource::Injection, &steps, pod)
        .or_else(|unknown| describe(CustomResource::InjectorSettings, &steps, pod).map_err(|_| unknown))
}

/// Whether `text` is meant as the path of a field: it starts with a kind, or with a field of a document.
pub fn is_path(text: &str) -> bool {
    let first = text.split(['.', '[']).next().unwrap_or_default();
    INJECTION.field(first).is_some() || of_kind(first).is_some()
}

fn of_kind(kind: &str) -> Option<CustomResource> {
    CustomResource::ALL.into_iter().find(|resource| resource.kind().eq_ignore_ascii_case(kind))
}

/// A place in the format, or in a fragment of a pod.
enum Place<'p> {
    Map(&'static Table),
    Pod { schema: Schema<'p>, path: String, ours: Option<&'static Table> },
    Value,
}

impl Place<'_> {
    /// The table of the format for this place; [`None`] if the place has only fields of pods, or none.
    fn table(&self) -> Option<&'static Table> {
        match self {
            Self::Map(table) => Some(table),
            Self::Pod { ours, .. } => *ours,
            Self::Value => None,
        }
    }
}

fn describe(resource: CustomResource, steps: &[&str], pod: Schema<'_>) -> Result<String, String> {
    let kind = resource.kind();
    let mut place = Place::Map(resource.table());
    let mut text = format!("KIND:     {kind}\nVERSION:  {API_VERSION}\n");
    let mut last = None;
    for (index, step) in steps.iter().enumerate() {
        let at = match steps.get(..index).unwrap_or_default() {
            [] => format!("an {kind}"),
            path => format!("`{}` of an {kind}", path.join(".")),
        };
        let (next, field) = below(&place, step, &at, pod)?;
        place = next;
        last = Some((*step, field));
    }
    if let Some((name, field)) = last {
        let type_name = match (&place, field) {
            (_, Some(field)) => type_name(field.kind, pod),
            (Place::Pod { schema, .. }, None) => pod_type(*schema),
            _ => "value".to_owned(),
        };
        text += &format!("\nFIELD:    {name} <{type_name}>\n");
        text += &field.map(details).unwrap_or_default();
    }
    if let Place::Pod { path, .. } = &place {
        text += &format!("\nIt is a field of a pod: kubectl explain {path}\n");
    }
    let table = place.table().into_iter();
    let fields = table.flat_map(|table| table.supported_in(resource.is_namespaced()));
    let lines = fields.map(|field| {
        let required = if field.required { " -required-" } else { "" };
        format!("  {}\t<{}>{required}\n    {}\n", field.name, type_name(field.kind, pod), field.about)
    });
    let lines: String = lines.collect();
    if !lines.is_empty() {
        text += &format!("\nFIELDS:\n{lines}");
    }
    Ok(text)
}

/// The member `step` of `place`, and its field if the format defines it.
fn below<'p>(
    place: &Place<'p>,
    step: &str,
    at: &str,
    pod: Schema<'p>,
) -> Result<(Place<'p>, Option<&'static Field>), String> {
    let table = place.table();
    if let Some(field) = table.and_then(|table| table.field(step)).filter(|field| !field.refused) {
        return Ok((place_of_kind(field.kind, pod), Some(field)));
    }
    let mut known: Vec<&str> = table.into_iter().flat_map(Table::supported).map(|field| field.name).collect();
    if let Place::Pod { schema, path, .. } = place {
        let item = item_of(*schema);
        if item.fields().iter().any(|field| field.name == step) {
            let path = format!("{path}.{step}");
            return Ok((Place::Pod { schema: item.field(step), path, ours: None }, None));
        }
        known.extend(item.fields().iter().map(|field| field.name));
    }
    let refused = table.and_then(|table| table.field(step)).map(|field| field.about);
    let help = refused.map(str::to_owned).or_else(|| did_you_mean(step, known.iter().copied()));
    let help = help.map(|help| format!("; {help}")).unwrap_or_default();
    Err(format!("there is no field `{step}` in {at}{help}"))
}

fn place_of_kind(kind: Kind, pod: Schema<'_>) -> Place<'_> {
    match kind {
        Kind::Map(table) => Place::Map(table),
        Kind::List(item) | Kind::Entries(item) => place_of_kind(*item, pod),
        Kind::Either(kinds) => {
            let mut places = kinds.iter().map(|kind| place_of_kind(*kind, pod));
            places.find(|place| !matches!(place, Place::Value)).unwrap_or(Place::Value)
        }
        Kind::Fragment(path, ours) => Place::Pod { schema: at_path(pod, path), path: pod_path(path), ours },
        _ => Place::Value,
    }
}

/// The maps of a kind of document, each with the path at which it stands first.
struct Sections<'p> {
    pod: Schema<'p>,
    maps: Vec<(String, &'static Table)>,
}

impl Sections<'_> {
    fn collect(&mut self, path: &str, table: &'static Table) {
        if self.place_of(table).is_some() {
            return;
        }
        self.maps.push((path.to_owned(), table));
        for field in table.supported() {
            if let Some(below) = field.kind.tables().first() {
                self.collect(&joined(path, field), below);
            }
        }
    }

    fn place_of(&self, table: &Table) -> Option<&str> {
        let same = |(_, known): &&(String, &'static Table)| std::ptr::eq(*known, table);
        self.maps.iter().find(same).map(|(path, _)| path.as_str())
    }

    fn row(&self, path: &str, field: &Field) -> String {
        let code = |text: &str| {
            if text.is_empty() { String::new() } else { format!("`{}`", text.replace('|', "\\|")) }
        };
        let own = joined(path, field);
        let place = field.kind.tables().first().and_then(|table| self.place_of(table));
        let see = match (field.kind, place) {
            (Kind::Fragment(path, _), None) => format!(" As in `{}`.", pod_path(path)),
            (Kind::Fragment(path, _), Some(place)) => {
                format!(" As in `{}`, with the fields of `{place}` beside them.", pod_path(path))
            }
            (_, Some(place)) if place != own => format!(" The fields are those of `{place}`."),
            _ => String::new(),
        };
        let default =
            if field.required { "required".to_owned() } else { code(field.default.unwrap_or_default()) };
        format!(
            "| `{}` | {} | {default} | {} | {}{see} | {} |\n",
            field.name,
            code(&type_name(field.kind, self.pod)),
            field.since,
            about(field).replace('|', "\\|"),
            code(&field.example_text().unwrap_or_default()),
        )
    }
}

fn details(field: &Field) -> String {
    let mut text = String::new();
    if let Some(words) = words(field.kind) {
        text += &format!("ENUM:     {}\n", words.join(", "));
    }
    if field.required {
        text += "REQUIRED: yes\n";
    }
    for (title, value) in [("DEFAULT:", field.default), ("EXAMPLE:", field.example_text().as_deref())] {
        text += &value.map(|value| format!("{title:<10}{value}\n")).unwrap_or_default();
    }
    format!("{text}SINCE:    {}\n\nDESCRIPTION:\n    {}\n", field.since, about(field))
}

/// The description of a field, and the kind that has it.
fn about(field: &Field) -> String {
    let end = if field.about.ends_with('.') { "" } else { "." };
    match field.cluster_only {
        true => format!("{}{end} Not in a NamespacedInjection.", field.about),
        false => field.about.to_owned(),
    }
}

fn words(kind: Kind) -> Option<Vec<&'static str>> {
    match kind {
        Kind::Word(words) => Some(words.keywords()),
        Kind::List(item) => words(*item),
        _ => None,
    }
}

/// The type in kubectl's words; of one of a few words, the words.
fn type_name(kind: Kind, pod: Schema<'_>) -> String {
    match kind {
        Kind::Text | Kind::TextOrExpression => "string".to_owned(),
        Kind::Expression => "string in CEL".to_owned(),
        Kind::Boolean => "boolean".to_owned(),
        Kind::Integer(..) => "integer".to_owned(),
        Kind::Word(words) => words.keywords().join("|"),
        Kind::Map(_) => "Object".to_owned(),
        Kind::List(item) => format!("[]{}", type_name(*item, pod)),
        Kind::Entries(value) => format!("map[string]{}", type_name(*value, pod)),
        Kind::Either(kinds) => {
            kinds.iter().map(|kind| type_name(*kind, pod)).collect::<Vec<_>>().join(" or ")
        }
        Kind::Fragment(path, _) => pod_type(at_path(pod, path)),
    }
}

fn pod_type(schema: Schema<'_>) -> String {
    let is_object = !item_of(schema).fields().is_empty();
    match (schema.list(), is_object) {
        (List::Unknown, true) => "Object".to_owned(),
        (List::Unknown, false) => "value".to_owned(),
        (_, true) => "[]Object".to_owned(),
        (_, false) => "[]string".to_owned(),
    }
}

fn item_of(schema: Schema<'_>) -> Schema<'_> {
    if schema.list() == List::Unknown { schema } else { schema.item() }
}

fn at_path<'p>(pod: Schema<'p>, path: &[&str]) -> Schema<'p> {
    let step = |schema: Schema<'p>, name: &&str| item_of(schema).field(name);
    path.iter().fold(pod, step)
}

fn pod_path(path: &[&str]) -> String {
    format!("pod.{}", path.join("."))
}

fn joined(path: &str, field: &Field) -> String {
    let name =
        if matches!(field.kind, Kind::List(_)) { format!("{}[]", field.name) } else { field.name.to_owned() };
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
