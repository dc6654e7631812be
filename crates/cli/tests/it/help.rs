//! The help, completions, manual pages and schema of rules that the binary prints.

use crate::fixture::Folder;

#[test]
fn help_shows_examples() {
    for command in
        ["try", "inject", "explain", "lint", "test", "serve", "manifests", "completions", "man", "version"]
    {
        Folder::with(&[])
            .run(&format!("{command} --help"))
            .exits(0)
            .shows(format!("vestibule {command} "))
            .shows("Example");
    }
}

#[test]
fn schema_prints_a_json_schema() {
    let schema = Folder::with(&[]).run("schema").exits(0).json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let folder = Folder::with(&[]);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        folder.run(&format!("completions {shell}")).exits(0).shows("inject").shows("namespace-labels");
    }
    assert_eq!(folder.run("man --dir man").stdout(), "");
    let page = std::fs::read_to_string(folder.path().join("man/vestibule-inject.1")).unwrap();
    assert!(page.contains("\\-\\-require"), "{page}");
    for command in ["try", "inject", "explain", "lint", "test", "serve", "manifests", "certs", "completions"]
    {
        assert!(folder.path().join(format!("man/vestibule-{command}.1")).exists(), "{command}");
    }
}
