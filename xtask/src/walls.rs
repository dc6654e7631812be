//! Checks the boundaries between crates: which crates each crate may depend on.
//!
//! Direct dependencies are read from `cargo metadata`, indirect ones from `cargo tree`. The table is in the workspace's `Cargo.toml`.

mod crates;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::bail;

use crate::cargo;
use crate::metadata::{Dependency, Kind, Metadata, Package};
use crates::Crate;

const TABLE: &str = "[workspace.metadata.walls] of Cargo.toml";

/// Checks every boundary; prints a paragraph for each breach.
pub(crate) fn run() -> anyhow::Result<()> {
    let metadata = Metadata::of_workspace()?;
    let crates = crates::table(&metadata)?;
    let exists = |krate: &&Crate| metadata.packages.iter().any(|package| package.name == krate.package);
    let missing = crates.iter().filter(|krate| !exists(krate));
    let mut breaches: Vec<_> = missing
        .map(|krate| format!("{TABLE} has a row for {}, and there is no such crate", krate.name))
        .collect();
    breaches.extend(named(&crates, &metadata));
    breaches.extend(metadata.packages.iter().flat_map(|package| unused(&crates, package)));
    for krate in crates.iter().filter(|krate| !krate.never_reaches.is_empty()) {
        breaches.extend(reached(krate, &tree(krate)?));
    }
    for breach in &breaches {
        eprintln!("\n{breach}");
    }
    match breaches.len() {
        0 => println!("walls: {} crates, no boundary is crossed", crates.len()),
        1 => bail!("1 boundary is crossed"),
        count => bail!("{count} boundaries are crossed"),
    }
    Ok(())
}

/// The dependency tree with all features, for all platforms: a boundary holds for every build.
fn tree(krate: &Crate) -> anyhow::Result<String> {
    let package = &krate.package;
    cargo::read(&[
        "tree",
        "--quiet",
        "-p",
        package,
        "-e",
        "normal",
        "--all-features",
        "--target=all",
        "--prefix=depth",
    ])
}

/// The breaches in the manifests of packages.
fn named(crates: &[Crate], metadata: &Metadata) -> Vec<String> {
    let root = &metadata.workspace_root;
    let packages = metadata.packages.iter();
    packages.flat_map(|package| named_by(crates, package, &package.folder(root))).collect()
}

/// The allowed external crates that are not used: without this check, a later use would not be reviewed.
fn unused(crates: &[Crate], package: &Package) -> Vec<String> {
    let Some(krate) = crates.iter().find(|krate| krate.package == package.name) else { return Vec::new() };
    let names = |foreign: &str| {
        let mut built = package.dependencies.iter().filter(|one| one.kind != Some(Kind::Dev));
        built.any(|one| one.name == foreign)
    };
    let unused =
        krate.external.iter().chain(&krate.external_behind_a_feature).filter(|foreign| !names(foreign));
    unused
        .map(|foreign| {
            format!(
                "The crate `{}` may use `{foreign}` and does not. Remove `{foreign}` from its row in {TABLE}.",
                krate.name
            )
        })
        .collect()
}

fn named_by(crates: &[Crate], package: &Package, folder: &Path) -> Vec<String> {
    let dependencies = package.dependencies.iter();
    if let Some(krate) = crates.iter().find(|krate| krate.package == package.name) {
        return dependencies.filter_map(|dependency| breach(crates, krate, dependency)).collect();
    }
    if folder.starts_with("crates") {
        return vec![format!(
            "The package `{}` is in crates/ but has no row in {TABLE}. A new crate needs a row with the crates that it may \
             use and the reason. Test code belongs in tests/.",
            package.name
        )];
    }
    if folder.starts_with("xtask") {
        let crates = dependencies.filter_map(|dependency| crate_of(crates, dependency));
        return crates
            .map(|krate| {
                format!(
                    "xtask depends on the crate `{}`. It must not, so that it builds in seconds and still runs when a crate \
                     does not compile. Instead, give that crate a binary and run it with `cargo run -p`.",
                    krate.name
                )
            })
            .collect();
    }
    // Examples and test packages may use everything, as users may.
    Vec::new()
}

fn breach(crates: &[Crate], krate: &Crate, dependency: &Dependency) -> Option<String> {
    match crate_of(crates, dependency) {
        Some(other) => breach_of_use(krate, dependency, other),
        None => breach_of_external(crates, krate, dependency),
    }
}

