//! The types of documents and the keys of their lists, given by the caller as data.

/// Object types by index.
#[derive(Debug)]
pub struct Table {
    /// The types; a [`Field::of`] is an index into them.
    pub types: &'static [Type],
}

/// One object type.
#[derive(Debug)]
pub struct Type {
    /// Its name, for people, such as `core.v1.PodSpec`.
    pub name: &'static str,
    /// Its members, sorted by name.
    pub fields: &'static [Field],
}

/// One member of a type.
#[derive(Debug)]
pub struct Field {
    /// The name of the member.
    pub name: &'static str,
    /// The kind of list, if it is one.
    pub list: List,
    /// The type of the member or of its items; [`None`] for scalars, maps of scalars and unknown types.
    pub of: Option<u16>,
}

/// The kind of a list: how its items are identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Not a list, or an unknown one.
    Unknown,
    /// The API server replaces the list as a whole; its items are nevertheless matched one by one here.
    Atomic,
    /// Each item occurs once.
    Set,
    /// Items are identified by these members.
    Map(&'static [Key]),
}

/// One member that identifies list items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The member's name.
    pub name: &'static str,
    /// Its default, as JSON text: `"TCP"` with its quotes.
    pub default: Option<&'static str>,
}

/// The schema of one value: a position in a [`Table`]. It is cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'t> {
    table: &'t Table,
    list: List,
    of: Option<u16>,
}

static NOTHING: Table = Table { types: &[] };

impl<'t> Schema<'t> {
    /// The schema of an object of the type at `index`; an unknown one if there is no such type.
    pub fn new(table: &'t Table, index: u16) -> Self {
        Self { table, list: List::Unknown, of: Some(index) }
    }

    /// The schema of unknown values.
    pub fn unknown() -> Schema<'static> {
        Schema { table: &NOTHING, list: List::Unknown, of: None }
    }

    /// The schema of the member `name`.
    #[must_use]
    pub fn field(self, name: &str) -> Self {
        let fields = self.fields();
        match fields.binary_search_by(|field| field.name.cmp(name)) {
            Ok(at) => Self { table: self.table, list: fields[at].list, of: fields[at].of },
            Err(_) => Self { table: self.table, list: List::Unknown, of: None },
        }
    }

    /// The schema of an item of this list.
    #[must_use]
    pub fn item(self) -> Self {
        Self { list: List::Unknown, ..self }
    }

    /// The kind of this list.
    pub fn list(self) -> List {
        self.list
    }

    /// The members of this object, sorted by name; empty if they are unknown.
    pub fn fields(self) -> &'t [Field] {
        let index = self.of.map(usize::from);
        index.and_then(|index| self.table.types.get(index)).map_or(&[], |of| of.fields)
    }
}
