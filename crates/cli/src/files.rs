//! Paths and files that flags name.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use vestibule_command::CommandError;
use vestibule_injector::files::yaml_files;
use vestibule_rules::diagnostic::printable;

/// Whether a path stands for stdin.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Whether one of the paths stands for stdin.
pub(crate) fn has_stdin(paths: &[PathBuf]) -> bool {
    paths.iter().any(|path| is_stdin(path))
}

/// The text of a file, or of the `*.yaml`, `*.yml` and `*.json` of a folder.
pub(crate) fn read(path: &Path) -> Result<Vec<(PathBuf, String)>, CommandError> {
    let read = |file: PathBuf| match std::fs::read_to_string(&file) {
        Ok(text) => Ok((file, text)),
        Err(error) => Err(unreadable(file.display(), &error)),
    };
    let files = yaml_files(path).map_err(|error| unreadable(path.display(), &error))?;
    files.into_iter().map(read).collect()
}

/// The error for a text `name` that cannot be read.
pub(crate) fn unreadable(name: impl fmt::Display, error: &io::Error) -> CommandError {
    let name = printable(&name.to_string());
    CommandError::input(match error.kind() {
        // Older PowerShells write UTF-16 where others write UTF-8.
        io::ErrorKind::InvalidData => format!("{name} is no UTF-8 text: save it as UTF-8"),
        _ => format!("cannot read {name}: {error}"),
    })
}
