//! Checks that no crate is in the tree in two major versions without a reason, and large crates never.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;

use crate::metadata::{Metadata, Package};

/// Two major versions of these have incompatible types, and enlarge the binary.
const NEVER_TWICE: &[&str] = &["http", "hyper", "k8s-openapi", "kube", "rustls", "serde", "tokio"];

/// Duplicates that dependencies cause, each with the reason to accept it.
const TOLERATED: &[(&str, &str)] = &[
    ("base64", "kube still asks for 0.22 while its own dependencies moved to 0.23"),
    (
        "bit-vec",
        "the parser generator behind cel is a generation behind proptest; a few hundred lines, in tests only on its side",
    ),
    (
        "getrandom",
        "ring, rand and tempfile ask for three generations; each is a thin wrapper of one system call",
    ),
    ("hashbrown", "the model checker's dashmap is two generations behind kube's; in the model's tests only"),
    (
        "ordered-float",
        "serde-value, which kube has, is behind the library of CycloneDX; the latter in a test of xtask only",
    ),
    ("r-efi", "only on UEFI, through two generations of getrandom"),
    ("rand", "the model checker is a generation behind proptest and kube; in tests only on its side"),
    ("rand_core", "goes with rand"),
    ("syn", "procedural macros move from 2 to 3 at their own pace; build time only"),
    ("thiserror", "cel is a generation behind the other crates; build time but for a few impls"),
    ("thiserror-impl", "goes with thiserror"),
    ("untrusted", "ring and webpki; a few hundred lines"),
    ("windows-sys", "only on Windows"),
];

/// Fails on every second major version without a reason, and on reasons that are no longer needed.
pub(crate) fn run() -> anyhow::Result<()> {
    let complaints = complaints(&majors(&Metadata::of_everything()?.packages));
    if !complaints.is_empty() {
        bail!("{}", complaints.join("\n"));
    }
    println!("duplicates: none but the {} that have a reason", TOLERATED.len());
    Ok(())
}

type Majors<'p> = BTreeMap<&'p str, BTreeSet<&'p str>>;

fn majors(packages: &[Package]) -> Majors<'_> {
    let mut majors = Majors::new();
    for package in packages {
        majors.entry(&package.name).or_default().insert(major(&package.version));
    }
    majors.retain(|_, majors| majors.len() > 1);
    majors
}

/// The part of a version that is the same for compatible versions: `1` of 1.2.3, `0.4` of 0.4.5.
fn major(version: &str) -> &str {
    let mut dots = version.match_indices('.').map(|(at, _)| at);
    let end = if version.starts_with("0.") { dots.nth(1) } else { dots.next() };
    end.and_then(|end| version.get(..end)).unwrap_or(version)
}

fn complaints(doubles: &Majors<'_>) -> Vec<String> {
    let tolerated =
        |name: &str| TOLERATED.iter().any(|(known, _)| *known == name) && !NEVER_TWICE.contains(&name);
    let new = doubles.iter().filter(|(name, _)| !tolerated(name)).map(|(name, majors)| {
        let majors = majors.iter().copied().collect::<Vec<_>>().join(" and ");
        format!(
            "`{name}` is in the tree as {majors}: `cargo tree --workspace -i {name}@VERSION` shows the dependents of each. \
             Use one version; for a small indirect dependency, a line with the reason in {} is enough.",
            file!()
        )
    });
    let stale = TOLERATED.iter().filter(|(name, _)| !doubles.contains_key(name)).map(|(name, _)| {
        format!("`{name}` is no longer in the tree twice: remove its line from {}.", file!())
    });
    new.chain(stale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_is_the_part_by_which_cargo_decides_compatibility() {
        assert_eq!(["1.2.3", "0.4.5", "0.0.7", "12.0.0-rc.1"].map(major), ["1", "0.4", "0.0", "12"]);
    }

    #[test]
    fn a_second_major_is_a_complaint() {
        let mut doubles: Majors<'_> =
            TOLERATED.iter().map(|(name, _)| (*name, BTreeSet::from(["1", "2"]))).collect();
        assert_eq!(complaints(&doubles), [""; 0]);
        doubles.insert("hyper", BTreeSet::from(["0.14", "1"]));
        assert!(complaints(&doubles)[0].starts_with("`hyper` is in the tree as 0.14 and 1"));
    }

    #[test]
    fn a_reason_without_a_double_is_a_complaint() {
        assert_eq!(complaints(&Majors::new()).len(), TOLERATED.len());
    }
}
