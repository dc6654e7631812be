use serde_json::json;

use super::*;

/// `ground` is pure, `kit` is for tests, and `upper` is above both.
fn workspace() -> Vec<Crate> {
    let metadata = json!({ "walls": {
        "ground": { "external": ["serde"], "never-reaches": ["serving"], "because": "it is pure" },
        "kit": { "external": ["tokio"], "because": "it is for tests" },
        "upper": {
            "uses": ["ground"], "tests-with": ["kit"], "external": ["serde"], "external-behind-a-feature": ["clap"],
            "because": "it is above",
        },
    } });
    crates::table(&Metadata { metadata, ..Metadata::default() }).unwrap()
}

#[test]
fn allowed_dependencies_are_no_breach() {
    let upper = [
        external("serde"),
        Dependency { optional: true, ..external("clap") },
        member("vestibule-ground"),
        Dependency { kind: Some(Kind::Dev), ..member("vestibule-kit") },
        Dependency { kind: Some(Kind::Dev), ..external("proptest") },
    ];
    assert_eq!(breaches("vestibule-upper", "crates/upper", upper), [""; 0]);
}

#[test]
fn a_forbidden_external_crate_is_reported_with_the_reason_and_an_alternative() {
    let [breach] = &breaches("vestibule-ground", "crates/ground", [external("tokio")])[..] else {
        panic!("one breach")
    };
    for part in [
        "`ground` uses the external crate `tokio`",
        "crates/ground/Cargo.toml",
        "may use serde",
        "it is pure",
        "may use `tokio`: kit",
    ] {
        assert!(breach.contains(part), "{part:?} is missing in: {breach}");
    }
    let optional_elsewhere = breaches("vestibule-ground", "crates/ground", [external("clap")]);
    assert!(optional_elsewhere[0].contains("may use `clap`: upper"), "{optional_elsewhere:?}");
}

#[test]
fn a_build_dependency_is_checked_too() {
    let build = Dependency { kind: Some(Kind::Build), ..external("cc") };
    assert!(
        breaches("vestibule-ground", "crates/ground", [build])[0]
            .contains("`ground` uses the external crate `cc`")
    );
}

#[test]
fn a_dependency_on_a_higher_crate_is_a_breach_also_in_tests() {
    let up = breaches("vestibule-ground", "crates/ground", [member("vestibule-upper")]);
    assert!(up[0].contains("`ground` uses the crate `upper`"), "{up:?}");
    let in_tests = Dependency { kind: Some(Kind::Dev), ..member("vestibule-upper") };
    assert!(
        breaches("vestibule-ground", "crates/ground", [in_tests])[0]
            .contains("uses, in its tests, the crate `upper`")
    );
}

#[test]
fn a_crate_for_tests_is_a_breach_outside_of_them() {
    assert!(
        breaches("vestibule-upper", "crates/upper", [member("vestibule-kit")])[0]
            .contains("under [dev-dependencies]")
    );
}

#[test]
fn an_optional_external_crate_must_stay_optional() {
    assert!(
        breaches("vestibule-upper", "crates/upper", [external("clap")])[0]
            .contains("may come with a feature, never without")
    );
}

#[test]
fn a_crate_without_a_row_is_a_breach() {
    assert!(
        breaches("vestibule-attic", "crates/attic", [])[0]
            .contains("`vestibule-attic` is in crates/ but has no row")
    );
    assert_eq!(breaches("fire", "tests/fire", [member("vestibule-upper"), external("anything")]), [""; 0]);
}

#[test]
fn xtask_depends_on_no_crate() {
    assert!(
        breaches("xtask", "xtask", [member("vestibule-ground")])[0]
            .contains("xtask depends on the crate `ground`")
    );
    assert_eq!(breaches("xtask", "xtask", [external("clap")]), [""; 0]);
}

#[test]
fn an_indirect_dependency_is_reported_with_its_path() {
    let tree = "0vestibule-ground v0.1.0 (/workspace)\n1serde v1.0.0\n2serde_core v1.0.0\n1futures v0.3.0\n2tokio v1.50.0\n";
    let [breach] = &reached(&workspace()[0], tree)[..] else { panic!("one breach") };
    assert!(breach.contains("vestibule-ground -> futures -> tokio"), "{breach}");
    assert_eq!(reached(&workspace()[0], "0vestibule-ground v0.1.0\n1tokio-util v0.7.0\n"), [""; 0]);
}

#[test]
fn an_unused_allowance_is_reported() {
    let upper = package("vestibule-upper", "crates/upper", [external("serde")]);
    let [report] = &unused(&workspace(), &upper)[..] else { panic!("one report") };
    assert!(report.contains("`upper` may use `clap` and does not"), "{report}");
    let in_tests = Dependency { kind: Some(Kind::Dev), ..external("serde") };
    assert_eq!(unused(&workspace(), &package("vestibule-ground", "crates/ground", [in_tests])).len(), 1);
}

#[test]
fn the_table_names_crates_that_exist_and_is_sorted() {
    let crates = crates::table(&Metadata::of_workspace().unwrap()).unwrap();
    assert!(crates.len() > 10);
    let lock = crate::files::read_here("Cargo.lock").unwrap();
    let is_locked = |name: &&str| lock.contains(&format!("\nname = \"{name}\"\n"));
    for krate in &crates {
        assert_eq!(krate.unreachable().find(|name| !is_locked(name)), None, "in the row of `{}`", krate.name);
    }
    for Crate { name, uses, tests_with, external, external_behind_a_feature, .. } in &crates {
        let unknown = |other: &&String| !crates.iter().any(|krate| krate.name == **other);
        assert_eq!(uses.iter().chain(tests_with).find(unknown), None, "in the row of `{name}`");
        assert!(external_behind_a_feature.is_sorted(), "the optional crates of `{name}` are not sorted");
        assert!(external.is_sorted(), "the crates of `{name}` are not sorted");
    }
}

#[test]
fn the_crates_form_no_circle() {
    let mut left = crates::table(&Metadata::of_workspace().unwrap()).unwrap();
    while let Some(at) =
        left.iter().position(|krate| !left.iter().any(|other| krate.uses.contains(&other.name)))
    {
        left.remove(at);
    }
    assert_eq!(left.iter().map(|krate| &krate.name).next(), None, "it depends on itself");
}

fn breaches<const N: usize>(name: &str, folder: &str, dependencies: [Dependency; N]) -> Vec<String> {
    let metadata = Metadata {
        packages: vec![package(name, folder, dependencies)],
        workspace_root: "/workspace".into(),
        ..Metadata::default()
    };
    named(&workspace(), &metadata)
}

fn package<const N: usize>(name: &str, folder: &str, dependencies: [Dependency; N]) -> Package {
    Package {
        name: name.into(),
        manifest_path: format!("/workspace/{folder}/Cargo.toml").into(),
        dependencies: dependencies.into(),
        ..Package::default()
    }
}

fn external(name: &str) -> Dependency {
    Dependency { name: name.into(), ..Dependency::default() }
}

fn member(name: &str) -> Dependency {
    Dependency { path: Some(format!("/workspace/{name}").into()), ..external(name) }
}
