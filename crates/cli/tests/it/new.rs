//! The rules and the crates that `vestibule new` writes. `cargo xtask templates` builds them, and the packages `tests/new-*` have their sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::Folder;
use crate::how_to::ROOT;

const KINDS: [&str; 4] = ["mutating", "validating", "conversion", "operator"];
const FILES: [&str; 9] = [
    ".dockerignore",
    ".github/workflows/ci.yml",
    ".gitignore",
    "Cargo.toml",
    "Dockerfile",
    "README.md",
    "src/lib.rs",
    "src/main.rs",
    "tests/webhook.rs",
];

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

/// A crate `shop-hooks` of this kind.
fn written(kind: &str) -> (Folder, PathBuf) {
    let folder = Folder::with(&[]);
    folder.run(&format!("new shop-hooks --{kind} --dir here")).exits(0);
    let path = folder.path().join("here/shop-hooks");
    (folder, path)
}

#[test]
fn every_kind_has_all_files_under_its_own_name() {
    for kind in KINDS {
        let (_folder, path) = written(kind);
        for file in FILES {
            let text = read(path.join(file));
            for placeholder in [
                "my-webhook",
                "my_webhook",
                "my-mutator",
                "my-validator",
                "my-converter",
                "my-operator",
                "DESCRIPTION",
            ] {
                let spellings = [placeholder.to_owned(), placeholder.replace('-', "_")];
                assert!(
                    !spellings.iter().any(|name| text.contains(name)),
                    "{kind}: {file} has {placeholder}"
                );
            }
        }
        assert!(read(path.join("src/lib.rs")).contains("App::new(\"shop-hooks\")"), "{kind}");
        assert!(read(path.join("src/main.rs")).contains("run(shop_hooks::app())"), "{kind}");
        assert!(read(path.join("README.md")).contains("\n\nA"), "{kind}");
        // The folder in which the README's command makes a CA, with its key.
        assert!(read(path.join("README.md")).contains("--identity local:identity"), "{kind}");
        for file in [".gitignore", ".dockerignore"] {
            assert!(read(path.join(file)).lines().any(|line| line == "/identity"), "{kind}: {file}");
        }
    }
    let folder = Folder::with(&[]);
    folder.run("new shop-hooks").exits(0).tells("shop-hooks/Cargo.toml\n");
    assert_eq!(
        read(folder.path().join("shop-hooks/src/lib.rs")),
        read(written("mutating").1.join("src/lib.rs"))
    );
}

/// The test suite compiles the templates with the dependencies of `tests/new-KIND`.
#[test]
fn the_manifest_has_the_dependencies_of_the_package_that_is_tested() {
    let workspace = read("Cargo.toml");
    for kind in KINDS {
        let (_folder, path) = written(kind);
        let text = read(path.join("Cargo.toml"));
        let (wanted, tested) =
            (dependencies(&text), dependencies(&read(format!("tests/new-{kind}/Cargo.toml"))));
        let features = |dependencies: &BTreeMap<_, (String, String)>| -> BTreeMap<String, String> {
            dependencies
                .iter()
                .map(|(name, (_, features)): (&String, _)| (name.clone(), features.clone()))
                .collect()
        };
        assert_eq!(features(&wanted), features(&tested), "{kind}");
        for (name, (version, _)) in &wanted {
            let name = name.split_once(' ').unwrap().1;
            let line = workspace.lines().find(|line| line.starts_with(&format!("{name} = "))).unwrap();
            let ours = version_of(line);
            assert!(
                ours == *version || ours.starts_with(&format!("{version}.")),
                "{kind}: {name} {version}, not {ours}"
            );
            let is_own = name.starts_with("vestibule");
            assert!(!is_own || version == env!("CARGO_PKG_VERSION"), "{kind}: {name} {version}");
        }
    }
}

/// Sections and names, with version and features.
fn dependencies(manifest: &str) -> BTreeMap<String, (String, String)> {
    let (mut section, mut found) = ("", BTreeMap::new());
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if let Some((name, value)) =
            line.split_once(" = ").filter(|_| section.ends_with("dependencies]"))
        {
            let features = value
                .split_once("features = [")
                .map_or("", |(_, rest)| rest.trim_end_matches(['}', ' ', ']']));
            let name = name.trim_end_matches(".workspace");
            // The workspace asks for it.
            let features = if name == "serde" { "" } else { features };
            found.insert(format!("{section} {name}"), (version_of(line), features.to_owned()));
        }
    }
    found
}

/// The first version in a line of a manifest.
fn version_of(line: &str) -> String {
    let quoted = line.split('"').skip(1).step_by(2);
    quoted
        .filter(|text| text.starts_with(|letter: char| letter.is_ascii_digit()))
        .map(str::to_owned)
        .next()
        .unwrap_or_default()
}

