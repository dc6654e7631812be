//! The fields of a crate's manifest that crates.io and docs.rs need.

use serde_json::Value;

use crate::binary::PACKAGE;
use crate::metadata::{Dependency, Package};

impl Package {
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
        // The binary chooses the version in its dependencies.
        if self.dependencies.iter().any(needs_types)
            && !self.chooses_kubernetes_for_docs()
            && self.name != PACKAGE
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Kind;
    use crate::package::published;

    #[test]
    fn each_omission_is_a_complaint_with_the_name_of_the_crate() {
        let whole =
            published().unwrap().into_iter().find(|manifest| manifest.name == "vestibule-manifests").unwrap();
        assert_eq!(whole.complaints(), [""; 0]);

        let mut bare = Package { name: "bare".to_owned(), ..Package::default() };
        let path = |name: &str, req: &str, kind| Dependency {
            name: name.to_owned(),
            req: req.to_owned(),
            kind,
            path: Some("../other".into()),
            ..Dependency::default()
        };
        bare.dependencies =
            vec![path("a", "*", None), path("b", "*", Some(Kind::Dev)), path("c", "^0.1.0", None)];
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
