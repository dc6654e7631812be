//! `vestibule inject`: prints files with the parts that rules add.

mod volumes;

use serde_json::{Value, json};

use crate::fixture::{Folder, POD, REQUIRED, TARGET, cron_job, job, objects, target_in_namespaces};

const SHOP: &str = "\
# The shop: what is written here stays.
apiVersion: v1
kind: Service
metadata: {name: web}   # flow, and no part of the rule
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    metadata:
      labels:
        app: \"web\"      # who it is
    spec:
      containers:
        # The application itself.
        - name: app
          image: 'nginx:1.27'

          stdin: yes
      restartPolicy: Always
--- # of others
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: PodTemplate
  metadata:
    name: one
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: app
        env:
        - name: A   # ours
          value: b
";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_difference_is_what_was_added() {
    let folder = Folder::with(&[("rules.yaml", TARGET), ("shop.yaml", SHOP)]);
    let done = folder.run("inject -f shop.yaml --rules rules.yaml");
    assert_eq!((done.code(), &*done.err), (0, ""));
    let deployment = "          env:\n            - name: TARGET\n              value: hall\n";
    let listed = "        - name: TARGET\n          value: hall\n";
    let expected = SHOP
        .replace("        env:\n", &format!("        env:\n{listed}"))
        .replace("          stdin: yes\n", &format!("          stdin: yes\n{deployment}"));
    assert_eq!(done.out, expected);

    // A second run changes nothing, through stdin too.
    let again = folder.run_with_stdin("inject -f - --rules rules.yaml", &done.out);
    assert_eq!((again.out, &*again.err), (done.out, ""));
}