/// Cargo leaves a folder with a `Cargo.toml` out of a package, and with it the sources of the template.
#[test]
fn templates_are_in_the_published_package() {
    for kind in KINDS {
        let folder = Path::new(ROOT).join("crates/cli/src/new/webhook").join(kind);
        assert!(folder.join("lib.rs").is_file() && !folder.join("Cargo.toml").exists(), "{kind}");
    }
}

#[test]
fn the_dockerfile_is_that_of_the_page_about_images() {
    let (_folder, path) = written("mutating");
    let dockerfile = read(path.join("Dockerfile"));
    assert!(dockerfile.ends_with("ENTRYPOINT [\"/usr/bin/shop-hooks\"]\n"), "{dockerfile}");
    let dockerfile = dockerfile.replace("shop-hooks", "my-webhook");
    let (_comment, instructions) = dockerfile.split_once('\n').unwrap();
    let page = read("docs/how-to/make-an-image.md");
    assert!(page.contains(&format!("```dockerfile\n{instructions}```")), "{instructions}");
}

#[test]
fn a_checkout_replaces_published_crates() {
    let folder = Folder::with(&[]);
    folder.run(&format!("new shop-hooks --checkout {ROOT}")).exits(0);
    let manifest = read(folder.path().join("shop-hooks/Cargo.toml"));
    let (_, patches) = manifest.split_once("\n[patch.crates-io]\n").unwrap();
    assert_eq!(patches.lines().count(), 3, "{patches}");
    assert!(patches.contains("vestibule-test = { path = \"/"), "{patches}");
    folder.run("new other --checkout .").fails(2, "is no checkout of Vestibule: it has no crates/vestibule");
}

#[test]
fn names_that_cargo_refuses_and_existing_files_are_refused() {
    let folder = Folder::with(&[]);
    for (name, why) in [
        ("Shop", "lower-case letters"),
        ("../up", "lower-case letters"),
        ("9lives", "a letter first"),
        ("shop-", "no hyphen last"),
        ("fn", "Rust or a dependency has this name"),
        ("tokio", "Rust or a dependency has this name"),
        ("serde-json", "Rust or a dependency has this name"),
        ("test", "Rust or a dependency has this name"),
        (&"a".repeat(41), "more than 40 characters"),
    ] {
        folder.run(&format!("new {name}")).fails(2, why).tells("cannot be the name of a webhook");
    }
    folder.run("new shop --validating").exits(0);
    folder.run("new shop --operator").fails(2, "shop/Cargo.toml: the file exists already");
    let readme = folder.path().join("cart/README.md");
    fs::create_dir_all(readme.parent().unwrap()).unwrap();
    fs::write(&readme, "# Cart").unwrap();
    folder.run("new cart").fails(2, "cart/README.md: the file exists already");
    assert!(!folder.path().join("cart/Cargo.toml").exists(), "nothing is written without the rest");
    folder.run("new shop --validating --mutating").fails(2, "cannot be used with");
    folder.run("new").fails(2, "NAME");
}

#[test]
fn a_new_rule_passes_lint_and_its_test_cases() {
    let folder = Folder::with(&[]);
    folder.run("new rule banner --dir rules").exits(0);
    let strict = folder.run("lint --strict rules");
    assert_eq!((strict.code(), strict.out.trim()), (0, "nothing found"), "{}", strict.err);
    folder.run("test rules/tests").exits(0);
    assert!(!fs::read_to_string(folder.path().join("rules/banner.yaml")).unwrap().contains("greeting"));
    folder.run("new rule banner --dir rules").fails(2, "rules/banner.yaml: the file exists already");
    fs::remove_file(folder.path().join("rules/banner.yaml")).unwrap();
    folder.run("new rule banner --dir rules").fails(2, "rules/tests/banner.yaml: the file exists already");
    assert!(!folder.path().join("rules/banner.yaml").exists());
    folder.run("new rule ../up").fails(2, "cannot be the name of a rule");

    for name in ["123", "null", "true", "my-greeting"] {
        folder.run(&format!("new rule {name} --dir odd")).exits(0);
        let written = fs::read_to_string(folder.path().join(format!("odd/{name}.yaml"))).unwrap();
        let shown = if name == "my-greeting" { name.to_owned() } else { format!("\"{name}\"") };
        assert!(written.contains(&format!("metadata:\n  name: {shown}\n")), "{written}");
    }
    folder.run("lint --strict odd").exits(0);
    folder.run("test odd/tests").exits(0);
}
