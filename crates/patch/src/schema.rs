//! What a caller knows about the lists of its documents: handed in as data, never guessed.

/// Object types by index. The data lives with whoever knows it.
#[derive(Debug)]
pub struct Table {
    /// The types; a [`Field::of`] is an index into them.
    pub types: &'static [Type],
}

/// One object type.
#[derive(Debug)]
pub struct Type {
    /// Its name, for people: `core.v1.PodSpec`.
    pub name: &'static str,
    /// Its members, sorted by name.
    pub fields: &'static [Field],
}

/// One member of a type.
#[derive(Debug)]
pub struct Field {
    /// The member's key.
    pub name: &'static str,
    /// How its items are told apart, if it is a list.
    pub list: List,
    /// The type of the member, or of its items; `None` for scalars, maps of scalars and types nobody described.
    pub of: Option<u16>,
}

/// How the items of a list are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Not a list, or nobody said.
    Unknown,
    /// One value, replaced as a whole by the API server; aligned item by item here all the same.
    Atomic,
    /// No item twice.
    Set,
    /// Items told apart by these members.
    Map(&'static [Key]),
}

/// One member that tells list items apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The member's name.
    pub name: &'static str,
    /// Its value, as JSON text, where an item leaves it out: `"TCP"` with its quotes.
    pub default: Option<&'static str>,
}

/// A place in a [`Table`]: what is known about the value one stands on. Cheap to copy, walks along with a pointer.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'t> {
    table: &'t Table,
    list: List,
    of: Option<u16>,
}

static NOTHING: Table = Table { types: &[] };

impl<'t> Schema<'t> {
    /// Stands on an object of the type at `index`; knows nothing where there is none.
    pub fn new(table: &'t Table, index: u16) -> Self {
        Self { table, list: List::Unknown, of: Some(index) }
    }

    /// Knows nothing.
    pub fn unknown() -> Schema<'static> {
        Schema { table: &NOTHING, list: List::Unknown, of: None }
    }

    /// What is known about the member `name`.
    #[must_use]
    pub fn field(self, name: &str) -> Self {
        let fields = self.fields();
        match fields.binary_search_by(|field| field.name.cmp(name)) {
            Ok(at) => Self { table: self.table, list: fields[at].list, of: fields[at].of },
            Err(_) => Self { table: self.table, list: List::Unknown, of: None },
        }
    }

    /// What is known about an item of this list.
    #[must_use]
    pub fn item(self) -> Self {
        Self { list: List::Unknown, ..self }
    }

    /// How the items of this list are told apart.
    pub fn list(self) -> List {
        self.list
    }

    /// The members of the object one stands on, sorted by name; empty where nothing is known.
    pub fn fields(self) -> &'t [Field] {
        let index = self.of.map(usize::from);
        index.and_then(|index| self.table.types.get(index)).map_or(&[], |of| of.fields)
    }
}
