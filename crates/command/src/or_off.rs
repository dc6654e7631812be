//! Values of flags that can be `off`.

/// A value, or `None` for `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OrOff<T>(pub(super) Option<T>);

pub(super) fn or_off<T>(
    text: &str,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<OrOff<T>, String> {
    (text != "off").then(|| read(text)).transpose().map(OrOff)
}
