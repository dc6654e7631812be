//! What must hold before a webhook is ready.

use std::fmt::Display;
use std::sync::Arc;

/// Writes a line of `/readyz?verbose`.
pub(crate) type Line = Arc<dyn Fn() -> String + Send + Sync>;

/// What a condition of [`App::ready_when`](crate::App::ready_when) says: a `bool`, or a `Result` whose error tells in a few
/// words what is missing.
pub trait Holds {
    /// Why it does not hold, in words or in none; nothing when it does.
    fn why_not(self) -> Option<String>;
}

/// A condition with the name that people see.
#[derive(Clone)]
pub(crate) struct Condition {
    name: String,
    why_not: Arc<dyn Fn() -> Option<String> + Send + Sync>,
}

impl Condition {
    pub(crate) fn new<H: Holds>(name: &str, holds: impl Fn() -> H + Send + Sync + 'static) -> Self {
        Self { name: name.to_owned(), why_not: Arc::new(move || holds().why_not()) }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Why it does not hold; nothing when it does.
    pub(crate) fn why_not(&self) -> Option<String> {
        (self.why_not)()
    }
}

impl Holds for bool {
    fn why_not(self) -> Option<String> {
        (!self).then(String::new)
    }
}

impl<E: Display> Holds for Result<(), E> {
    fn why_not(self) -> Option<String> {
        self.err().map(|why| why.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_may_say_why_it_does_not_hold() {
        assert_eq!(Condition::new("cache", || false).why_not().as_deref(), Some(""));
        assert_eq!(Condition::new("cache", || Err("3 of 5")).why_not().as_deref(), Some("3 of 5"));
        assert_eq!(Condition::new("cache", || true).why_not(), None);
        assert_eq!(Condition::new("cache", || Ok::<_, String>(())).why_not(), None);
    }
}
