//! Objects that hold more than any type knows, and what to do to them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use vestibule_patch::{Document, View};

/// Values that hardly a type gives back as it got them.
const STRANGE: [&str; 7] = [
    "18446744073709551616",
    "1.0",
    "-0.0",
    "1E+2",
    r#"" \u0041\/\u00e9""#,
    r#"{"deep" : [1.00 , null, {"deep":2e-40}]}"#,
    "[ ]",
];

/// One step of a handler. Indices are taken modulo the length of the list.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    Label(usize),
    Unlabel(usize),
    Insert(usize, String),
    Remove(usize),
    Swap(usize, usize),
    Image(usize, String),
    Variable(usize, String),
}

/// An object as it is received, and what a handler does to it.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) object: String,
    pub(super) edits: Vec<Edit>,
    api_version: &'static str,
    kind: &'static str,
    /// Names of containers as they were.
    containers: Vec<String>,
    /// Unknown members: where (a container, one of its variables), under which name, as which text.
    strangers: Vec<Stranger>,
}

#[derive(Debug)]
struct Stranger {
    place: Place,
    name: String,
    text: &'static str,
}

#[derive(Clone, Debug)]
enum Place {
    Root,
    Metadata,
    Spec,
    Container(String),
    Variable(String, String),
}

pub(super) fn sample(api_version: &'static str, kind: &'static str) -> impl Strategy<Value = Sample> {
    (any::<u128>(), vec(any::<u8>(), 0..16)).prop_map(move |(object, edits)| {
        let mut sample = Sample {
            object: String::new(),
            edits: script(&mut Tape(edits.into_iter())),
            api_version,
            kind,
            containers: Vec::new(),
            strangers: Vec::new(),
        };
        sample.object = sample.write(&mut Tape(object.to_le_bytes().to_vec().into_iter()));
        sample
    })
}

/// Choices; the first one, once they are used up.
struct Tape(std::vec::IntoIter<u8>);

impl Tape {
    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.0.next().unwrap_or(0)) % limit
    }
}

fn script(tape: &mut Tape) -> Vec<Edit> {
    let mut edits = Vec::new();
    while tape.0.len() > 0 {
        let (what, at) = (tape.below(7), tape.below(5));
        edits.push(match what {
            0 => Edit::Label(at),
            1 => Edit::Unlabel(at),
            2 => Edit::Insert(at, format!("new-{}", edits.len())),
            3 => Edit::Remove(at),
            4 => Edit::Swap(at, tape.below(5)),
            5 => Edit::Image(at, format!("image:{}", edits.len())),
            _ => Edit::Variable(at, format!("NEW_{}", edits.len())),
        });
    }
    edits
}

