use super::*;

const GROUND: Room = Room {
    name: "ground",
    package: "house-ground",
    knows: &[],
    knows_behind_a_feature: &[],
    tests_with: &[],
    names: &["serde"],
    names_behind_a_feature: &[],
    never_reaches: &[&["tokio"]],
    because: "it is pure",
};
const KIT: Room = Room { name: "kit", package: "house-kit", names: &["tokio"], never_reaches: &[], ..GROUND };
const UPPER: Room = Room {
    name: "upper",
    package: "house-upper",
    knows: &["ground"],
    knows_behind_a_feature: &["kit"],
    tests_with: &["kit"],
    names_behind_a_feature: &["clap"],
    ..GROUND
};
const HOUSE: &[Room] = &[GROUND, KIT, UPPER];

#[test]
fn a_house_in_order_has_no_breach() {
    let upper = [
        normal("serde"),
        Dependency { optional: true, ..normal("clap") },
        room("house-ground"),
        Dependency { optional: true, ..room("house-kit") },
        Dependency { kind: Some(Kind::Dev), ..room("house-kit") },
        Dependency { kind: Some(Kind::Dev), ..normal("proptest") },
    ];
    assert_eq!(breaches("house-upper", "crates/upper", upper), [""; 0]);
}

#[test]
fn a_forbidden_crate_is_told_with_room_wall_reason_and_home() {
    let [breach] = &breaches("house-ground", "crates/ground", [normal("tokio")])[..] else {
        panic!("one breach")
    };
    for part in [
        "`ground` names the crate `tokio`",
        "crates/ground/Cargo.toml",
        "may name serde",
        "it is pure",
        "at home: kit",
    ] {
        assert!(breach.contains(part), "{part:?} is missing in: {breach}");
    }
}

#[test]
fn a_build_dependency_is_named_too() {
    let build = Dependency { kind: Some(Kind::Build), ..normal("cc") };
    assert!(breaches("house-ground", "crates/ground", [build])[0].contains("`ground` names the crate `cc`"));
}

#[test]
fn nothing_points_up_not_even_in_tests() {
    let up = breaches("house-ground", "crates/ground", [room("house-upper")]);
    assert!(up[0].contains("`ground` knows the room `upper`"), "{up:?}");
    let in_tests = Dependency { kind: Some(Kind::Dev), ..room("house-upper") };
    assert!(
        breaches("house-ground", "crates/ground", [in_tests])[0]
            .contains("uses, in its tests, the room `upper`")
    );
}

#[test]
fn the_test_kit_stays_behind_its_feature() {
    assert!(
        breaches("house-upper", "crates/upper", [room("house-kit")])[0]
            .contains("make the dependency optional")
    );
}

#[test]
fn a_crate_behind_a_feature_stays_there() {
    assert!(
        breaches("house-upper", "crates/upper", [normal("clap")])[0]
            .contains("may come with a feature, never without")
    );
}

#[test]
fn a_room_without_walls_is_a_breach() {
    assert!(
        breaches("house-attic", "crates/attic", [])[0]
            .contains("`house-attic` lies in crates/ but has no walls")
    );
    assert_eq!(breaches("fire", "tests/fire", [room("house-upper"), normal("anything")]), [""; 0]);
}

#[test]
fn xtask_links_no_room() {
    assert!(breaches("xtask", "xtask", [room("house-ground")])[0].contains("xtask links the room `ground`"));
    assert_eq!(breaches("xtask", "xtask", [normal("clap")]), [""; 0]);
}

#[test]
fn reaching_shows_the_way() {
    let tree =
        "0house-ground v0.1.0 (/house)\n1serde v1.0.0\n2serde_core v1.0.0\n1futures v0.3.0\n2tokio v1.50.0\n";
    let [breach] = &reached(&GROUND, tree)[..] else { panic!("one breach") };
    assert!(breach.contains("house-ground -> futures -> tokio"), "{breach}");
    assert_eq!(reached(&GROUND, "0house-ground v0.1.0\n1tokio-util v0.7.0\n"), [""; 0]);
}

#[test]
fn a_door_that_nobody_uses_is_told() {
    let [told] = &unused(HOUSE, &package("house-upper", "crates/upper", [normal("serde")]))[..] else {
        panic!("one door")
    };
    assert!(told.contains("`upper` may name the crate `clap` and does not"), "{told}");
    let in_tests = Dependency { kind: Some(Kind::Dev), ..normal("serde") };
    assert_eq!(unused(HOUSE, &package("house-ground", "crates/ground", [in_tests])).len(), 1);
}

#[test]
fn the_table_speaks_of_rooms_that_exist() {
    let exists = |name: &&str| ROOMS.iter().any(|room| room.name == *name);
    for room in ROOMS {
        let mentioned = room.knows.iter().chain(room.knows_behind_a_feature).chain(room.tests_with);
        assert_eq!(mentioned.copied().find(|name| !exists(name)), None, "in the row of `{}`", room.name);
        assert!(
            room.names_behind_a_feature.is_sorted(),
            "the optional crates of `{}` are not sorted",
            room.name
        );
        assert!(room.names.is_sorted(), "the crates of `{}` are not sorted", room.name);
    }
}

#[test]
fn no_circle_of_rooms() {
    fn depth(name: &str, left: usize) -> Option<usize> {
        let room = ROOMS.iter().find(|room| room.name == name)?;
        room.knows
            .iter()
            .try_fold(left.checked_sub(1)?, |least, known| Some(least.min(depth(known, left - 1)?)))
    }
    for room in ROOMS {
        assert!(depth(room.name, ROOMS.len()).is_some(), "`{}` leads back to itself", room.name);
    }
}

fn breaches<const N: usize>(name: &str, folder: &str, dependencies: [Dependency; N]) -> Vec<String> {
    let metadata = Metadata {
        packages: vec![package(name, folder, dependencies)],
        workspace_root: "/house".into(),
        target_directory: "/house/target".into(),
    };
    named(HOUSE, &metadata)
}

fn package<const N: usize>(name: &str, folder: &str, dependencies: [Dependency; N]) -> Package {
    Package {
        name: name.into(),
        version: "0.1.0".into(),
        license: None,
        manifest_path: format!("/house/{folder}/Cargo.toml").into(),
        dependencies: dependencies.into(),
    }
}

fn normal(name: &str) -> Dependency {
    Dependency { name: name.into(), kind: None, optional: false, path: None }
}

fn room(name: &str) -> Dependency {
    Dependency { path: Some(format!("/house/{name}").into()), ..normal(name) }
}
