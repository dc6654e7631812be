//! The fields of a crate's manifest that crates.io and docs.rs need.

use std::path::PathBuf;

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::cargo;

/// The parts of `cargo metadata` that concern a publication.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Manifest {
    pub(super) name: String,
    pub(super) version: String,
    description: Option<String>,
    license: Option<String>,
    repository: Option<String>,
    readme: Option<PathBuf>,
    rust_version: Option<String>,
    keywords: Vec<String>,
    categories: Vec<String>,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    metadata: Value,
    publish: Option<Value>,
}

#[derive(Clone, Debug, Deserialize)]
struct Dependency {
    name: String,
    req: String,
    kind: Option<String>,
    path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Workspace {
    packages: Vec<Manifest>,
}

impl Manifest {
    /// The manifests of all crates without `publish = false`.
    pub(super) fn of_published() -> anyhow::Result<Vec<Self>> {
        let text = cargo::read(&["metadata", "--format-version=1", "--no-deps"])?;
        let workspace: Workspace =
            serde_json::from_str(&text).context("cargo metadata printed something else")?;
        Ok(workspace.packages.into_iter().filter(|manifest| manifest.publish.is_none()).collect())
    }

    /// The name of the package's file.
    pub(super) fn file(&self) -> String {
        format!("{}-{}.crate", self.name, self.version)
    }

    /// The missing and wrong fields.
    pub(super) fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        let given = [
            ("description", self.description.is_some()),
            ("license", self.license.is_some()),
            ("repository", self.repository.is_some()),
            ("rust-version", self.rust_version.is_some()),
            // crates.io takes at most five of each.
            ("keywords (one to five)", (1..=5).contains(&self.keywords.len())),
            ("categories (one to five)", (1..=5).contains(&self.categories.len())),
        ];
        complaints
            .extend(given.iter().filter(|(_, is_given)| !is_given).map(|(field, _)| format!("no {field}")));
        complaints.extend(self.files());
        // A path is lost in the package; a version is left. Without one, cargo drops a dependency of tests and refuses others.
        let of_checkout = self.dependencies.iter().filter(|dependency| dependency.path.is_some());
        let without = of_checkout.filter(|dependency| dependency.req == "*" && dependency.kind.is_none());
        complaints
            .extend(without.map(|dependency| format!("the dependency {} has no version", dependency.name)));
        let needs_types =
            |dependency: &Dependency| dependency.name == "k8s-openapi" && dependency.kind.is_none();
        if self.dependencies.iter().any(needs_types)
            && !self.chooses_kubernetes_for_docs()
            && !self.is_binary()
        {
            complaints.push(
                "docs.rs needs a version of Kubernetes: [package.metadata.docs.rs] features = [\"k8s-openapi/v1_36\"]"
                    .to_owned(),
            );
        }
        complaints.into_iter().map(|complaint| format!("{}: {complaint}", self.name)).collect()
    }

    /// README and licence are files of the crate's own folder.
    fn files(&self) -> Vec<String> {
        let folder = self.manifest_path.parent().unwrap_or(&self.manifest_path);
        let mut complaints = Vec::new();
        match &self.readme {
            None => complaints.push("no readme".to_owned()),
            Some(readme) => {
                let text = std::fs::read_to_string(folder.join(readme)).unwrap_or_default();
                if text.lines().next() != Some(&format!("# {}", self.name)) {
                    complaints.push(format!("{} does not begin with `# {}`", readme.display(), self.name));
                }
            }
        }
        if !folder.join("LICENSE").is_file() {
            complaints.push("no LICENSE: make a link to the one of the repository".to_owned());
        }
        complaints
    }

    fn chooses_kubernetes_for_docs(&self) -> bool {
        let features = self.metadata["docs"]["rs"]["features"].as_array();
        let mut features = features.into_iter().flatten().filter_map(Value::as_str);
        features.any(|feature| feature.starts_with("k8s-openapi/"))
    }

    /// A binary chooses the version in its dependencies.
    fn is_binary(&self) -> bool {
        self.name == "vestibule-cli"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_omission_is_a_complaint_with_the_name_of_the_crate() {
        let published = Manifest::of_published().unwrap();
        let whole = published.into_iter().find(|manifest| manifest.name == "vestibule-manifests").unwrap();
        assert_eq!(whole.complaints(), [""; 0]);

        let mut bare = Manifest { name: "bare".to_owned(), ..Manifest::default() };
        let path = |name: &str, req: &str, kind: Option<&str>| Dependency {
            name: name.to_owned(),
            req: req.to_owned(),
            kind: kind.map(str::to_owned),
            path: Some("../other".into()),
        };
        bare.dependencies =
            vec![path("a", "*", None), path("b", "*", Some("dev")), path("c", "^0.1.0", None)];
        let complaints = bare.complaints();
        assert!(complaints.iter().all(|complaint| complaint.starts_with("bare: ")));
        for wanted in [
            "description",
            "license",
            "repository",
            "rust-version",
            "keywords",
            "categories",
            "readme",
            "LICENSE",
        ] {
            assert!(
                complaints.iter().any(|complaint| complaint.contains(wanted)),
                "{wanted}: {complaints:?}"
            );
        }
        let versions: Vec<_> =
            complaints.iter().filter(|complaint| complaint.contains("no version")).collect();
        assert_eq!(versions, ["bare: the dependency a has no version"]);

        let mut without_docs = whole.clone();
        without_docs.metadata = Value::Null;
        assert_eq!(without_docs.complaints().len(), 1);
    }
}