impl Sample {
    fn write(&mut self, tape: &mut Tape) -> String {
        let mut json = format!(r#"{{"apiVersion":"{}","kind":"{}","#, self.api_version, self.kind);
        self.strange(tape, &Place::Root, &mut json);
        json.push_str(r#""metadata":{"name":"a","creationTimestamp":null,"#);
        self.strange(tape, &Place::Metadata, &mut json);
        json.push_str(r#""labels":{"l0":"old"}},"spec":{"#);
        self.strange(tape, &Place::Spec, &mut json);
        json.push_str(r#""containers":["#);
        for index in 0..tape.below(4) {
            let name = ["c", "a", "d", "b"][index].to_owned();
            let separator = if index == 0 { "" } else { "," };
            let _ = write!(json, r#"{separator}{{"#);
            self.strange(tape, &Place::Container(name.clone()), &mut json);
            json.push_str(r#""env":["#);
            for index in 0..tape.below(3) {
                let variable = ["Z", "Y"][index].to_owned();
                let separator = if index == 0 { "" } else { "," };
                let _ = write!(json, "{separator}{{");
                self.strange(tape, &Place::Variable(name.clone(), variable.clone()), &mut json);
                let _ = write!(json, r#""name":"{variable}","value":"1"}}"#);
            }
            let _ = write!(json, r#"],"image":"i","name":"{name}"}}"#);
            self.containers.push(name);
        }
        json.push_str("]}}");
        json
    }

    /// Perhaps an unknown member, in front of the known ones.
    fn strange(&mut self, tape: &mut Tape, place: &Place, json: &mut String) {
        let choice = tape.below(2 * STRANGE.len());
        if let Some(text) = STRANGE.get(choice) {
            let name = format!("x{}", self.strangers.len());
            let _ = write!(json, r#""{name}":{text},"#);
            self.strangers.push(Stranger { place: place.clone(), name, text });
        }
    }

    /// For handlers that see no lists.
    pub(super) fn without_lists(mut self) -> Self {
        self.edits.retain(|edit| matches!(edit, Edit::Label(_) | Edit::Unlabel(_)));
        self
    }

    pub(super) fn review(&self) -> String {
        let (group, version) = self.api_version.split_once('/').unwrap_or(("", self.api_version));
        let (kind, plural) = (self.kind, self.kind.to_lowercase() + "s");
        format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u",
            "kind":{{"group":"{group}","version":"{version}","kind":"{kind}"}},
            "resource":{{"group":"{group}","version":"{version}","resource":"{plural}"}},
            "operation":"CREATE","userInfo":{{}},"object":{}}}}}"#,
            self.object
        )
    }

    /// That `made` is the object, edited, with all that is strange in it.
    pub(super) fn holds(&self, made: &str) -> Result<(), TestCaseError> {
        let expected = Expected::of(self);
        let document = Document::parse(made).unwrap();
        let root = document.view();
        let names: Vec<_> = containers(root).iter().map(|container| text(*container, "name")).collect();
        prop_assert_eq!(&names, &expected.containers, "of {} made {}", self.object, made);
        for container in containers(root) {
            let image = expected.images.get(&text(container, "name")).map_or("i", |image| &**image);
            prop_assert_eq!(text(container, "image"), image);
        }
        let labels = root.get("metadata").and_then(|metadata| metadata.get("labels"));
        let labels = labels.map(View::entries).unwrap_or_default();
        let labels: BTreeMap<_, _> = labels.iter().map(|(name, label)| (&**name, label.as_str())).collect();
        prop_assert_eq!(labels.len(), expected.labels.len());
        prop_assert!(
            labels.iter().all(|(name, value)| expected.labels.get(*name).map(|it| &**it) == value.as_deref())
        );
        for stranger in &self.strangers {
            let Some(holder) = expected.place(root, &stranger.place) else { continue };
            let found = holder.get(&stranger.name).map(|value| value.to_json().into_owned());
            prop_assert_eq!(
                found.as_deref(),
                Some(stranger.text),
                "{:?} of {} made {}",
                stranger,
                self.object,
                made
            );
        }
        Ok(())
    }
}

/// The expected list after the edits, computed on names only.
struct Expected {
    containers: Vec<String>,
    images: BTreeMap<String, String>,
    labels: BTreeMap<String, String>,
}

impl Expected {
    fn of(sample: &Sample) -> Self {
        let mut expected = Self {
            containers: sample.containers.clone(),
            images: BTreeMap::new(),
            labels: BTreeMap::from([("l0".to_owned(), "old".to_owned())]),
        };
        for edit in &sample.edits {
            let length = expected.containers.len();
            let name = |at: usize| expected.containers.get(at % length.max(1)).cloned();
            match edit {
                Edit::Label(at) => drop(expected.labels.insert(format!("l{at}"), "new".to_owned())),
                Edit::Unlabel(at) => drop(expected.labels.remove(&format!("l{at}"))),
                Edit::Insert(at, new) => expected.containers.insert(at % (length + 1), new.clone()),
                Edit::Remove(_) | Edit::Swap(..) if length == 0 => {}
                Edit::Remove(at) => drop(expected.containers.remove(at % length)),
                Edit::Swap(one, other) => expected.containers.swap(one % length, other % length),
                Edit::Image(at, image) => {
                    if let Some(name) = name(*at) {
                        expected.images.insert(name, image.clone());
                    }
                }
                Edit::Variable(..) => {}
            }
        }
        expected
    }

    /// The path at which an unknown member must be, unless the item that held it was removed.
    fn place<'d>(&self, root: View<'d>, place: &Place) -> Option<View<'d>> {
        match place {
            Place::Root => Some(root),
            Place::Metadata => root.get("metadata"),
            Place::Spec => root.get("spec"),
            Place::Container(name) => named(containers(root), name),
            Place::Variable(name, variable) => {
                named(named(containers(root), name)?.get("env")?.items(), variable)
            }
        }
    }
}

fn containers(root: View<'_>) -> Vec<View<'_>> {
    root.get("spec").and_then(|spec| spec.get("containers")).map(View::items).unwrap_or_default()
}

fn named<'d>(items: Vec<View<'d>>, name: &str) -> Option<View<'d>> {
    items.into_iter().find(|item| text(*item, "name") == name)
}

fn text(view: View<'_>, member: &str) -> String {
    view.get(member).and_then(View::as_str).unwrap_or_default().into_owned()
}
