//! The list of crates and Debian packages in the image, in CycloneDX 1.5.

use serde_json::{Value, json};

use super::compile::Source;
use super::debian;
use crate::metadata::{Metadata, Package};
use crate::{cargo, files};

/// The binary, as the document describes it.
pub(super) struct About<'a> {
    pub(super) title: &'a str,
    pub(super) version: &'a str,
    /// RFC 3339.
    pub(super) created: &'a str,
}

/// The version of a package of the workspace.
pub(super) fn version(source: &Source, package: &str) -> anyhow::Result<String> {
    let metadata = Metadata::read(&source.folder, &["--no-deps", "--locked"])?;
    Ok(metadata.package(package)?.version.clone())
}

/// The document: the crates that are linked into the binary, and the packages of `base`.
pub(super) fn document(
    source: &Source,
    package: &str,
    about: &About<'_>,
    base: &[debian::Package],
) -> anyhow::Result<String> {
    let metadata = Metadata::read(&source.folder, &["--locked"])?;
    let lock = files::read(&source.folder.join("Cargo.lock"))?;
    let linked = linked(source, package)?;
    let mut components = Vec::new();
    for found in &metadata.packages {
        let is_linked = linked.contains(&(found.name.clone(), found.version.clone()));
        if is_linked && found.name != package {
            components.push(of_crate(found, &lock));
        }
    }
    components.extend(base.iter().map(of_debian));
    components.sort_by_key(|component| component["bom-ref"].to_string());
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": about.created,
            "component": {
                "type": "application",
                "bom-ref": about.title,
                "name": about.title,
                "version": about.version,
                "purl": format!("pkg:cargo/{package}@{}", about.version),
                "licenses": [{"expression": "Apache-2.0"}],
            },
        },
        "components": components,
    });
    Ok(format!("{document:#}\n"))
}

fn of_crate(package: &Package, lock: &str) -> Value {
    let Package { name, version, .. } = package;
    let mut component = library(&format!("pkg:cargo/{name}@{version}"), name, version);
    if let Some(description) = &package.description {
        // The format's strings have no line ends.
        let words: Vec<_> = description.split_whitespace().collect();
        component["description"] = json!(words.join(" "));
    }
    if let Some(licence) = &package.license {
        // Older crates write `MIT/Apache-2.0`.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    let checksum = package.source.as_ref().and_then(|_| checksum(lock, name, version));
    if let Some(checksum) = checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

fn of_debian(package: &debian::Package) -> Value {
    let debian::Package { name, version, architecture, .. } = package;
    let url = format!(
        "pkg:deb/debian/{name}@{}?arch={architecture}",
        version.replace('+', "%2B").replace(':', "%3A")
    );
    library(&url, name, version)
}

fn library(url: &str, name: &str, version: &str) -> Value {
    json!({
        "type": "library",
        "bom-ref": url,
        "name": name,
        "version": version,
        "purl": url,
        "scope": "required",
    })
}

/// Names and versions of the crates that `package` links: cargo's own answer, with the features of this build.
fn linked(source: &Source, package: &str) -> anyhow::Result<Vec<(String, String)>> {
    // `cargo metadata` unites the features of the whole workspace; `cargo tree` does not.
    let arguments = ["tree", "--locked", "--package", package, "--edges", "normal", "--prefix", "none"];
    let arguments = [&arguments[..], &["--no-dedupe", "--format", "{p}"]].concat();
    let text = cargo::output(cargo::command(&arguments).current_dir(&source.folder))?;
    let mut found: Vec<_> =
        text.lines().filter(|line| !line.contains("(proc-macro)")).filter_map(named).collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// Name and version of a line such as `serde v1.0.229 (proc-macro)`.
fn named(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let version = words.next()?.strip_prefix('v')?;
    Some((name.to_owned(), version.to_owned()))
}

/// The checksum of a crate in the text of `Cargo.lock`.
fn checksum<'l>(lock: &'l str, name: &str, version: &str) -> Option<&'l str> {
    let start = format!("name = \"{name}\"\nversion = \"{version}\"\n");
    let entry = lock.split("[[package]]\n").find(|entry| entry.starts_with(&start))?;
    entry.split("checksum = \"").nth(1)?.split('"').next()
}

#[cfg(test)]
mod tests {
    use cyclonedx_bom::models::bom::{Bom, SpecVersion};
    use cyclonedx_bom::validation::Validate;

    use super::*;

    #[test]
    fn the_library_of_the_format_accepts_the_document() {
        let about = About { title: "vestibule", version: "1.0.0", created: "2026-01-01T00:00:00Z" };
        let libc = debian::Package {
            name: "libc6".to_owned(),
            version: "2.36-9+deb12u1".to_owned(),
            architecture: "amd64".to_owned(),
            status: String::new(),
        };
        let text = document(&Source::here().unwrap(), crate::binary::PACKAGE, &about, &[libc]).unwrap();
        let read = Bom::parse_from_json(text.as_bytes()).unwrap();
        let result = read.validate_version(SpecVersion::V1_5);
        assert!(result.passed(), "{result:?}");
        let components = read.components.unwrap().0;
        let has = |name: &str| components.iter().any(|component| &*component.name == name);
        assert!(has("libc6") && has("rustls") && has("vestibule-patch"));
        // Only tests of this program use it.
        assert!(!has("cyclonedx-bom"));
    }

    #[test]
    fn checksums_are_of_one_version() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"11\"\n\n[[package]]\nname = \"a\"\nversion = \"2.0.0\"\n";
        assert_eq!(checksum(lock, "a", "1.0.0"), Some("11"));
        assert_eq!(checksum(lock, "a", "2.0.0"), None);
    }

    #[test]
    fn crates_of_the_tree_have_a_version() {
        assert_eq!(named("serde v1.0.229"), Some(("serde".to_owned(), "1.0.229".to_owned())));
        assert_eq!(named(""), None);
    }
}
