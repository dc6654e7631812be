//! The text form of an identity's source, and how it is opened.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::SystemTime;

use crate::{Identity, IdentityError, Local, Mounted, Off, SelfManaged, Settings, SourceError, connect};

/// The source of the serving certificate, in text form `self`, `mounted:DIR`, `local:DIR` or `off`.
///
/// ```
/// use vestibule_identity::Source;
///
/// assert_eq!("self".parse(), Ok(Source::SelfManaged));
/// assert_eq!("mounted:/certs".parse(), Ok(Source::Mounted("/certs".into())));
/// assert!("mounted".parse::<Source>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// `self`: a CA ring in a Secret, kept by the replicas themselves: [`SelfManaged`].
    SelfManaged,
    /// `mounted:DIR`: files of another issuer, such as a mounted Secret of cert-manager: [`Mounted`].
    Mounted(PathBuf),
    /// `local:DIR`: a CA kept in a folder, for laptops and tests: [`Local`].
    Local(PathBuf),
    /// `off`: no certificate at all, for an operator whose webhooks are switched off: [`Off`].
    Off,
}

impl Source {
    /// Opens the source. `self` and `mounted` go on working in the background, and may have no certificate yet:
    /// [`Identity::ready`] tells when they do.
    ///
    /// `self` connects to the cluster that [`cluster_config`](crate::cluster_config) finds. The other sources connect to none.
    ///
    /// # Errors
    /// A file, folder or cluster that the source needs and cannot use; each error names it and says what to do.
    pub async fn open(
        &self,
        settings: &Settings,
        kubeconfig: Option<&Path>,
    ) -> Result<Arc<dyn Identity>, IdentityError> {
        match self {
            Self::SelfManaged => {
                let client = connect(kubeconfig).await;
                let client = client.map_err(|error| IdentityError::Cluster(error.to_string()))?;
                Ok(SelfManaged::start(client, settings.clone())?)
            }
            Self::Mounted(folder) => Ok(Mounted::start(folder, settings)?),
            Self::Local(_) | Self::Off => self.open_local(&settings.all_names(), SystemTime::now()),
        }
    }

    /// Opens a source that needs neither a cluster nor files of another issuer: there is a verified certificate for
    /// `names` afterwards, or none is needed.
    ///
    /// # Errors
    /// As [`open`](Self::open); and [`IdentityError::NotLocal`] for `self` and `mounted`.
    pub fn open_local(
        &self,
        names: &[impl AsRef<str>],
        now: SystemTime,
    ) -> Result<Arc<dyn Identity>, IdentityError> {
        match self {
            Self::Local(folder) => Ok(Arc::new(Local::open(folder, names, now)?)),
            Self::Off => Ok(Arc::new(Off)),
            Self::SelfManaged | Self::Mounted(_) => {
                Err(IdentityError::NotLocal { identity: self.to_string() })
            }
        }
    }
}

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        match text.split_once(':').map_or((text, None), |(word, folder)| (word, Some(folder))) {
            ("self", None) => Ok(Self::SelfManaged),
            ("off", None) => Ok(Self::Off),
            ("local", Some(folder)) if !folder.is_empty() => Ok(Self::Local(folder.into())),
            ("mounted", Some(folder)) if !folder.is_empty() => Ok(Self::Mounted(folder.into())),
            ("local", _) => Err(SourceError::NoFolder { word: "local" }),
            ("mounted", _) => Err(SourceError::NoFolder { word: "mounted" }),
            _ => Err(SourceError::Unknown { given: text.to_owned() }),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SelfManaged => formatter.write_str("self"),
            Self::Mounted(folder) => write!(formatter, "mounted:{}", folder.display()),
            Self::Local(folder) => write!(formatter, "local:{}", folder.display()),
            Self::Off => formatter.write_str("off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_one_word_or_a_word_and_a_folder() {
        let no_folder = |word| Err(SourceError::NoFolder { word });
        let unknown = |given: &str| Err(SourceError::Unknown { given: given.to_owned() });
        for (text, expected) in [
            ("self", Ok(Source::SelfManaged)),
            ("off", Ok(Source::Off)),
            ("local:a/b", Ok(Source::Local("a/b".into()))),
            ("local:a:b", Ok(Source::Local("a:b".into()))),
            ("mounted:/certs", Ok(Source::Mounted("/certs".into()))),
            ("local:", no_folder("local")),
            ("local", no_folder("local")),
            ("mounted", no_folder("mounted")),
            ("self:a", unknown("self:a")),
            ("off:", unknown("off:")),
            ("Local:a", unknown("Local:a")),
            ("", unknown("")),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
    }

    #[test]
    fn a_source_is_written_as_it_is_read() {
        for text in ["self", "off", "local:a/b", "mounted:/certs"] {
            assert_eq!(text.parse::<Source>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_ring_cannot_be_opened_without_a_cluster() {
        let error = Source::SelfManaged.open_local(&["localhost"], SystemTime::now()).err().unwrap();
        assert!(error.to_string().contains("`self`"), "{error}");
        assert!(Source::Off.open_local(&["localhost"], SystemTime::now()).unwrap().present().is_none());
    }

    #[tokio::test]
    async fn off_is_ready_at_once() {
        let identity = Source::Off.open(&Settings::default(), None).await.unwrap();
        identity.ready().await;
    }
}