#[test]
fn yaml_json_and_patch_lead_to_the_same() {
    let folder = Folder::with(&[("rules.yaml", TARGET), ("shop.yaml", SHOP)]);
    let run = |output| folder.run(&format!("inject -f shop.yaml --rules rules.yaml -o {output}")).stdout();
    let [service, deployment, list] = &objects(&run("yaml"))[..] else { panic!("three documents") };
    let pod = &list["items"][0];
    assert_eq!(
        json(&run("json")),
        json!({"apiVersion": "v1", "kind": "List", "items": [service, deployment, pod]})
    );
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["stdin"], true);

    let patches: Vec<Value> = run("patch").lines().map(json).collect();
    assert_eq!(patches[0]["patch"], json!([]));
    let place = "/spec/template/spec/containers/0/env";
    assert_eq!(
        patches[1]["patch"],
        json!([{"op": "add", "path": place, "value": [{"name": "TARGET", "value": "hall"}]}])
    );
    assert_eq!(patches[2]["object"]["name"], "one");
    let one = folder.run_with_stdin("inject -f - --rules rules.yaml -o patch", POD).stdout();
    assert!(one.starts_with(r#"[{"op":"add""#), "{one}");
}

#[test]
fn a_list_keeps_its_metadata_in_json() {
    let item = "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: web}}, spec: {containers: [{name: app}]}}";
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    for (list, kind) in [("v1\nkind: List", "List"), ("v1\nkind: PodList", "PodList")] {
        for items in [item.to_owned(), format!("{item}, {}", item.replace("name: a,", "name: b,"))] {
            let text = format!(
                "apiVersion: {list}\nmetadata: {{resourceVersion: '7', continue: ''}}\nextra: 1E+3\nitems: [{items}]\n"
            );
            let out =
                folder.run_with_stdin("inject -f - --rules rules.yaml --require -o json", &text).stdout();
            let yaml = folder.run_with_stdin("inject -f - --rules rules.yaml -o yaml", &text).stdout();
            assert_eq!(json(&out), objects(&yaml)[0], "both say the same");
            assert_eq!(json(&out)["kind"], kind);
            assert_eq!(json(&out)["metadata"], json!({"resourceVersion": "7", "continue": ""}));
            assert!(out.contains("\"extra\": 1E+3"), "{out}");
            assert_eq!(out.matches("\"TARGET\"").count(), out.matches("\"app\": \"web\"").count());
        }
    }
}

/// Regression: numbers were written anew, and a raw U+007F, which JSON allows and YAML forbids, was refused.
#[test]
fn json_is_read_as_json_and_keeps_its_bytes() {
    let touched = r#"{
  "apiVersion": "v1",
  "kind": "Pod",
  "metadata": {
    "name": "web",
    "labels": {
      "app": "web"
    },
    "annotations": {
      "\u0061": "\u00e9\/\ud800 DEL"
    }
  },
  "spec": {
    "containers": [
      {
        "name": "app",
        "ratio": [1E+3, 1.50, -0, 1e400]
      }
    ]
  }
}
"#
    .replace("DEL", "\u{7f}")
    .replace(
        "[1E+3, 1.50, -0, 1e400]",
        "[\n          1E+3,\n          1.50,\n          -0,\n          1e400\n        ]",
    );
    let untouched = touched.replace(r#""app": "web""#, r#""app": "other""#);
    let folder =
        Folder::with(&[("rules.yaml", TARGET), ("touched.json", &touched), ("untouched.json", &untouched)]);
    for output in ["yaml", "json"] {
        let run = |file: &str| {
            let done = folder.run(&format!("inject -f {file} --rules rules.yaml -o {output}"));
            assert_eq!(done.err, "", "{output}");
            done.stdout()
        };
        assert_eq!(run("untouched.json"), untouched, "{output}");
        let out = run("touched.json");
        let mut added = out.lines();
        for line in touched.lines().map(|line| line.trim_end_matches(',')) {
            let kept = added.any(|added| added.trim_end_matches(',') == line);
            assert!(kept, "{output}: `{line}` is lost:\n{out}");
        }
        assert!(out.contains("\"name\": \"TARGET\""), "{out}");
    }
    let compact = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"w\u{7f}\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"app\"}],\"x\": 1E+3}}\n";
    let out = folder.run_with_stdin("inject -f - --rules rules.yaml", compact).stdout();
    assert!(
        out.starts_with("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"w\u{7f}\","),
        "{out}"
    );
    assert!(out.ends_with("\"x\":1E+3}}\n"), "{out}");
    let patch = folder.run_with_stdin("inject -f - --rules rules.yaml -o patch", compact).stdout();
    assert!(patch.starts_with("[{\"op\":"), "{patch}");
}

/// Names in values of the injector are escaped, also in JSON output.
#[test]
fn values_added_to_json_hold_no_control_characters() {
    let pod = POD.replace("name: app,", "name: \"a\\u009b2J\\u202e\",");
    let pod = vestibule_rules::yaml::read("pod", &pod).unwrap()[0]
        .to_json()
        .replace('\u{9b}', "\\u009b")
        .replace('\u{202e}', "\\u202e");
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    for output in ["yaml", "json", "patch"] {
        let out =
            folder.run_with_stdin(&format!("inject -f - --rules rules.yaml -o {output}"), &pod).stdout();
        assert!(out.contains("env:a") && !out.contains(['\u{9b}', '\u{202e}']), "{output}: {out:?}");
    }
}

/// Numbers keep their digits even if the document has to be rewritten.
#[test]
fn numbers_of_yaml_keep_their_digits() {
    let pod = POD.replace("ratio: 1.0,", "ratio: 1E+3, other: -2.50E-07,");
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    folder
        .run_with_stdin("inject -f - --rules rules.yaml", &pod)
        .exits(0)
        .shows("    ratio: 1E+3\n    other: -2.50E-07\n");
    folder
        .run_with_stdin("inject -f - --rules rules.yaml -o json", &pod)
        .exits(0)
        .shows("\"ratio\": 1E+3,\n      \"other\": -2.50E-07,\n");
}

#[test]
fn every_builtin_workload_is_changed_and_tried() {
    for (api_version, kind, template) in [
        ("v1", "PodTemplate", "/template"),
        ("v1", "ReplicationController", "/spec/template"),
        ("apps/v1", "Deployment", "/spec/template"),
        ("apps/v1", "StatefulSet", "/spec/template"),
        ("apps/v1", "DaemonSet", "/spec/template"),
        ("apps/v1", "ReplicaSet", "/spec/template"),
        ("batch/v1", "Job", "/spec/template"),
        ("batch/v1", "CronJob", "/spec/jobTemplate/spec/template"),
    ] {
        let mut text = format!("apiVersion: {api_version}\nkind: {kind}\n");
        let mut indent = String::new();
        for part in template.split('/').skip(1) {
            text += &format!("{indent}{part}:\n");
            indent += "  ";
        }
        for line in ["metadata:", "  labels:", "    app: web", "spec:", "  containers:", "  - name: app"] {
            text += &format!("{indent}{line}\n");
        }
        let folder = Folder::with(&[("rules.yaml", TARGET)]);
        let done = folder.run_with_stdin("inject -f - --rules rules.yaml --require", &text);
        let env = format!("{indent}    env:\n{indent}    - name: TARGET\n{indent}      value: hall\n");
        assert_eq!(done.stdout(), format!("{text}{env}"), "{kind}");
        let patch = folder.run_with_stdin("try - --rules rules.yaml -o patch", &text).json();
        let path = format!("{template}/spec/containers/0/env");
        let added = json!([{"op": "add", "path": path, "value": [{"name": "TARGET", "value": "hall"}]}]);
        assert_eq!(patch, added, "{kind}");
        let place = format!("+ {}.spec.containers[app].env[TARGET]", template[1..].replace('/', "."));
        folder.run_with_stdin("try - --rules rules.yaml", &text).shows(place).shows("second pass: no change");
    }
}

/// `try` and `explain` name the missing template instead of a kind for which there are rules.
#[test]
fn a_workload_without_a_template_is_named() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    for (kind, template) in [("Job", "spec.template"), ("CronJob", "spec.jobTemplate.spec.template")] {
        let text = format!("apiVersion: batch/v1\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{}}\n");
        let lack = format!("\nthe {kind} has no `{template}`, so it makes no pods for rules\n");
        let tried = folder.run_with_stdin("try - --rules rules.yaml", &text);
        assert!(tried.exits(0).out.contains(&lack), "{}", tried.out);
        assert!(!tried.out.contains("no rule is for objects of this kind"), "{}", tried.out);
        folder.run_with_stdin("explain -f - --rules rules.yaml", &text).shows(&lack);
    }
}

