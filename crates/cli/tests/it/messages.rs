//! Messages about mistakes.

use crate::fixture::{Folder, POD, TARGET, finish};

/// A rule that pods opt in to by an annotation.
const ASKED: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: asked}
spec:
  optIn: pod
  pod: {labels: {team: blue}}
";

/// The output was "the object does not ask for the rule".
#[test]
fn an_unquoted_annotation_is_to_be_quoted() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations:\n    inject.vestibule.dev/asked: true\n";
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    metadata:\n      labels: {app: 1}\n";
    let folder = Folder::with(&[("rules.yaml", ASKED), ("pod.yaml", pod), ("deployment.yaml", deployment)]);
    for command in ["try pod.yaml", "inject -f pod.yaml", "explain -f pod.yaml"] {
        let done = folder.run(&format!("{command} --rules rules.yaml"));
        done.exits(2).prints("");
        for said in [
            "VST0180",
            "--> pod.yaml:6:33",
            "values of annotations are strings",
            r#"quote it: `inject.vestibule.dev/asked: "true"`"#,
        ] {
            done.tells(said);
        }
    }
    folder
        .run("inject -f deployment.yaml --rules rules.yaml")
        .tells("values of labels are strings")
        .tells(r#"`app: "1"`"#);
    // The place of the template in another kind is not known.
    let custom = deployment.replace("apps/v1", "example.com/v1");
    assert_eq!(folder.run_with_stdin("inject -f - --rules rules.yaml", &custom).code(), 0);
    for value in ["'true'", "\"1\"", "null", ""] {
        let fine = pod.replace("asked: true", &format!("asked: {value}"));
        assert_eq!(folder.run_with_stdin("inject -f - --rules rules.yaml", &fine).code(), 0, "{value}");
    }
}

#[test]
fn a_folder_of_folders_leads_to_one_of_them() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    folder.write("all/shop/pod.yaml", POD);
    for command in [
        "try all --rules rules.yaml",
        "inject -f all --rules rules.yaml",
        "explain -f all --rules rules.yaml",
        "lint all",
        "try --rules all",
    ] {
        folder.run(command).fails(2, "name them, as in all/shop");
    }
}

#[test]
fn a_program_is_no_rule() {
    let folder = Folder::with(&[]);
    folder.write("program", b"\x7fELF\x02\x01\0\0\xff\xfe\xfa");
    for command in ["lint program", "try --rules program"] {
        let done = folder.run(command);
        done.exits(2);
        assert!(
            done.err.starts_with(
                "error: cannot read program: it is no UTF-8 text. Rules are files of YAML or JSON"
            ),
            "{}",
            done.err
        );
    }
}

/// The message was "status code 413 but did not return more".
#[test]
fn an_object_that_no_api_server_takes_is_named_with_its_size() {
    let pod = |bytes: usize| {
        POD.replace(
            "labels: {app: web}",
            &format!("labels: {{app: web}}, annotations: {{a: {}}}", "x".repeat(bytes)),
        )
    };
    let folder =
        Folder::with(&[("rules.yaml", TARGET), ("pod.yaml", &pod(4 << 20)), ("fine.yaml", &pod(1 << 20))]);
    let done = folder.run("try pod.yaml --rules rules.yaml");
    done.exits(2);
    assert!(done.err.starts_with("error: Pod default/web (pod.yaml:1) has 4194"), "{}", done.err);
    done.tells("413 to more than 3145728 (request entity too large)");
    assert_eq!(folder.run("try fine.yaml --rules rules.yaml -o patch").code(), 0);
}

#[test]
fn values_that_no_object_has_are_refused() {
    let folder = Folder::with(&[("rules.yaml", TARGET), ("pod.yaml", POD)]);
    let with_labels = ["try pod.yaml", "inject -f pod.yaml", "explain -f pod.yaml", "serve"];
    let with_labels = with_labels.map(|command| format!("{command} --rules rules.yaml --namespace-labels"));
    let with_namespace = [
        "try pod.yaml --rules rules.yaml",
        "inject -f pod.yaml --rules rules.yaml",
        "explain -f pod.yaml --rules rules.yaml",
        "explain pod/web",
        "lint rules.yaml",
        "serve --rules rules.yaml",
        "manifests --rules rules.yaml",
        "certs show --service hook",
        "loglevel",
    ];
    let with_namespace = with_namespace.map(|command| format!("{command} -n"));
    let with_image = ["manifests --rules rules.yaml --namespace webhooks --image".to_owned()];
    for (commands, value, words) in [
        (&with_labels[..], "a b=c!", "no label has it; wanted: "),
        (&with_labels, "a=c!", "no label has it; wanted: "),
        (&with_namespace, "Bad NS", "no namespace can have this name: "),
        (&with_image, "IMAGE NAME", "this is no image: write REGISTRY/NAME:TAG"),
    ] {
        for command in commands {
            finish(folder.command(command).arg(value), "").fails(2, words).prints("");
        }
    }
}

/// The message recommended `off`, which `serve` refuses as well.
#[test]
fn an_identity_that_is_none_leads_to_one_that_can_be_served() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    for command in ["serve", "manifests"] {
        let done = folder.run(&format!("{command} --rules rules.yaml --identity seld"));
        done.fails(2, "use `self`, `mounted:DIR` or `local:DIR`");
        assert!(!done.err.contains("`off`"), "{}", done.err);
    }
}

/// If no rule matches, the next command is `explain` and not `serve`.
#[test]
fn where_no_rule_acts_the_next_command_says_why() {
    let other = POD.replace("app: web", "app: other");
    let folder = Folder::with(&[("rules.yaml", TARGET), ("pod.yaml", POD), ("it's other.yaml", &other)]);
    let next = |file: &str, more: &str| {
        let mut typed = folder.command("try");
        let done = finish(
            typed
                .stdin(std::process::Stdio::piped())
                .arg(file)
                .args(["--rules", "rules.yaml"])
                .args(more.split_whitespace()),
            &other,
        );
        done.exits(0);
        done.err.lines().find_map(|line| line.strip_prefix("next: ")).unwrap().to_owned()
    };
    assert!(next("pod.yaml", "").contains(" serve --rules rules.yaml "));
    let why = next("it's other.yaml", "-n shop --namespace-labels a=b");
    assert!(why.contains(" explain -f "), "{why}");
    let typed =
        std::process::Command::new("sh").args(["-c", &why]).current_dir(folder.path()).output().unwrap();
    let told = String::from_utf8(typed.stdout).unwrap();
    assert!(
        typed.status.success()
            && told.contains("Pod shop/web")
            && told.contains("left out: labels_not_matched"),
        "{why}\n{told}"
    );
    assert!(next("-", "").contains(" explain --help "), "what was piped in cannot be read again");
}
