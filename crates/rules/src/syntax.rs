//! The syntax of label keys and values as the API server validates it, for callers that read labels outside of rules.

use crate::load::check;

/// Whether `text` can be the key of a label or an annotation.
///
/// # Errors
/// A description of valid text.
///
/// ```
/// assert!(vestibule_rules::syntax::label_key("example.com/team").is_ok());
/// assert!(vestibule_rules::syntax::label_key("a b").is_err());
/// ```
pub fn label_key(text: &str) -> Result<(), &'static str> {
    check::key(text)
}

/// Whether `text` can be the value of a label.
///
/// # Errors
/// A description of valid text.
pub fn label_value(text: &str) -> Result<(), &'static str> {
    check::label(text)
}
