//! The walls between the rooms, checked by machine instead of by good will.
//!
//! What a room *names* is read from `cargo metadata` (its own manifest), what it *reaches* from `cargo tree`.

mod rooms;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::bail;

use crate::cargo;
use crate::metadata::{Dependency, Kind, Metadata, Package};
use rooms::{ROOMS, Room};

const TABLE: &str = "xtask/src/walls/rooms.rs";

/// Checks every wall; prints one sentence for each breach.
pub(crate) fn run() -> anyhow::Result<()> {
    let metadata = Metadata::of_workspace()?;
    let mut breaches = named(ROOMS, &metadata);
    breaches.extend(metadata.packages.iter().flat_map(|package| unused(ROOMS, package)));
    for room in ROOMS.iter().filter(|room| !room.never_reaches.is_empty()) {
        breaches.extend(reached(room, &tree(room)?));
    }
    for breach in &breaches {
        eprintln!("\n{breach}");
    }
    match breaches.len() {
        0 => println!("walls: {} rooms, all walls stand", ROOMS.len()),
        1 => bail!("1 wall is broken"),
        count => bail!("{count} walls are broken"),
    }
    Ok(())
}

/// Every feature and platform counts: a wall with a door for some builds is no wall.
fn tree(room: &Room) -> anyhow::Result<String> {
    let package = room.package;
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

/// The breaches in what packages name in their manifests.
fn named(rooms: &[Room], metadata: &Metadata) -> Vec<String> {
    let root = &metadata.workspace_root;
    let packages = metadata.packages.iter();
    packages.flat_map(|package| named_by(rooms, package, &package.folder(root))).collect()
}

/// A door that nobody uses would let in tomorrow what nobody decided.
fn unused(rooms: &[Room], package: &Package) -> Vec<String> {
    let Some(room) = rooms.iter().find(|room| room.package == package.name) else { return Vec::new() };
    let names = |foreign: &str| {
        let mut built = package.dependencies.iter().filter(|one| one.kind != Some(Kind::Dev));
        built.any(|one| one.name == foreign)
    };
    let doors = room.names.iter().chain(room.names_behind_a_feature).filter(|foreign| !names(foreign));
    doors
        .map(|foreign| {
            format!(
                "The room `{}` may name the crate `{foreign}` and does not. Take it out of its row in {TABLE}.",
                room.name
            )
        })
        .collect()
}

fn named_by(rooms: &[Room], package: &Package, folder: &Path) -> Vec<String> {
    let dependencies = package.dependencies.iter();
    if let Some(room) = rooms.iter().find(|room| room.package == package.name) {
        return dependencies.filter_map(|dependency| breach(rooms, room, dependency)).collect();
    }
    if folder.starts_with("crates") {
        return vec![format!(
            "The package `{}` lies in crates/ but has no walls. A new room needs one line in {TABLE}: what it knows, \
             what it names, and why it is a room of its own. Code that only tests belongs in tests/.",
            package.name
        )];
    }
    if folder.starts_with("xtask") {
        let rooms = dependencies.filter_map(|dependency| room_of(rooms, dependency));
        return rooms
            .map(|room| {
                format!(
                    "xtask links the room `{}`. xtask knows no room, so that it builds in seconds and still runs when a \
                     room does not compile. Instead, give that room a binary and run it with `cargo run -p`.",
                    room.name
                )
            })
            .collect();
    }
    // Examples and test crates stand where users stand: they may know everything.
    Vec::new()
}

fn breach(rooms: &[Room], room: &Room, dependency: &Dependency) -> Option<String> {
    match room_of(rooms, dependency) {
        Some(other) => breach_of_room(room, dependency, other.name),
        None => breach_of_names(rooms, room, dependency),
    }
}

fn room_of<'r>(rooms: &'r [Room], dependency: &Dependency) -> Option<&'r Room> {
    dependency.path.as_ref().and_then(|_| rooms.iter().find(|room| room.package == dependency.name))
}

