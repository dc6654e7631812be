//! Flags that do not fit the others are refused: ignoring them would hide a mistake.

use vestibule_identity::Source;

use super::CommandError;

/// Refuses the first of these flags that was given.
pub(super) fn refuse_given(
    flags: &[(&str, bool)],
    refuse: impl FnOnce(&str) -> CommandError,
) -> Result<(), CommandError> {
    flags.iter().find(|(_, is_given)| *is_given).map_or(Ok(()), |(flag, _)| Err(refuse(flag)))
}

pub(super) fn without_an_image(flag: &str) -> CommandError {
    CommandError::input(format_args!(
        "{flag} is about pods, and there are none without --image: name the image that they run"
    ))
}

pub(super) fn only_with_a_ring(flag: &str, source: &Source) -> CommandError {
    only_with("self", flag, source)
}

pub(super) fn only_with(which: &str, flag: &str, source: &Source) -> CommandError {
    CommandError::input(format_args!("{flag} is for `--identity {which}`, and the identity is `{source}`"))
}
