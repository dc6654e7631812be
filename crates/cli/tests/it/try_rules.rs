//! `vestibule try`: the report.

use std::process::Command;

use crate::fixture::{Folder, POD, REQUIRED, TARGET, finish, target_in_namespaces};

#[test]
fn without_arguments_it_explains_a_sample() {
    let done = Folder::with(&[]).run("try");
    let out = done.out;
    assert_eq!(done.status.code(), Some(0), "{}", done.err);
    for line in [
        "Pod shop/helloworld-go",
        "+    - name: TARGET",
        "+      value: Sample Injector v1",
        "+    image: envoyproxy/envoy:v1.20.3",
        "     fieldOfTheFuture:",
        "second pass: no change",
    ] {
        assert!(out.lines().any(|shown| shown.starts_with(line)), "{line} in\n{out}");
    }
    let why = out.lines().find(|line| line.contains("spec.containers[user-container].env[TARGET]")).unwrap();
    assert!(why.contains("rule env-target, containerPatches[0].env[0]"), "{why}");
    // The line is that of the shipped file.
    let place = why.rsplit_once("examples/rules/env-target.yaml:").unwrap().1;
    let rule = include_str!("../../../../examples/rules/env-target.yaml");
    let line = rule.lines().nth(place.parse::<usize>().unwrap() - 1).unwrap();
    assert!(line.contains("TARGET"), "{line}");
    assert!(out.contains("nginx, not_opted_in: "), "{out}");
    assert!(!out.contains('\x1b'), "colour without a terminal");
    let told: Vec<&str> = done.err.lines().collect();
    assert!(told[0].contains("injection=enabled,sidecar-injector=enabled"), "{told:?}");
    assert!(told[1].starts_with("next: "), "{told:?}");
}

/// Each hook evaluates all rules.
#[test]
fn a_rule_is_listed_once_for_several_entries() {
    let required = |name: &str, label: &str| {
        format!(
            "---\napiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: {name}}}\n\
             spec: {{required: true, match: {{namespaceSelector: {{matchLabels: {{team: {label}}}}}}}, pod: {{labels: {{{name}: x}}}}}}\n"
        )
    };
    let rules = format!("{TARGET}{}{}", required("blue", "blue"), required("red", "red"));
    let folder = Folder::with(&[("rules.yaml", &rules), ("pod.yaml", POD)]);
    let out = folder.run("try pod.yaml --rules rules.yaml --namespace-labels team=blue").stdout();
    assert_eq!(out.matches("red, namespace_not_matched").count(), 1, "{out}");
    assert!(out.contains("rule blue, pod.labels") && !out.contains("unchanged"), "{out}");

    // The hook of best-effort rules gets the object after the required one, where the condition of an applied rule is false.
    let once = TARGET.replace("name: target", "name: once").replace(
        "spec:\n",
        "spec:\n  matchConditions: [{name: none, expression: '!has(object.spec.containers[0].env)'}]\n",
    );
    let folder = Folder::with(&[("rules.yaml", &(once + &required("blue", "blue"))), ("pod.yaml", POD)]);
    let out = folder.run("try pod.yaml --rules rules.yaml --namespace-labels team=blue").stdout();
    assert!(out.contains("rule once, ") && !out.contains("once, match_condition_false"), "{out}");

    // Rules for other kinds are evaluated on the Deployment and on its pod.
    let of = |name: &str, target: &str| {
        TARGET
            .replace("name: target", &format!("name: {name}"))
            .replace("spec:\n", &format!("spec:\n  targets: [{target}]\n"))
    };
    let rules =
        [of("d", "deployments"), TARGET.to_owned(), of("s1", "statefulsets"), of("s2", "statefulsets")];
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {app: web}}\nspec: {template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app}]}}}\n";
    let folder = Folder::with(&[("rules.yaml", &rules.join("---\n")), ("web.yaml", deployment)]);
    let out = folder.run("try web.yaml --rules rules.yaml").stdout();
    for name in ["  s1, ", "  s2, "] {
        assert_eq!(out.matches(name).count(), 1, "{out}");
    }
}

#[test]
fn the_printed_next_command_works() {
    let folder = Folder::with(&[("pod.yaml", POD), ("it's a rule.yaml", TARGET)]);
    let mut named = folder.command("try pod.yaml --rules");
    named.args(["it's a rule.yaml", "--namespace-labels", ""]);
    for mut command in [folder.command("try"), folder.command("try pod.yaml"), named] {
        let done = finish(&mut command, "");
        let next = done.err.lines().find_map(|line| line.strip_prefix("next: ")).unwrap();
        // `serve` would not end, so only its flags are checked.
        let next = if next.contains(" serve ") { format!("{next} --help") } else { next.to_owned() };
        let typed = Command::new("sh").args(["-c", &next]).current_dir(folder.path()).output().unwrap();
        assert!(typed.status.success(), "{next}");
    }
}

#[test]
fn a_closed_stdout_is_no_error() {
    let folder = Folder::with(&[("pod.yaml", POD), ("rules.yaml", TARGET), ("bad.yaml", "a: [")]);
    for arguments in ["try", "try bad.yaml", "try pod.yaml --rules rules.yaml -o json"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = folder.command(arguments);
        let status = command.stdout(writer.try_clone().unwrap()).stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(if arguments.contains("bad") { 2 } else { 0 }), "{arguments}");
    }
}

#[test]
fn colour_is_used_only_where_it_is_wanted() {
    let folder = Folder::with(&[]);
    let coloured = |variables: &[(&str, &str)], arguments: &str| {
        let mut command = folder.command(arguments);
        finish(command.envs(variables.iter().copied()), "").stdout().contains("\x1b[32m+")
    };
    assert!(!coloured(&[], "try"));
    assert!(coloured(&[], "try --color always"));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")], "try"));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], "try"));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1")], "try --color never"));
    assert!(coloured(&[("NO_COLOR", "1")], "try --color always"));
}

