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

    /// What `/readyz` says of it; nothing when it holds.
    pub(crate) fn missing(&self) -> Option<String> {
        let (why, name) = ((self.why_not)()?, &self.name);
        Some(if why.is_empty() { name.clone() } else { format!("{name} ({why})") })
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
        assert_eq!(Condition::new("cache", || false).missing().as_deref(), Some("cache"));
        assert_eq!(Condition::new("cache", || Err("3 of 5")).missing().as_deref(), Some("cache (3 of 5)"));
        assert_eq!(Condition::new("cache", || true).missing(), None);
        assert_eq!(Condition::new("cache", || Ok::<_, String>(())).missing(), None);
    }
}
