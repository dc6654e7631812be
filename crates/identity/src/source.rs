//! What users write to say where the certificate comes from.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::SystemTime;

use crate::{Identity, IdentityError, Local, SourceError};

/// Where the serving certificate comes from, as in `--identity local:DIR`.
///
/// ```
/// use vestibule_identity::{Source, SourceError};
///
/// assert_eq!("local:.vestibule".parse(), Ok(Source::Local(".vestibule".into())));
/// assert!(matches!("self".parse::<Source>(), Err(SourceError::NotYet { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// `local:DIR`: a CA kept in a folder, for laptops and tests.
    Local(PathBuf),
}

impl Source {
    /// Opens the source: there is a verified certificate for `names` afterwards.
    ///
    /// # Errors
    /// Whatever the source needs and does not find; each error says which file and what to do.
    pub fn open(
        &self,
        names: &[impl AsRef<str>],
        now: SystemTime,
    ) -> Result<Arc<dyn Identity>, IdentityError> {
        match self {
            Self::Local(folder) => Ok(Arc::new(Local::open(folder, names, now)?)),
        }
    }
}

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        match text.split_once(':').map_or((text, None), |(word, folder)| (word, Some(folder))) {
            ("local", Some(folder)) if !folder.is_empty() => Ok(Self::Local(folder.into())),
            ("local", _) => Err(SourceError::NoFolder),
            ("self" | "off", None) | ("mounted", Some(_)) => {
                Err(SourceError::NotYet { given: text.to_owned() })
            }
            _ => Err(SourceError::Unknown { given: text.to_owned() }),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(folder) => write!(formatter, "local:{}", folder.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_this_version_can_do_is_a_source() {
        let not_yet = |given: &str| Err(SourceError::NotYet { given: given.to_owned() });
        let unknown = |given: &str| Err(SourceError::Unknown { given: given.to_owned() });
        for (text, expected) in [
            ("local:a/b", Ok(Source::Local("a/b".into()))),
            ("local:a:b", Ok(Source::Local("a:b".into()))),
            ("local:", Err(SourceError::NoFolder)),
            ("local", Err(SourceError::NoFolder)),
            ("self", not_yet("self")),
            ("off", not_yet("off")),
            ("mounted:/certs", not_yet("mounted:/certs")),
            ("mounted", unknown("mounted")),
            ("Local:a", unknown("Local:a")),
            ("", unknown("")),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
    }

    #[test]
    fn a_source_is_written_as_it_is_read() {
        assert_eq!("local:a/b".parse::<Source>().unwrap().to_string(), "local:a/b");
    }
}
