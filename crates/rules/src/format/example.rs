//! One-line examples of the format, for messages about values of the wrong kind.

use super::{Collection, Field, Kind, Table};
use crate::well_known::CustomResource;

/// An example on one line of YAML for the field that messages call `what`. For a
/// list field that wants a map, the example is one item.
pub(crate) fn example(what: &str, wanted: Collection) -> Option<String> {
    let name = what.trim_matches('`').rsplit('.').next()?;
    example_of(name, wanted, |_| true)
}

/// Like [`example`], for a field of pods, which may share its name with a field of the format.
pub(crate) fn example_in_pod(name: &str, wanted: Collection) -> Option<String> {
    example_of(name, wanted, |field| matches!(field.kind, Kind::Fragment(..)))
}

fn example_of(name: &str, wanted: Collection, counts: impl Fn(&Field) -> bool) -> Option<String> {
    let fields = tables().into_iter().flat_map(Table::supported);
    let named = fields.filter(|field| field.name == name && counts(field));
    let examples: Vec<String> = named.filter_map(Field::example_text).collect();
    let starting_with = |begin: char| examples.iter().find(|example| example.starts_with(begin));
    match wanted {
        Collection::List => starting_with('[').cloned(),
        Collection::Map => starting_with('{').cloned().or_else(|| {
            let item = starting_with('[')?.strip_prefix('[')?.strip_suffix(']')?;
            item.starts_with('{').then(|| item.to_owned())
        }),
    }
}

/// The tables of all documents, outer tables first. Several fields may use one table.
fn tables() -> Vec<&'static Table> {
    fn collect(table: &'static Table, found: &mut Vec<&'static Table>) {
        if !found.iter().any(|known| std::ptr::eq(*known, table)) {
            found.push(table);
            table.supported().flat_map(|field| field.kind.tables()).for_each(|below| collect(below, found));
        }
    }
    let mut found = Vec::new();
    CustomResource::ALL.into_iter().for_each(|resource| collect(resource.table(), &mut found));
    found
}

impl Field {
    /// An example of the field, if it is a list or a map.
    pub(crate) fn example_text(&self) -> Option<String> {
        match self.example {
            Some(example) => Some(example.to_owned()),
            None => self.kind.example().filter(|example| example.starts_with(['[', '{'])),
        }
    }
}

impl Kind {
    /// The tables of the maps in a value of this kind.
    pub(crate) fn tables(self) -> Vec<&'static Table> {
        match self {
            Self::Map(table) | Self::Fragment(_, Some(table)) => vec![table],
            Self::List(item) | Self::Entries(item) => item.tables(),
            Self::Either(kinds) => kinds.iter().flat_map(|kind| kind.tables()).collect(),
            _ => Vec::new(),
        }
    }

    fn example(&self) -> Option<String> {
        match self {
            Self::Map(table) => Some(table.example.to_owned()),
            Self::List(item) => Some(format!("[{}]", item.example()?)),
            Self::Either(kinds) => kinds.iter().find_map(Self::example),
            Self::Word(words) => words.keywords().first().map(|word| (*word).to_owned()),
            Self::Text
            | Self::Expression
            | Self::TextOrExpression
            | Self::Boolean
            | Self::Integer(..)
            | Self::Entries(_)
            | Self::Fragment(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{self, Node};

    fn read(text: &str) -> Node {
        yaml::read("example", text)
            .unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
            .remove(0)
            .root()
            .clone()
    }

    fn conforms(kind: Kind, node: &Node) -> bool {
        match kind {
            Kind::Text | Kind::Expression | Kind::TextOrExpression | Kind::Boolean | Kind::Integer(..) => {
                node.as_text().is_some()
            }
            Kind::Word(words) => node.as_text().is_some_and(|text| words.keywords().contains(&text)),
            Kind::Map(table) => of_table(table, node),
            Kind::List(item) => {
                node.as_list().is_some_and(|items| items.iter().all(|node| conforms(*item, node)))
            }
            Kind::Entries(value) => node
                .as_map()
                .is_some_and(|entries| entries.iter().all(|entry| conforms(*value, &entry.value))),
            Kind::Either(kinds) => kinds.iter().any(|kind| conforms(*kind, node)),
            Kind::Fragment(..) => node.as_text().is_none(),
        }
    }

    fn of_table(table: &Table, node: &Node) -> bool {
        let known = |name: &str| table.field(name).filter(|field| !field.refused);
        let Some(entries) = node.as_map() else { return false };
        entries.iter().all(|entry| known(&entry.key).is_some_and(|field| conforms(field.kind, &entry.value)))
            && table.fields.iter().filter(|field| field.required).all(|field| node.get(field.name).is_some())
    }

    #[test]
    fn every_example_is_valid() {
        let tables = tables();
        let fields: Vec<&Field> = tables.iter().flat_map(|table| table.supported()).collect();
        assert!(tables.len() > 25 && fields.len() > 80);
        let of_pods = ["an item", "a sidecar", "an init container", "`pod.spec`"];
        for table in tables.iter().filter(|table| !of_pods.contains(&table.what)) {
            assert!(of_table(table, &read(table.example)), "{}: {}", table.what, table.example);
        }
        for field in fields {
            if let Some(example) = field.example_text() {
                assert!(conforms(field.kind, &read(&example)), "{}: {example}", field.name);
            }
            let compound = matches!(field.kind, Kind::Map(_) | Kind::List(_) | Kind::Entries(_));
            assert!(!compound || field.example_text().is_some(), "{} has no example", field.name);
        }
    }

    #[test]
    fn the_example_of_a_field_has_the_wanted_kind() {
        for (what, wanted, expected) in [
            ("sidecars", Collection::List, Some("[{name: proxy, image: 'proxy:1.2'}]")),
            ("sidecars", Collection::Map, Some("{name: proxy, image: 'proxy:1.2'}")),
            ("`spec.match`", Collection::Map, Some("{namespaceSelector: {matchLabels: {team: blue}}}")),
            ("targets", Collection::List, Some("[pods]")),
            ("targets", Collection::Map, None),
            ("ownerKinds", Collection::List, Some("[Deployment]")),
            ("capabilities", Collection::Map, None),
        ] {
            assert_eq!(example(what, wanted).as_deref(), expected, "{what}");
        }
        assert_eq!(example_in_pod("match", Collection::Map), None);
    }
}
