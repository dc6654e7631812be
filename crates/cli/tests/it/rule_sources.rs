//! Rules and objects from stdin, several paths and manifests of ConfigMaps.

use crate::fixture::{Folder, POD, REQUIRED, TARGET, finish};

/// The manifest of a ConfigMap with these keys.
fn manifest(name: &str, keys: &[(&str, &str)]) -> String {
    let mut text = format!(
        "# Rules of the shop.\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  labels:\n    vestibule.dev/config: \"true\"\ndata:\n"
    );
    for (key, rules) in keys {
        text += &format!("  {key}: |\n");
        text.extend(
            rules.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") }),
        );
    }
    text
}

#[test]
fn lint_reads_the_rules_of_config_map_manifests_at_their_lines() {
    let broken = TARGET.replace("containerPatches:", "contanerPatches:");
    let two = format!("{REQUIRED}---\n{broken}");
    let text = format!(
        "{}---\n{}",
        manifest("one", &[("data.yaml", REQUIRED)]),
        manifest(
            "two",
            &[
                ("a.yaml", &TARGET.replace("name: target", "name: other")),
                ("b.yaml", &two.replace("name: data", "name: more"))
            ]
        )
    );
    let folder = Folder::with(&[("rules.yaml", &text)]);
    let line = 1 + text.lines().position(|line| line.contains("contanerPatches")).unwrap();
    for done in [folder.run("lint rules.yaml -o json"), folder.run_with_stdin("lint - -o json", &text)] {
        done.exits(1);
        let findings = done.json();
        let unknown: Vec<_> =
            findings.as_array().unwrap().iter().filter(|finding| finding["code"] == "VST0110").collect();
        assert_eq!(unknown.len(), 1, "{findings}");
        assert_eq!(
            (unknown[0]["line"].as_u64(), unknown[0]["column"].as_u64()),
            (Some(line as u64), Some(7))
        );
        assert!(
            findings.as_array().unwrap().iter().all(|finding| finding["code"] != "VST0115"),
            "{findings}"
        );
    }
    let printed = folder.run("lint rules.yaml").out;
    assert!(
        printed.contains(&format!("--> rules.yaml:{line}:7\n {line} |       contanerPatches:\n")),
        "{printed}"
    );
}

#[test]
fn a_manifest_is_as_good_as_the_rules_in_it() {
    let folder = Folder::with(&[
        ("rules.yaml", TARGET),
        ("map.yaml", &manifest("rules", &[("target.yaml", TARGET)])),
        ("quoted.yaml", &format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: r}}\ndata: {{t.yaml: {}}}\n", serde_json::json!(TARGET))),
        ("map.json", &serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "r"}, "data": {"t.yaml": TARGET}}]}).to_string()),
        ("pod.yaml", POD),
    ]);
    let plain = folder.run("try pod.yaml --rules rules.yaml -o yaml").stdout();
    for (rules, place) in [
        ("map.yaml", "map.yaml:13"),
        ("quoted.yaml", "quoted.yaml, key t.yaml:4"),
        ("map.json", "map.json, key t.yaml:4"),
    ] {
        for command in ["try pod.yaml", "inject -f pod.yaml"] {
            let out = folder.run(&format!("{command} --rules {rules} -o yaml")).stdout();
            assert_eq!(out.contains("name: TARGET"), plain.contains("name: TARGET"), "{command} {rules}");
        }
        folder.run(&format!("explain -f pod.yaml --rules {rules}")).exits(0).shows(place);
        let lint = folder.run(&format!("lint {rules}"));
        assert!(!lint.out.contains("error"), "{}", lint.out);
    }
    // The manifests of the injector hold the rules and not the manifest that they came in.
    let printed = folder.run("manifests --rules map.yaml --namespace webhooks --image IMAGE").objects();
    let map = printed.iter().find(|object| object["metadata"]["name"] == "injector-rules").unwrap();
    assert_eq!(map["data"], serde_json::json!({"target.yaml": TARGET}));
}