fn crate_of<'c>(crates: &'c [Crate], dependency: &Dependency) -> Option<&'c Crate> {
    dependency.path.as_ref().and_then(|_| crates.iter().find(|krate| krate.package == dependency.name))
}

fn breach_of_use(krate: &Crate, dependency: &Dependency, other: &Crate) -> Option<String> {
    let test = dependency.kind == Some(Kind::Dev);
    let allowed = krate.uses.contains(&other.name) || (test && krate.tests_with.contains(&other.name));
    if allowed {
        return None;
    }
    let (Crate { name, because, .. }, other) = (krate, &other.name);
    let how = if test { "uses, in its tests," } else { "uses" };
    let instead = if krate.tests_with.contains(other) {
        format!("Instead, name it under [dev-dependencies]: `{name}` may use `{other}` in its tests only.")
    } else {
        format!(
            "Instead, pass the data from `{other}` to `{name}` as plain values or through a trait that `{name}` \
             defines, or move the code to a crate that uses both."
        )
    };
    Some(format!(
        "The crate `{name}` {how} the crate `{other}` (crates/{name}/Cargo.toml), which is not allowed: `{name}` may use \
         {}. This boundary exists because {because}. {instead}",
        list(&krate.uses),
    ))
}

fn breach_of_external(crates: &[Crate], krate: &Crate, dependency: &Dependency) -> Option<String> {
    let foreign = &dependency.name;
    let behind_a_feature = krate.external_behind_a_feature.contains(foreign);
    let allowed = dependency.kind == Some(Kind::Dev)
        || krate.external.contains(foreign)
        || (dependency.optional && behind_a_feature);
    if allowed {
        return None;
    }
    let Crate { name, because, .. } = krate;
    let allowed_in: Vec<_> = crates
        .iter()
        .filter(|krate| krate.external.iter().chain(&krate.external_behind_a_feature).any(|it| it == foreign))
        .map(|krate| krate.name.clone())
        .collect();
    let instead = if behind_a_feature {
        format!("Instead, make the dependency optional: `{foreign}` may come with a feature, never without.")
    } else if allowed_in.is_empty() {
        "Instead, do without it.".to_owned()
    } else {
        format!(
            "Instead, move the code that needs it into a crate that may use `{foreign}`: {}.",
            list(&allowed_in)
        )
    };
    Some(format!(
        "The crate `{name}` uses the external crate `{foreign}` (crates/{name}/Cargo.toml), which is not allowed: `{name}` \
         may use {}. This boundary exists because {because}. {instead} If the boundary is wrong, change it in {TABLE} \
         and say why.",
        list(&krate.external),
    ))
}

/// The breaches in the indirect dependencies of `krate`; `tree` is the output of `cargo tree --prefix=depth`.
fn reached(krate: &Crate, tree: &str) -> Vec<String> {
    let paths = paths(tree);
    let breaches = krate.unreachable().filter_map(|foreign| Some((foreign, paths.get(foreign)?)));
    breaches
        .map(|(foreign, path)| {
            format!(
                "The crate `{}` depends on the crate `{foreign}` by this path: {}. It must not, by any path. This boundary \
                 exists because {}. Instead, turn off the feature that adds `{foreign}` (`cargo tree -p {} -e normal,features \
                 -i {foreign}` shows it), or do without a crate on that path.",
                krate.name,
                path.join(" -> "),
                krate.because,
                krate.package,
            )
        })
        .collect()
}

/// The first path to each package of a tree whose lines start with their depth: `2syn v3.0.9`.
fn paths(tree: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut paths = BTreeMap::new();
    let mut path = Vec::new();
    for line in tree.lines() {
        let name_at = line.find(|character: char| !character.is_ascii_digit()).unwrap_or(line.len());
        let (depth, rest) = line.split_at(name_at);
        let (Ok(depth), Some(name)) = (depth.parse::<usize>(), rest.split_whitespace().next()) else {
            continue;
        };
        path.truncate(depth);
        path.push(name);
        paths.entry(name).or_insert_with(|| path.clone());
    }
    paths
}

fn list(names: &[String]) -> String {
    match names {
        [] => "no other crate".to_owned(),
        names => names.join(", "),
    }
}
