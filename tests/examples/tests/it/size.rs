//! The limits of the examples' lengths.

use std::fs;
use std::path::{Path, PathBuf};

/// Every example with the most lines it may have: all lines of all files below its `src`, empty ones and comments too.
#[rustfmt::skip]
pub(crate) const MOST_LINES: &[(&str, usize)] = &[
    ("agnhost", 301),
    ("conversion", 120),
    ("dependencies", 120),
    ("env-injector", 40),
    ("etcd-operator", 200),
    ("reserved-namespaces", 61),
    ("storage-class", 60),
    ("tidy-pods", 60),
    ("topolvm", 120),
];

/// Packages whose length is not limited: one shows more than a webhook, one is a library of the others.
const NOT_COUNTED: &[&str] = &["operator-identity", "quantity"];

pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

#[test]
fn no_example_is_longer_than_it_may_be() {
    for (name, most) in MOST_LINES {
        let lines = rust_lines(&examples().join(name).join("src"));
        assert!((1..=*most).contains(&lines), "{name}: {lines} lines, of {most}");
    }
}

#[test]
fn every_example_has_a_readme_of_ten_lines() {
    for (name, _) in MOST_LINES {
        let readme = fs::read_to_string(examples().join(name).join("README.md")).expect(name);
        let lines = readme.lines().filter(|line| !line.is_empty()).count();
        assert!((5..=10).contains(&lines), "{name}: {lines} lines that are not empty");
    }
}

#[test]
fn every_example_is_counted() {
    for entry in examples().read_dir().unwrap() {
        let folder = entry.unwrap();
        let name = folder.file_name().into_string().unwrap();
        let counted = MOST_LINES.iter().any(|(counted, _)| *counted == name);
        if folder.path().join("Cargo.toml").exists() && !counted {
            assert!(NOT_COUNTED.contains(&name.as_str()), "{name} is not in the list");
        }
    }
}

pub(crate) fn rust_lines(folder: &Path) -> usize {
    let lines = |path: PathBuf| {
        if path.is_dir() {
            return rust_lines(&path);
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            return 0;
        }
        fs::read_to_string(path).unwrap().lines().count()
    };
    folder.read_dir().unwrap().map(|entry| lines(entry.unwrap().path())).sum()
}