#[test]
fn a_bad_rule_is_shown_where_it_stands() {
    let rules = "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: x}\nspec:\n  optIn: pod\n  sidcars: []\n";
    let done =
        Folder::with(&[("rules.yaml", rules), ("pod.yaml", POD)]).run("try pod.yaml --rules rules.yaml");
    done.fails(2, "--> rules.yaml:6:3").tells("did you mean `sidecars`?");
    assert_eq!(done.out, "");
}

#[test]
fn a_bad_object_is_shown_where_it_stands() {
    for (text, place) in [
        ("kind: Pod\nkind: Job\n", "pod.yaml:2:1"),
        ("a: [", "pod.yaml:1:4"),
        ("a: 1\n", "pod.yaml:1:1"),
        ("apiVersion: v1\nkind: Pod\nmetadata: web\n", "pod.yaml:3:11"),
    ] {
        Folder::with(&[("pod.yaml", text)]).run("try pod.yaml").fails(2, place);
    }
}

#[test]
fn a_missing_file_is_named() {
    let folder = Folder::with(&[("pod.yaml", POD)]);
    for arguments in ["try absent.yaml", "try pod.yaml --rules absent.yaml"] {
        folder.run(arguments).fails(2, "cannot read absent.yaml");
    }
}

#[test]
fn rules_that_read_namespace_labels_need_the_flag() {
    let rules = target_in_namespaces("team: blue");
    let folder = Folder::with(&[("rules.yaml", &rules), ("pod.yaml", POD)]);
    folder.run("try pod.yaml --rules rules.yaml").fails(2, "--namespace-labels k=v").tells("--kubeconfig");
    folder
        .run("try pod.yaml --rules rules.yaml --namespace-labels team=blue")
        .exits(0)
        .shows("+ spec.containers[app].env[TARGET]");
    folder
        .run("try pod.yaml --rules rules.yaml --namespace-labels team=red")
        .exits(0)
        .shows("target, namespace_not_matched: ");
}

#[test]
fn a_denial_is_printed_and_exits_with_1() {
    let pod = POD.replace("spec:\n", "spec:\n  volumes: [{name: data, hostPath: {path: /data}}]\n");
    let folder = Folder::with(&[("rules.yaml", REQUIRED), ("pod.yaml", &pod)]);
    for output in ["diff", "patch", "yaml", "json"] {
        let done = folder.run(&format!("try pod.yaml --rules rules.yaml -o {output}"));
        done.exits(1);
        let words = r#"Error from server (Forbidden): admission webhook "required.injector.vestibule.dev" denied the request: "#;
        assert!(done.err.starts_with(words), "{}", done.err);
        done.tells("(rules.yaml:8)");
        assert!(output == "diff" || done.out.is_empty(), "{}", done.out);
    }
}

#[test]
fn of_several_objects_the_refused_one_is_named() {
    let pod = POD.replace("spec:\n", "spec:\n  volumes: [{name: data, hostPath: {path: /data}}]\n");
    let folder = Folder::with(&[("rules.yaml", REQUIRED), ("pods.yaml", &format!("{POD}---\n{pod}"))]);
    let done = folder.run("try pods.yaml --rules rules.yaml");
    done.exits(1);
    assert!(
        done.err.starts_with("Pod default/web (pods.yaml:8): Error from server (Forbidden): "),
        "{}",
        done.err
    );
}

#[test]
fn skipped_rules_are_shown_with_the_reason() {
    let pod = POD.replace("{name: web,", "{name: web, namespace: kube-system,");
    let folder = Folder::with(&[("rules.yaml", TARGET), ("pod.yaml", &pod)]);
    let out = folder.run("try pod.yaml --rules rules.yaml").stdout();
    assert!(out.contains("\nwhy not\n  target, excluded_system_namespace: "), "{out}");
    assert!(out.ends_with("\nno change\n"), "{out}");
}

#[test]
fn contradictory_input_is_bad_input() {
    let folder = Folder::with(&[]);
    folder.write("pod.yaml", b"\xff\xfea\0");
    let done = folder.run("try pod.yaml");
    assert_eq!((done.code(), &*done.err), (2, "error: pod.yaml is no UTF-8 text: save it as UTF-8\n"));
    assert_eq!(folder.run("try --namespace=").code(), 2);
}

#[test]
fn injected_parts_that_exist_are_kept() {
    let folder = Folder::with(&[("rules.yaml", TARGET), ("pod.yaml", POD)]);
    let changed = folder.run("try pod.yaml --rules rules.yaml -o yaml").stdout();
    let again = folder.run_with_stdin("try - --rules rules.yaml", &changed);
    assert!(!again.out.contains("@@"), "{}", again.out);
    again.shows("target, unchanged: ");
    assert_eq!(folder.run_with_stdin("try - --rules rules.yaml -o yaml", &changed).stdout(), changed);
}

#[test]
fn both_hooks_are_called_and_required_rules_come_first() {
    let rules = format!("{TARGET}---\n{REQUIRED}");
    let folder = Folder::with(&[("rules.yaml", &rules), ("pod.yaml", POD)]);
    let out = folder.run("try pod.yaml --rules rules.yaml").stdout();
    let (volume, variable) =
        (out.find("+ spec.volumes[data]").unwrap(), out.find("+ spec.containers[app].env[").unwrap());
    assert!(volume < variable, "{out}");
    assert!(out.contains("second pass: no change"));
}