/// The pod of a workload has the owner that its controller would write.
#[test]
fn rules_that_ask_for_the_owner_know_it_before_there_is_a_pod() {
    for (version, kind, owner) in [
        ("apps/v1", "Deployment", "Deployment"),
        ("apps/v1", "ReplicaSet", "ReplicaSet"),
        ("apps/v1", "StatefulSet", "StatefulSet"),
        ("apps/v1", "DaemonSet", "DaemonSet"),
        ("batch/v1", "Job", "Job"),
    ] {
        let env = "{name: TARGET, value: {$cel: \"owner.kind + '/' + owner.name\"}}";
        let rules = TARGET.replace("{name: TARGET, value: hall}", env);
        let rules = rules.replace("match: {", &format!("match: {{ownerKinds: [{owner}], "));
        let object = format!(
            "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: web}}\nspec:\n  template:\n    metadata:\n      labels:\n        app: web\n    spec:\n      containers:\n      - name: app\n"
        );
        let folder = Folder::with(&[("rules.yaml", &rules), ("web.yaml", &object)]);
        let out = folder.run("inject -f web.yaml --rules rules.yaml --require").stdout();
        let env = format!("        env:\n        - name: TARGET\n          value: {owner}/web\n");
        assert_eq!(out, format!("{object}{env}"));
        let out = folder.run("try web.yaml --rules rules.yaml -o yaml").stdout();
        assert!(out.contains(&env) && !out.contains("pod-template-hash"), "{out}");
    }
}

#[test]
fn changes_by_a_generated_name_are_noted() {
    let (cron_job, job) = (cron_job(), job("name: backup"));
    let note = "note: the results of target depend on the name of the CronJob: the owner of its pods has no name yet\n";
    let when = |condition: &str| {
        TARGET.replace(
            "spec:\n",
            &format!("spec:\n  matchConditions: [{{name: c0, expression: \"{condition}\"}}]\n"),
        )
    };
    for (rules, object, told) in [
        (when("owner.name == 'backup'"), &cron_job, note),
        (when("owner.name == 'other'"), &cron_job, note),
        (TARGET.replace("value: hall", "value: {$cel: owner.name}"), &cron_job, note),
        (TARGET.replace("spec:\n", "spec:\n  rollout: {percent: 50}\n"), &cron_job, note),
        (when("owner.name == 'other'").replace("app: web", "app: other"), &cron_job, ""),
        (TARGET.to_owned(), &cron_job, ""),
        (when("owner.name == 'backup'"), &job, ""),
    ] {
        let folder = Folder::with(&[("rules.yaml", &rules)]);
        let done = folder.run_with_stdin("inject -f - --rules rules.yaml -o json", object);
        assert_eq!((done.code(), &*done.err), (0, told), "{rules}");
    }
}

