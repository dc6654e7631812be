//! Rules from files and folders.

use std::path::Path;

use tempfile::TempDir;
use vestibule_injector::{LoadError, load};

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn rule(name: &str) -> String {
    format!(
        "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: {name}}}\nspec: {{optIn: pod, volumes: [{{name: v}}]}}\n"
    )
}

fn load_error(path: &Path) -> LoadError {
    load(path).err().expect("no rules")
}

#[test]
fn the_yaml_and_json_files_of_a_folder_are_read_in_the_order_of_names() {
    let json = r#"{"apiVersion":"vestibule.dev/v1alpha1","kind":"Injection","metadata":{"name":"d"},"spec":{"optIn":"pod","volumes":[{"name":"v"}]}}"#;
    let two = format!("{}---\n{}", rule("b"), rule("a"));
    let folder =
        folder(&[("2.yml", &rule("c")), ("1.yaml", &two), ("3.json", json), ("README.md", "# no rule")]);
    std::fs::create_dir(folder.path().join("4.yaml")).unwrap();
    let rules = load(folder.path()).unwrap();
    let names: Vec<_> = rules.rules().iter().map(vestibule_rules::Rule::name).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert!(rules.rules()[0].source().ends_with("1.yaml"));
}

#[test]
fn the_samples_can_be_used_together() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/repository/examples/rules");
    let rules = load(&samples).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = rules.rules().iter().map(vestibule_rules::Rule::name).collect();
    assert_eq!(
        names,
        [
            "agent",
            "env-target",
            "envoy",
            "log-forwarder",
            "nginx",
            "probes",
            "proxy",
            "secrets-agent",
            "timezone-and-ca",
            "image-pull-secrets"
        ]
    );
    assert!(rules.warnings().is_empty(), "{:?}", rules.warnings());
}

#[test]
fn a_file_may_have_any_name() {
    let folder = folder(&[("rules", &rule("a"))]);
    assert_eq!(load(&folder.path().join("rules")).unwrap().rules().len(), 1);
}

#[test]
fn the_error_lists_the_findings_of_all_files() {
    let folder = folder(&[
        ("1.yaml", &rule("a").replace("spec", "spek")),
        ("2.yaml", "kind: ["),
        ("3.yaml", &rule("a")),
    ]);
    let error = load_error(folder.path());
    let LoadError::Rules(findings) = &error else { panic!("{error}") };
    let places: Vec<_> =
        findings.iter().map(|finding| finding.source().rsplit('/').next().unwrap()).collect();
    assert!(places.contains(&"1.yaml") && places.contains(&"2.yaml"), "{error}");
    assert!(error.to_string().contains("1.yaml:4:1"), "{error}");
}

#[test]
fn files_and_folders_without_rules_are_an_error() {
    let empty = folder(&[("a.txt", "")]);
    assert!(matches!(load_error(empty.path()), LoadError::Empty(path) if path == empty.path()));
    let blank = folder(&[("a.yaml", "# later\n")]);
    assert!(matches!(load_error(&blank.path().join("a.yaml")), LoadError::Empty(_)));
    let error = load_error(&empty.path().join("absent.yaml"));
    assert!(matches!(error, LoadError::File { .. }) && error.to_string().contains("absent.yaml"), "{error}");
}
