//! Files that pods find in a folder.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Files that the pods find in a folder: printed as a ConfigMap. When they change, the pods are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Files {
    /// A DNS label. The name of the ConfigMap is the name of the installation, a hyphen, and this.
    pub name: String,
    /// The absolute path of the folder.
    pub folder: String,
    /// The contents, by the names of the files.
    pub contents: BTreeMap<String, String>,
}

impl Files {
    /// No files yet.
    pub fn new(name: impl Into<String>, folder: impl Into<String>) -> Self {
        Self { name: name.into(), folder: folder.into(), contents: BTreeMap::new() }
    }

    /// `installation` is the name of the installation.
    pub(super) fn config_map(&self, installation: &str, namespace: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self.config_map_name(installation), "namespace": namespace},
            "data": self.contents,
        })
    }

    pub(super) fn volume(&self, installation: &str) -> Value {
        json!({"name": self.name, "configMap": {"name": self.config_map_name(installation)}})
    }

    pub(super) fn mount(&self) -> Value {
        json!({"name": self.name, "mountPath": self.folder, "readOnly": true})
    }

    /// FNV-1a, 64 bits. It only detects changes; a forged digest gains an attacker nothing.
    pub(super) fn digest(&self) -> String {
        let texts =
            self.contents.iter().flat_map(|(name, text)| [name.as_bytes(), &[0], text.as_bytes(), &[0]]);
        let digest = texts.flatten().fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
            (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        format!("{digest:016x}")
    }

    fn config_map_name(&self, installation: &str) -> String {
        format!("{installation}-{}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_contents_have_another_digest() {
        let mut files = Files::new("rules", "/rules");
        // The offset basis: nothing was read.
        assert_eq!(files.digest(), "cbf29ce484222325");
        files.contents.insert("a".to_owned(), "bc".to_owned());
        let one = files.digest();
        files.contents = [("ab".to_owned(), "c".to_owned())].into();
        assert_ne!(files.digest(), one);
    }
}