/// On a cluster the hash is another one, and in a file the placeholder would stay.
#[test]
fn the_hash_of_a_template_is_not_written() {
    let env = "{name: TARGET, value: {$cel: \"object.metadata.labels['pod-template-hash']\"}}";
    let rules = TARGET.replace("{name: TARGET, value: hall}", env);
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app}]}}}\n";
    let folder = Folder::with(&[("rules.yaml", &rules), ("web.yaml", deployment)]);
    for command in ["inject -f web.yaml", "try web.yaml"] {
        let done = folder.run(&format!("{command} --rules rules.yaml"));
        assert!(done.code() != 0 && done.out.is_empty(), "{}", done.out);
        done.tells("which is not known before there is a pod");
    }
}

#[test]
fn a_note_names_a_mode_other_than_on() {
    let settings = |mode: &str| {
        format!(
            "{TARGET}---\napiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {{name: s}}\nspec: {{mode: {mode}}}\n"
        )
    };
    for (mode, note, ending) in [
        ("on", "", "second pass: no change"),
        ("observe", "note: `mode: observe` in InjectorSettings: an injector changes nothing", "no change"),
        (
            "off",
            "note: `mode: off` in InjectorSettings: an injector leaves everything alone",
            "no change: no hook is called",
        ),
    ] {
        let folder = Folder::with(&[("rules.yaml", &settings(mode)), ("pod.yaml", POD)]);
        let done = folder.run("inject -f pod.yaml --rules rules.yaml");
        assert_eq!((done.err.contains("note: `mode"), done.err.contains(note)), (!note.is_empty(), true));
        assert!(done.stdout().contains("name: TARGET"), "{mode}");
        let done = folder.run("try pod.yaml --rules rules.yaml");
        done.tells(note);
        assert_eq!(done.stdout().lines().last(), Some(ending));
    }
}

/// Templates get no status annotation: it would start a rollout with every new rule.
#[test]
fn pods_get_a_status_of_their_own() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    app: web\nspec:\n  containers:\n  - name: app\n";
    let out = Folder::with(&[("rules.yaml", TARGET)])
        .run_with_stdin("inject -f - --rules rules.yaml", pod)
        .stdout();
    let status =
        out.lines().find(|line| line.trim_start().starts_with("vestibule.dev/injected: '{")).unwrap();
    let rest = out.replace(&format!("  annotations:\n{status}\n"), "");
    assert_eq!(rest, format!("{pod}    env:\n    - name: TARGET\n      value: hall\n"));
}

#[test]
fn rules_for_workloads_act_on_the_workload() {
    let rules = TARGET.replace("spec:\n", "spec:\n  targets: [statefulsets]\n");
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: db\n  labels:\n    app: web\nspec:\n  template:\n    metadata:\n      labels:\n        app: web\n    spec:\n      containers:\n      - name: app\n";
    let out = Folder::with(&[("rules.yaml", &rules)])
        .run_with_stdin("inject -f - --rules rules.yaml", set)
        .stdout();
    assert_eq!(out, format!("{set}        env:\n        - name: TARGET\n          value: hall\n"));
}

#[test]
fn a_document_that_cannot_be_changed_in_place_is_rewritten_with_a_note() {
    let service = "---\n# kept\napiVersion: v1\nkind: Service\n";
    let folder = Folder::with(&[("rules.yaml", TARGET), ("pod.yaml", &format!("# lost\n{POD}{service}"))]);
    let done = folder.run("inject -f pod.yaml --rules rules.yaml");
    assert_eq!(
        done.err,
        "note: the document of pod.yaml:2 is written anew, for line 7: flow style; its comments are lost\n"
    );
    let out = done.stdout();
    assert!(
        out.starts_with("apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n") && out.ends_with(service),
        "{out}"
    );
    assert!(out.contains("    ratio: 1.0\n    big: 12345678901234567890\n"), "{out}");

    let anchors = POD
        .replace("name: web,", "name: &name web,")
        .replace("[{name: app, image: nginx}]", "\n  - name: *name");
    let done = folder.run_with_stdin("inject -f - --rules rules.yaml", &anchors);
    done.tells("is written anew, for line 3: an anchor");
    assert!(done.stdout().contains("- name: web\n    env:\n"));
}

