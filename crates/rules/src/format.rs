//! The rule format as tables. The reader refuses fields that are not in them, and the JSON Schema for editors is
//! generated from them.

mod container;
mod example;
mod logic;
mod matching;
mod pod;
mod removal;
mod settings;
mod spec;

pub(crate) use container::*;
pub(crate) use example::{example, example_in_pod};
pub(crate) use logic::*;
pub(crate) use matching::*;
pub(crate) use pod::*;
pub(crate) use removal::*;
pub(crate) use settings::*;
pub(crate) use spec::*;

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
    pub(crate) kind: Kind,
    /// One sentence that editors show. It is also the help if a required field is missing.
    pub(crate) about: &'static str,
    pub(crate) required: bool,
    /// The value of an absent field, as YAML.
    pub(crate) default: Option<&'static str>,
    /// An example of a list or map on one line of YAML, if the kind has none.
    pub(crate) example: Option<&'static str>,
    /// Whether the field is reserved but not supported; `about` then names the alternative.
    pub(crate) refused: bool,
}

/// The kind of value that a member holds.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Text,
    Boolean,
    Integer,
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

impl Field {
    const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, about, required: false, default: None, example: None, refused: false }
    }

    const fn required(mut self) -> Self {
        self.required = true;
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

    /// A reserved name, or the name of a field that belongs elsewhere; `about` names the alternative.
    const fn refused(name: &'static str, about: &'static str) -> Self {
        let mut field = Self::new(name, Kind::Text, about);
        field.refused = true;
        field
    }
}

impl Table {
    /// The sorted names of the supported fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        let mut names: Vec<_> =
            self.fields.iter().filter(|field| !field.refused).map(|field| field.name).collect();
        names.sort_unstable();
        names.into_iter()
    }

    pub(crate) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// The possible words of a field with their values. The reader uses both, the schema only the words.
pub(crate) type Choice<T, const N: usize> = [(&'static str, T); N];

/// A [`Choice`] with values of any type.
pub(crate) trait Keywords {
    fn keywords(&self) -> Vec<&'static str>;
}

impl<T, const N: usize> Keywords for Choice<T, N> {
    fn keywords(&self) -> Vec<&'static str> {
        self.iter().map(|(word, _)| *word).collect()
    }
}
