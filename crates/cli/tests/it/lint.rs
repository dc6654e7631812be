//! `vestibule lint`: errors and hints about rules.

use crate::fixture::{Folder, TARGET};

#[test]
fn lint_prints_text_json_and_sarif() {
    let bad = TARGET.replace("env:", "enf:");
    let folder = Folder::with(&[("good.yaml", TARGET), ("bad.yaml", &bad)]);
    let done = folder.run("lint bad.yaml");
    done.exits(1);
    assert!(
        done.out.starts_with("error[VST0110]: ") && done.out.contains("--> bad.yaml:9:5"),
        "{}",
        done.out
    );
    done.shows("did you mean `env`?");
    assert!(done.out.ends_with("1 error\n"), "{}", done.out);
    assert_eq!(folder.run("lint good.yaml").code(), 0);
    assert_eq!(folder.run("lint absent.yaml").code(), 2);

    let found = folder.run("lint bad.yaml -o json").json();
    assert_eq!(found[0]["code"], "VST0110");
    let yaml = folder.run("lint bad.yaml good.yaml -o yaml").out;
    assert!(yaml.starts_with("- code: VST0110\n"), "{yaml}");
    let sarif = folder.run("lint bad.yaml good.yaml -o sarif").json();
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "VST0110");
}

/// The error was reported only by `kubectl apply`.
#[test]
fn all_files_that_lint_is_given_are_for_one_injector() {
    let folder = Folder::with(&[("one.yaml", TARGET), ("two.yaml", TARGET)]);
    assert_eq!(folder.run("lint one.yaml").code(), 0);
    folder.run("lint one.yaml two.yaml").exits(1).shows("error[VST0116]").shows("--> two.yaml:4:");
    assert_eq!(folder.run("lint one.yaml ./one.yaml").code(), 0);
    assert_eq!(folder.run_with_stdin("lint /dev/stdin", TARGET).code(), 0);
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    assert_eq!(folder.run("lint one.yaml empty").code(), 2);
}

/// `lint` reports every error that `kubectl apply` reports for the same rules.
#[test]
fn lint_finds_the_rules_that_a_cluster_refuses() {
    const EVERYWHERE: &str = "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: r}\n\
        spec: {required: true, match: {objectSelector: {matchLabels: {a: b}}}, pod: {labels: {c: d}}}\n";
    const HOME: &str = "---\napiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {name: s}\n\
        spec: {requiredEverywhere: allow, ownNamespace: inject}\n";
    let folder =
        Folder::with(&[("everywhere.yaml", EVERYWHERE), ("home.yaml", &format!("{EVERYWHERE}{HOME}"))]);
    for (arguments, found) in
        [("everywhere.yaml", vec!["VST0190"]), ("home.yaml", vec![]), ("home.yaml -n hooks", vec!["VST0191"])]
    {
        let done = folder.run(&format!("lint {arguments} -o json"));
        assert_eq!(done.code() == 0, found.is_empty(), "{arguments}");
        assert!(done.out.ends_with("]\n"), "{}", done.out);
        let told = done.json();
        let codes: Vec<_> =
            told.as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
        assert_eq!(codes, found, "{arguments}");
    }
    assert!(folder.run("lint home.yaml -o sarif").out.ends_with("}\n"));
    let refused = folder.run("manifests --rules home.yaml -n hooks --image i");
    assert!(refused.code() == 2 && refused.err.contains("VST0191"), "{}", refused.err);
}

/// Comments and the spelling of everything else stay.
#[test]
fn lint_rewrites_former_names() {
    let today = format!("# ours\n{TARGET}");
    let former = today
        .replace("objectSelector: {matchLabels", "objects: {labels")
        .replace("containerPatches:", "containers: # theirs");
    assert_ne!(former, today);
    let folder = Folder::with(&[("rules.yaml", &former)]);
    folder.run("lint rules.yaml").exits(1).shows("VST0124").shows("`vestibule lint --fix` rewrites the file");
    let done = folder.run("lint --fix .");
    assert!(done.exits(0).err.contains("fixed ./rules.yaml"), "{}", done.err);
    let fixed = std::fs::read_to_string(folder.path().join("rules.yaml")).unwrap();
    assert_eq!(fixed.replace("containerPatches: # theirs", "containerPatches:"), today);
    assert_eq!(folder.run("lint --fix .").err, "");
    folder.run_with_stdin("lint --fix -", &former).exits(2);
    std::fs::write(folder.path().join("wide.yaml"), b"\xff\xfea\0").unwrap();
    folder.run("lint --fix wide.yaml").fails(2, "wide.yaml is no UTF-8 text: save it as UTF-8");
}

/// As on a full disk, the text of today does not fit where the former one did.
#[cfg(unix)]
#[test]
fn rules_that_cannot_be_rewritten_stay() {
    let former = TARGET.replace("objectSelector: {matchLabels", "objects: {labels");
    let former = format!("{former}#{}\n", "-".repeat(1024 - former.len() - 2));
    let folder = Folder::with(&[("rules.yaml", &former)]);
    let lint = folder.command("lint --fix rules.yaml");
    let limited = "trap '' XFSZ; ulimit -f 2; exec \"$@\"";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", limited, "sh"]).arg(lint.get_program()).args(lint.get_args());
    let done = shell.current_dir(folder.path()).output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{told}");
    assert!(told.contains("cannot write rules.yaml: "), "{told}");
    assert_eq!(std::fs::read_to_string(folder.path().join("rules.yaml")).unwrap(), former);
}