#[test]
fn folders_are_read_and_files_kept_apart() {
    let pod = "apiVersion: v1\nkind: PodTemplate\ntemplate:\n  metadata:\n    labels:\n      app: web\n  spec:\n    containers:\n    - name: a";
    let folder = Folder::with(&[
        ("rules.yaml", TARGET),
        ("all/b.yml", pod),
        ("all/a.yaml", "apiVersion: v1\nkind: Service"),
        ("all/c.json", r#"{"apiVersion":"v1","kind":"Secret"}"#),
        ("all/d.txt", "a: ["),
    ]);
    let out = folder.run("inject -f all --rules rules.yaml").stdout();
    let expected = format!(
        "apiVersion: v1\nkind: Service\n---\n{pod}\n      env:\n      - name: TARGET\n        value: hall\n---\n{}",
        r#"{"apiVersion":"v1","kind":"Secret"}"#
    );
    assert_eq!(out, expected);
}

#[test]
fn nothing_matched_is_a_failure_only_where_it_is_required() {
    let folder =
        Folder::with(&[("rules.yaml", &TARGET.replace("app: web", "app: other")), ("pod.yaml", POD)]);
    assert_eq!(folder.run("inject -f pod.yaml --rules rules.yaml").stdout(), POD);
    folder
        .run("inject -f pod.yaml --rules rules.yaml --require")
        .exits(1)
        .prints("")
        .tells("no rule matches any of these objects; `vestibule explain`");
}

#[test]
fn a_denial_prints_its_reason_and_nothing_else() {
    let pod = POD.replace("spec:\n", "spec:\n  volumes: [{name: data, hostPath: {path: /data}}]\n");
    let folder = Folder::with(&[("rules.yaml", REQUIRED), ("pods.yaml", &format!("{POD}---\n{pod}"))]);
    for output in ["yaml", "json", "patch"] {
        let done = folder.run(&format!("inject -f pods.yaml --rules rules.yaml -o {output}"));
        done.exits(1).prints("");
        assert!(
            done.err.starts_with("Pod default/web (pods.yaml:8): denied: rule data cannot be applied: "),
            "{}",
            done.err
        );
    }
}

#[test]
fn unreadable_input_exits_with_2() {
    let folder = Folder::with(&[
        ("rules.yaml", TARGET),
        ("pod.yaml", POD),
        ("bad.yaml", "a: ["),
        ("none.yaml", "# nothing\n"),
    ]);
    for arguments in [
        "inject -f bad.yaml --rules rules.yaml",
        "inject -f none.yaml --rules rules.yaml",
        "inject -f absent.yaml --rules rules.yaml",
        "inject -f pod.yaml --rules absent.yaml",
        "inject -f pod.yaml --rules bad.yaml",
        "inject --rules rules.yaml",
    ] {
        let done = folder.run(arguments);
        done.exits(2).prints("");
        assert!(!done.err.is_empty());
    }
}

#[test]
fn labels_of_namespaces_come_from_the_flag_or_from_the_files() {
    let rules = target_in_namespaces("team: blue");
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: blue}}\n";
    let pod = POD.replace("{name: web,", "{name: web, namespace: shop,");
    let folder = Folder::with(&[
        ("rules.yaml", &rules),
        ("pod.yaml", &pod),
        ("all.yaml", &format!("{namespace}---\n{pod}")),
    ]);
    folder.run("inject -f pod.yaml --rules rules.yaml").fails(2, "--namespace-labels k=v");
    for arguments in ["all.yaml", "pod.yaml --namespace-labels team=blue"] {
        folder.run(&format!("inject --rules rules.yaml --require -f {arguments}")).exits(0).shows("TARGET");
    }
    folder.run("inject -f pod.yaml --rules rules.yaml --namespace-labels team=red --require").exits(1);
}