/// A ConfigMap without rules is refused.
#[test]
fn other_config_maps_are_refused_as_before() {
    let folder = Folder::with(&[(
        "other.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {nginx.conf: 'a: ['}\n",
    )]);
    folder.run("lint other.yaml").shows("VST0115").shows("other.yaml:1:13");
}

#[test]
fn rules_may_come_from_several_places_and_from_stdin() {
    let second = TARGET.replace("name: target", "name: second").replace("TARGET", "SECOND");
    let folder = Folder::with(&[("a.yaml", TARGET), ("b.yaml", &second), ("pod.yaml", POD)]);
    for (stdin, rules) in [
        ("", "--rules a.yaml --rules b.yaml"),
        (&*second, "--rules a.yaml --rules -"),
        (TARGET, "--rules - --rules b.yaml"),
    ] {
        for command in ["try pod.yaml -o yaml", "inject -f pod.yaml", "explain -f pod.yaml"] {
            folder
                .run_with_stdin(&format!("{command} {rules}"), stdin)
                .exits(0)
                .shows("TARGET")
                .shows("SECOND");
        }
    }
    let both =
        folder.run("manifests --namespace webhooks --image IMAGE --rules a.yaml --rules b.yaml").stdout();
    assert!(both.contains("a.yaml: |") && both.contains("b.yaml: |"), "{both}");
    // A finding in stdin names stdin.
    folder.run_with_stdin("lint -", &TARGET.replace("spec:", "spek:")).shows("--> stdin:5:1");
    folder.run_with_stdin("lint a.yaml -", TARGET).shows("VST0116").shows("a.yaml:4");
    // Stdin can be read once, so a second reader is refused.
    for command in [
        "try - --rules -",
        "inject -f - --rules -",
        "explain -f - --rules -",
        "lint - -",
        "inject -f pod.yaml --rules - --rules -",
    ] {
        folder.run_with_stdin(command, POD).fails(2, "stdin can be read once");
    }
    for (command, said) in [
        ("serve --rules - --identity local:identity", "stdin is read once"),
        ("manifests --rules - --namespace webhooks", "the rules of manifests are files"),
    ] {
        folder.run_with_stdin(command, TARGET).fails(2, said);
    }
}

#[test]
fn two_files_of_one_name_are_no_config_map() {
    let folder = Folder::with(&[]);
    for (dir, name) in [("one", "first"), ("two", "second")] {
        folder.write(&format!("{dir}/r.yaml"), TARGET.replace("name: target", &format!("name: {name}")));
    }
    folder
        .run("manifests --namespace webhooks --image IMAGE --rules one --rules two")
        .fails(2, "two texts of rules are called r.yaml");
}

/// `cat pod.yaml | vestibule try` showed the sample.
#[test]
fn try_reads_what_is_piped_in() {
    let folder = Folder::with(&[("rules.yaml", TARGET), ("pod.yaml", POD)]);
    for rules in ["", "--rules rules.yaml"] {
        let piped = folder.run_with_stdin(&format!("try {rules}"), POD);
        assert!(piped.out.starts_with("Pod default/web  stdin:1"), "{rules}: {}", piped.out);
        piped.exits(0);
    }
    folder.run_with_stdin("try", "a: [").fails(2, "--> stdin:1");
    // A file on stdin is read like a pipe; an empty pipe and a device are not read.
    let file = std::fs::File::open(folder.path().join("pod.yaml")).unwrap();
    let from_file = finish(folder.command("try").stdin(file), "");
    assert!(from_file.out.starts_with("Pod default/web  stdin:1"), "{}", from_file.out);
    for stdin in [std::process::Stdio::null(), std::process::Stdio::piped()] {
        let sample = finish(folder.command("try").stdin(stdin), "");
        assert!(sample.out.starts_with("Pod shop/helloworld-go"), "{}", sample.out);
    }
    let rules = folder.run_with_stdin("try --rules -", TARGET);
    assert!(
        rules.out.starts_with("Pod shop/helloworld-go") && rules.out.contains("target, "),
        "{}",
        rules.out
    );
    let named = folder.run_with_stdin("try pod.yaml", "a: [");
    assert!(named.out.starts_with("Pod default/web  pod.yaml:1"), "{}", named.out);
}
