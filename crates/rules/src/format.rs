//! The rule format as tables. The reader refuses fields that are not in them, and the JSON Schema for editors is
//! generated from them.

mod container;
mod example;
mod logic;
mod matching;
mod pod;
mod probes;
mod removal;
mod selector;
mod settings;
mod spec;

pub(crate) use container::*;
pub(crate) use example::{example, example_in_pod};
pub(crate) use logic::*;
pub(crate) use matching::*;
pub(crate) use pod::*;
pub(crate) use probes::*;
pub(crate) use removal::*;
pub(crate) use selector::*;
pub(crate) use settings::*;
pub(crate) use spec::*;

use crate::rule::Resource;
use crate::well_known::CustomResource;
use crate::yaml::Node;

/// A map of the format. Other members than its fields are errors.
pub(crate) struct Table {
    /// The name of the map in messages: `` `spec.match` ``.
    pub(crate) what: &'static str,
    /// A valid example on one line of YAML.
    pub(crate) example: &'static str,
    pub(crate) fields: &'static [Field],
}

/// One member of a map.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// Its name in messages, if that differs.
    called: Option<&'static str>,
    pub(crate) kind: Kind,
    /// One sentence that editors show. It is also the help if a required field is missing.
    pub(crate) about: &'static str,
    pub(crate) required: bool,
    /// Whether a list must have an item: an empty one selects nothing, or everything.
    pub(crate) not_empty: bool,
    /// The value of an absent field, as YAML.
    pub(crate) default: Option<&'static str>,
    /// The first version of the program that reads it.
    pub(crate) since: &'static str,
    /// An example of a list or map on one line of YAML, if the kind has none.
    pub(crate) example: Option<&'static str>,
    /// Whether the field is reserved but not supported; `about` then names the alternative.
    pub(crate) refused: bool,
    /// Whether it is refused because it has another name now; `about` then is an example of it.
    pub(crate) renamed: bool,
    /// Whether an `Injection` has the field and a `NamespacedInjection` does not.
    pub(crate) cluster_only: bool,
}

/// The kind of value that a member holds.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Text,
    /// Text in the expression language. Its reader checks it.
    Expression,
    /// Text, or an expression in its place.
    TextOrExpression,
    Boolean,
    /// A whole number between these two.
    Integer(i64, i64),
    /// One of a few words.
    Word(&'static (dyn Keywords + Sync)),
    /// A map of the format.
    Map(&'static Table),
    /// A list.
    List(&'static Kind),
    /// A map with any keys.
    Entries(&'static Kind),
    /// Any of these kinds.
    Either(&'static [Kind]),
    /// A fragment of a pod, with the schema at this path below the pod. Maps in it may also have the fields of the
    /// table.
    Fragment(&'static [&'static str], Option<&'static Table>),
}

/// A map or a list.
#[derive(Clone, Copy)]
pub(crate) enum Collection {
    Map,
    List,
}

impl Collection {
    /// The words of messages.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Map => "a map",
            Self::List => "a list",
        }
    }
}

const fn field(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field {
        name,
        called: None,
        kind,
        about,
        required: false,
        not_empty: false,
        default: None,
        since: "0.1.0",
        example: None,
        refused: false,
        renamed: false,
        cluster_only: false,
    }
}

const fn text(name: &'static str, about: &'static str) -> Field {
    field(name, Kind::Text, about)
}

const fn flag(name: &'static str, about: &'static str) -> Field {
    field(name, Kind::Boolean, about)
}

const fn integer(name: &'static str, about: &'static str) -> Field {
    field(name, Kind::Integer(i64::MIN, i64::MAX), about)
}

const fn word(name: &'static str, words: &'static (dyn Keywords + Sync), about: &'static str) -> Field {
    field(name, Kind::Word(words), about)
}

const fn texts(name: &'static str, about: &'static str) -> Field {
    field(name, Kind::List(&Kind::Text), about)
}

/// `replace` of `pod.spec` and of a container patch.
const REPLACE: Field = texts(
    "replace",
    "The fields beside it that replace existing values; of a map, the members that the rule has.",
)
.example("[image]");

const fn text_map(name: &'static str, about: &'static str) -> Field {
    field(name, Kind::Entries(&Kind::Text), about)
}

const fn map(name: &'static str, table: &'static Table, about: &'static str) -> Field {
    field(name, Kind::Map(table), about)
}

const fn fragment(
    name: &'static str,
    path: &'static [&'static str],
    ours: &'static Table,
    about: &'static str,
) -> Field {
    field(name, Kind::Fragment(path, Some(ours)), about)
}

/// A reserved name, or the name of a field that belongs elsewhere; `about` names the alternative.
const fn refused(name: &'static str, about: &'static str) -> Field {
    let mut field = text(name, about);
    field.refused = true;
    field
}

/// The former name of a field; `about` is an example of the field under its name of today.
const fn renamed(name: &'static str, about: &'static str) -> Field {
    let mut field = refused(name, about);
    field.renamed = true;
    field
}

impl Field {
    const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    const fn not_empty(mut self) -> Self {
        self.not_empty = true;
        self
    }

    const fn default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }

    const fn example(mut self, value: &'static str) -> Self {
        self.example = Some(value);
        self
    }

    const fn cluster_only(mut self) -> Self {
        self.cluster_only = true;
        self
    }

    const fn called(mut self, name: &'static str) -> Self {
        self.called = Some(name);
        self
    }

    pub(crate) fn name_in_messages(&self) -> &'static str {
        self.called.unwrap_or(self.name)
    }

    /// Whether it is a field of pods that is merged member by member.
    pub(crate) fn is_merged(&self) -> bool {
        matches!(self.kind, Kind::Fragment(_, None))
    }
}

impl Table {
    /// The fields without those that are reserved or have another name now.
    pub(crate) fn supported(&self) -> impl Iterator<Item = &'static Field> + use<> {
        self.fields.iter().filter(|field| !field.refused)
    }

    /// The supported fields of a rule of a namespace, or of any other document.
    pub(crate) fn supported_in(&self, is_namespaced: bool) -> impl Iterator<Item = &'static Field> + use<> {
        self.supported().filter(move |field| !(is_namespaced && field.cluster_only))
    }

    /// The names of the fields that a map must have.
    pub(crate) fn required(&self) -> Vec<&'static str> {
        self.fields.iter().filter(|field| field.required).map(|field| field.name).collect()
    }

    /// The sorted names of the supported fields.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.supported().map(|field| field.name).collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl CustomResource {
    /// The format of its documents.
    pub(crate) fn table(self) -> &'static Table {
        match self {
            Self::Injection => &INJECTION,
            Self::InjectorSettings => &SETTINGS_DOCUMENT,
            Self::NamespacedInjection => &NAMESPACED,
        }
    }
}

/// The possible words of a field with their values. The reader uses both, the schema only the words.
pub(crate) type Choice<T, const N: usize> = [(&'static str, T); N];

/// The value of the word that `field` of `map` holds.
pub(crate) fn chosen<T: Copy>(map: &Node, field: &str, possible: &[(&'static str, T)]) -> Option<T> {
    let text = map.text(field)?;
    possible.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}

/// A [`Choice`] with values of any type.
pub(crate) trait Keywords {
    fn keywords(&self) -> Vec<&'static str>;
}

impl<T, const N: usize> Keywords for Choice<T, N> {
    fn keywords(&self) -> Vec<&'static str> {
        self.iter().map(|(word, _)| *word).collect()
    }
}

impl Keywords for &[Resource] {
    fn keywords(&self) -> Vec<&'static str> {
        self.iter().map(|resource| resource.as_str()).collect()
    }
}
