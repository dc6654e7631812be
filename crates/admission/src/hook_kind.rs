//! The kinds of hooks.

/// The phase in which the API server calls a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookKind {
    /// The hook may change the object.
    Mutating,
    /// The hook may only allow or deny.
    Validating,
}

impl HookKind {
    /// `mutate` or `validate`: the first segment of the usual path of a hook.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Mutating => "mutate",
            Self::Validating => "validate",
        }
    }
}