fn breach_of_room(room: &Room, dependency: &Dependency, other: &str) -> Option<String> {
    let test = dependency.kind == Some(Kind::Dev);
    let allowed = room.knows.contains(&other)
        || (dependency.optional && room.knows_behind_a_feature.contains(&other))
        || (test && room.tests_with.contains(&other));
    if allowed {
        return None;
    }
    let Room { name, because, .. } = room;
    let how = if test { "uses, in its tests," } else { "knows" };
    let instead = if room.knows_behind_a_feature.contains(&other) {
        format!(
            "Instead, make the dependency optional, behind a feature that is off by default: `{other}` is for tests."
        )
    } else if room.tests_with.contains(&other) {
        format!("Instead, name it under [dev-dependencies]: `{name}` may use `{other}` in its tests only.")
    } else {
        format!(
            "Instead, let `{other}` hand what is needed to `{name}` as plain data or through a trait that `{name}` \
             defines, or move the code to a room that knows both."
        )
    };
    Some(format!(
        "The room `{name}` {how} the room `{other}` (crates/{name}/Cargo.toml), and between them stands a wall: `{name}` \
         may know {}. This wall stands because {because}. {instead}",
        list(room.knows),
    ))
}

fn breach_of_names(rooms: &[Room], room: &Room, dependency: &Dependency) -> Option<String> {
    let foreign = dependency.name.as_str();
    let behind_a_feature = room.names_behind_a_feature.contains(&foreign);
    let allowed = dependency.kind == Some(Kind::Dev)
        || room.names.contains(&foreign)
        || (dependency.optional && behind_a_feature);
    if allowed {
        return None;
    }
    let Room { name, because, .. } = room;
    let homes: Vec<_> =
        rooms.iter().filter(|room| room.names.contains(&foreign)).map(|room| room.name).collect();
    let instead = if behind_a_feature {
        format!("Instead, make the dependency optional: `{foreign}` may come with a feature, never without.")
    } else if homes.is_empty() {
        "Instead, do without.".to_owned()
    } else {
        format!("Instead, put the code that needs it where `{foreign}` is at home: {}.", list(&homes))
    };
    Some(format!(
        "The room `{name}` names the crate `{foreign}` (crates/{name}/Cargo.toml), which is outside its walls: `{name}` \
         may name {}. This wall stands because {because}. {instead} If the wall itself is wrong, move it in {TABLE} and \
         say why.",
        list(room.names),
    ))
}

/// The breaches in what `room` reaches, by the text of `cargo tree --prefix=depth`.
fn reached(room: &Room, tree: &str) -> Vec<String> {
    let ways = ways(tree);
    let breaches = room
        .never_reaches
        .iter()
        .copied()
        .flatten()
        .filter_map(|foreign| ways.get(foreign).map(|way| (foreign, way)));
    breaches
        .map(|(foreign, way)| {
            format!(
                "The room `{}` reaches the crate `{foreign}`, by this way: {}. It must not, by any way. This wall stands \
                 because {}. Instead, turn off the feature that brings `{foreign}` (`cargo tree -p {} -e normal,features \
                 -i {foreign}` shows which), or do without the crate on that way.",
                room.name,
                way.join(" -> "),
                room.because,
                room.package,
            )
        })
        .collect()
}

/// The first way to each package of a tree whose lines start with their depth: `2syn v3.0.9`.
fn ways(tree: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut ways = BTreeMap::new();
    let mut way = Vec::new();
    for line in tree.lines() {
        let name_at = line.find(|character: char| !character.is_ascii_digit()).unwrap_or(line.len());
        let (depth, rest) = line.split_at(name_at);
        let (Ok(depth), Some(name)) = (depth.parse::<usize>(), rest.split_whitespace().next()) else {
            continue;
        };
        way.truncate(depth);
        way.push(name);
        ways.entry(name).or_insert_with(|| way.clone());
    }
    ways
}

fn list(names: &[&str]) -> String {
    match names {
        [] => "no other room".to_owned(),
        names => names.join(", "),
    }
}
