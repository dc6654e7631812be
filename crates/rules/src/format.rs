//! The rule format, defined once: the reader refuses what does not stand here, and the JSON Schema for editors is made
//! of the same tables.

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

/// A map of the format: its members, and nothing else, may stand in it.
pub(crate) struct Table {
    /// What the map is, for people: `` `spec.match` ``.
    pub(crate) what: &'static str,
    /// One that can be used, on one line of YAML.
    pub(crate) example: &'static str,
    pub(crate) fields: &'static [Field],
}

/// One member of a map.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// One sentence: what an editor shows, and the help where a required field is missing.
    pub(crate) about: &'static str,
    pub(crate) required: bool,
    /// What holds where the field is left out, as YAML.
    pub(crate) default: Option<&'static str>,
    /// A value of a list or map, on one line of YAML, where the kind does not say one.
    pub(crate) example: Option<&'static str>,
    /// A field of the format that this version cannot act on; `about` says what to do instead.
    pub(crate) refused: bool,
}

/// What a member holds.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Text,
    Boolean,
    Integer,
    /// One of few words.
    Word(&'static (dyn Keywords + Sync)),
    /// A map of ours.
    Map(&'static Table),
    /// A list.
    List(&'static Kind),
    /// A map with any keys.
    Entries(&'static Kind),
    /// One or the other.
    Either(&'static [Kind]),
    /// A fragment of a pod, by the schema at this path below the pod; maps within it may have the members of the table
    /// beside those of the pod.
    Fragment(&'static [&'static str], Option<&'static Table>),
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

    /// A name that is kept for what does not exist (yet), or stands elsewhere; `about` is the way out.
    const fn refused(name: &'static str, about: &'static str) -> Self {
        let mut field = Self::new(name, Kind::Text, about);
        field.refused = true;
        field
    }
}

impl Table {
    /// The names of the fields that can be used, sorted.
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

/// The possible words of a field, each with what it stands for: the reader takes the values, the schema the words.
pub(crate) type Choice<T, const N: usize> = [(&'static str, T); N];

/// A [`Choice`] of whatever type.
pub(crate) trait Keywords {
    fn keywords(&self) -> Vec<&'static str>;
}

impl<T, const N: usize> Keywords for Choice<T, N> {
    fn keywords(&self) -> Vec<&'static str> {
        self.iter().map(|(word, _)| *word).collect()
    }
}
