//! Files with an error that names them.

use std::path::Path;

use crate::error::Error;

pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|source| Error::file("write", path, source))
}
