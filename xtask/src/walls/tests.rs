use super::*;

const GROUND: Crate = Crate {
    name: "ground",
    package: "demo-ground",
    uses: &[],
    tests_with: &[],
    external: &["serde"],
    external_behind_a_feature: &[],
    never_reaches: &[&["tokio"]],
    because: "it is pure",
};
const KIT: Crate =
    Crate { name: "kit", package: "demo-kit", external: &["tokio"], never_reaches: &[], ..GROUND };
const UPPER: Crate = Crate {
    name: "upper",
    package: "demo-upper",
    uses: &["ground"],
    tests_with: &["kit"],
    external_behind_a_feature: &["clap"],
    ..GROUND
};
const WORKSPACE: &[Crate] = &[GROUND, KIT, UPPER];

#[test]
fn allowed_dependencies_are_no_breach() {
    let upper = [
        external("serde"),
        Dependency { optional: true, ..external("clap") },
        member("demo-ground"),
        Dependency { kind: Some(Kind::Dev), ..member("demo-kit") },
        Dependency { kind: Some(Kind::Dev), ..external("proptest") },
    ];
    assert_eq!(breaches("demo-upper", "crates/upper", upper), [""; 0]);
}

#[test]
fn a_forbidden_external_crate_is_reported_with_the_reason_and_an_alternative() {
    let [breach] = &breaches("demo-ground", "crates/ground", [external("tokio")])[..] else {
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
}

#[test]
fn a_build_dependency_is_checked_too() {
    let build = Dependency { kind: Some(Kind::Build), ..external("cc") };
    assert!(
        breaches("demo-ground", "crates/ground", [build])[0]
            .contains("`ground` uses the external crate `cc`")
    );
}

#[test]
fn a_dependency_on_a_higher_crate_is_a_breach_also_in_tests() {
    let up = breaches("demo-ground", "crates/ground", [member("demo-upper")]);
    assert!(up[0].contains("`ground` uses the crate `upper`"), "{up:?}");
    let in_tests = Dependency { kind: Some(Kind::Dev), ..member("demo-upper") };
    assert!(
        breaches("demo-ground", "crates/ground", [in_tests])[0]
            .contains("uses, in its tests, the crate `upper`")
    );
}

#[test]
fn a_crate_for_tests_is_a_breach_outside_of_them() {
    assert!(
        breaches("demo-upper", "crates/upper", [member("demo-kit")])[0].contains("under [dev-dependencies]")
    );
}

#[test]
fn an_optional_external_crate_must_stay_optional() {
    assert!(
        breaches("demo-upper", "crates/upper", [external("clap")])[0]
            .contains("may come with a feature, never without")
    );
}

#[test]
fn a_crate_without_a_row_is_a_breach() {
    assert!(
        breaches("demo-attic", "crates/attic", [])[0].contains("`demo-attic` is in crates/ but has no row")
    );
    assert_eq!(breaches("fire", "tests/fire", [member("demo-upper"), external("anything")]), [""; 0]);
}

#[test]
fn xtask_depends_on_no_crate() {
    assert!(
        breaches("xtask", "xtask", [member("demo-ground")])[0]
            .contains("xtask depends on the crate `ground`")
    );
    assert_eq!(breaches("xtask", "xtask", [external("clap")]), [""; 0]);
}

#[test]
fn an_indirect_dependency_is_reported_with_its_path() {
    let tree = "0demo-ground v0.1.0 (/workspace)\n1serde v1.0.0\n2serde_core v1.0.0\n1futures v0.3.0\n2tokio v1.50.0\n";
    let [breach] = &reached(&GROUND, tree)[..] else { panic!("one breach") };
    assert!(breach.contains("demo-ground -> futures -> tokio"), "{breach}");
    assert_eq!(reached(&GROUND, "0demo-ground v0.1.0\n1tokio-util v0.7.0\n"), [""; 0]);
}

#[test]
fn an_unused_allowance_is_reported() {
    let [report] = &unused(WORKSPACE, &package("demo-upper", "crates/upper", [external("serde")]))[..] else {
        panic!("one report")
    };
    assert!(report.contains("`upper` may use `clap` and does not"), "{report}");
    let in_tests = Dependency { kind: Some(Kind::Dev), ..external("serde") };
    assert_eq!(unused(WORKSPACE, &package("demo-ground", "crates/ground", [in_tests])).len(), 1);
}

#[test]
fn the_table_names_crates_that_exist_and_is_sorted() {
    let exists = |name: &&str| CRATES.iter().any(|krate| krate.name == *name);
    for krate in CRATES {
        let mentioned = krate.uses.iter().chain(krate.tests_with);
        assert_eq!(mentioned.copied().find(|name| !exists(name)), None, "in the row of `{}`", krate.name);
        assert!(
            krate.external_behind_a_feature.is_sorted(),
            "the optional crates of `{}` are not sorted",
            krate.name
        );
        assert!(krate.external.is_sorted(), "the crates of `{}` are not sorted", krate.name);
    }
}

#[test]
fn the_crates_form_no_circle() {
    fn depth(name: &str, left: usize) -> Option<usize> {
        let krate = CRATES.iter().find(|krate| krate.name == name)?;
        krate
            .uses
            .iter()
            .try_fold(left.checked_sub(1)?, |least, known| Some(least.min(depth(known, left - 1)?)))
    }
    for krate in CRATES {
        assert!(depth(krate.name, CRATES.len()).is_some(), "`{}` depends on itself", krate.name);
    }
}

fn breaches<const N: usize>(name: &str, folder: &str, dependencies: [Dependency; N]) -> Vec<String> {
    let metadata = Metadata {
        packages: vec![package(name, folder, dependencies)],
        workspace_root: "/workspace".into(),
        target_directory: "/workspace/target".into(),
    };
    named(WORKSPACE, &metadata)
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
