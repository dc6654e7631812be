//! `vestibule explain`.

use serde_json::Value;

use crate::fixture::{Done, Folder, POD, REQUIRED, TARGET, TEMPLATE, cron_job, job};

#[test]
fn each_question_is_told_with_its_answer_and_line() {
    let rules = TARGET.replace("spec:\n", "spec:\n  optIn: pod\n");
    let folder = Folder::with(&[("rules.yaml", &rules), ("pod.yaml", POD)]);
    let out = folder.run("explain -f pod.yaml --rules rules.yaml").stdout();
    let head: Vec<&str> = out.lines().take(3).collect();
    assert_eq!(head[0], format!("Pod default/web{:75}pod.yaml:1", ""));
    assert_eq!(head[2], format!("rule target  left out: not_opted_in{:53}rules.yaml:4", ""));
    for line in [
        "  true   exclusions                           no exclusion applies",
        "  true   match.objectSelector              7  the object meets `app=web`",
        "  true   opt.4                             6  the object has no inject.vestibule.dev/target",
        "  false  opt.8                             6  the object does not ask for the rule",
    ] {
        assert!(out.lines().any(|shown| shown == line), "{line}\nin\n{out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    assert!(!out.contains('\x1b'));

    let asking = POD.replace("labels: {", "annotations: {vestibule.dev/inject: target}, labels: {");
    folder
        .run_with_stdin("explain -f - --rules rules.yaml --color always", &asking)
        .exits(0)
        .shows("\x1b[32mapplied\x1b[0m")
        .shows("+ spec.containers[app].env[TARGET]");
}

#[test]
fn json_output_has_the_same_explanation() {
    let folder = Folder::with(&[("rules.yaml", TARGET), ("pod.yaml", POD)]);
    let out = folder.run("explain -f pod.yaml --rules rules.yaml -o json").stdout();
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told[0]["object"]["place"], "pod.yaml:1");
    let rule = &told[0]["rules"][0];
    assert_eq!((&rule["outcome"], &rule["line"]), (&"applied".into(), &4.into()));
    let labels =
        rule["gates"].as_array().unwrap().iter().find(|gate| gate["name"] == "match.objectSelector").unwrap();
    assert_eq!((&labels["passed"], &labels["line"]), (&true.into(), &6.into()));
    assert_eq!(rule["clauses"][0]["changes"][0], "+ spec.containers[app].env[TARGET]");
    assert!(!out.contains("hall"), "an explanation has no values: {out}");

    assert_eq!(folder.run("explain -f pod.yaml --rules rules.yaml -o yaml").objects(), [told]);
}

#[test]
fn workloads_are_explained_by_the_pods_they_make() {
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: app}], volumes: [{name: data, hostPath: {path: /}}]}\n";
    let folder = Folder::with(&[("rules.yaml", &format!("{TARGET}---\n{REQUIRED}"))]);
    let out = folder.run_with_stdin("explain -f - --rules rules.yaml", deployment).stdout();
    assert!(out.contains("rule data  denied"), "{out}");
    assert_eq!(out.matches("volume `data` exists").count(), 1, "{out}");
    assert!(out.contains("rule target  left out: object_denied"), "{out}");
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";
    let out = folder.run_with_stdin("explain -f - --rules rules.yaml", service).stdout();
    assert!(out.ends_with("\n\nno rule is for objects of this kind\n"), "{out}");
}

/// The output about `object` for [`TARGET`] with more in its spec.
fn explained(spec: &str, object: &str, format: &str) -> Done {
    let rule = TARGET.replace("spec:\n", &format!("spec:\n  {spec}\n"));
    let folder = Folder::with(&[("rules.yaml", &rule)]);
    let done = folder.run_with_stdin(&format!("explain -f - --rules rules.yaml -o {format}"), object);
    done.exits(0);
    done
}

/// The rule on the pod of `object`, and its gate of this name. Both are presumed, or none is.
fn gate(spec: &str, object: &str, name: &str) -> (Value, bool) {
    let told = explained(spec, object, "json").json();
    let rule = told[0]["rules"].as_array().unwrap().iter().find(|rule| rule["at"] != "/").unwrap();
    let gate = rule["gates"].as_array().unwrap().iter().find(|gate| gate["name"] == name).unwrap();
    assert_eq!(gate["presumed"], rule["presumed"], "{spec} of {object}: {gate}");
    (gate["passed"].clone(), gate["presumed"].as_bool().unwrap())
}

/// `rollout` decides by the name of each Job of a CronJob, which is not known yet.
#[test]
fn a_rollout_by_a_generated_name_is_marked_as_presumed() {
    let template = format!("apiVersion: v1\nkind: PodTemplate\nmetadata: {{name: any}}\n{TEMPLATE}\n");
    let rollout = |percent: u8| format!("rollout: {{percent: {percent}}}");
    let text = explained(&rollout(50), &cron_job(), "text").out;
    assert!(text.contains(", presumably") && text.contains("  ?      rollout"), "{text}");
    let words = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("decided by the name of each Job, of which 50 % are reached; one called backup is")
    );
    for (percent, object, presumed) in [
        (50, &cron_job(), true),
        (1, &cron_job(), true),
        (0, &cron_job(), false),
        (100, &cron_job(), false),
        (50, &job("name: backup"), false),
        (50, &job("generateName: backup-"), true),
        (50, &template, true),
        (100, &template, false),
    ] {
        assert_eq!(gate(&rollout(percent), object, "rollout").1, presumed, "{percent} % of {object}");
    }
}

/// Every Job of a CronJob has a name of its own, which a condition may read.
#[test]
fn a_condition_on_a_generated_name_is_marked_as_presumed() {
    let (cron_job, job) = (cron_job(), job("name: backup"));
    explained("matchConditions: [{name: c0, expression: \"owner.name == 'backup'\"}]", &cron_job, "text")
        .shows("  applied, presumably")
        .shows("  ?      matchConditions[c0]");
    let variable = "variables: [{name: whose, expression: owner.name}]\n  matchConditions: [{name: c0, expression: \"variables.whose == 'backup'\"}]";
    let passed = gate(variable, &cron_job, "matchConditions[c0]");
    assert_eq!(passed, (true.into(), true));
    for (condition, object, passed, presumed) in [
        ("owner.name == 'backup'", &cron_job, true, true),
        ("owner.name == 'other'", &cron_job, false, true),
        ("owner['name'] == 'backup'", &cron_job, true, true),
        ("object.metadata.ownerReferences[0].name == 'backup'", &cron_job, true, true),
        ("object.metadata.generateName == 'backup-'", &cron_job, true, true),
        ("owner.kind == 'Job'", &cron_job, true, false),
        ("object.metadata.labels.app == 'web'", &cron_job, true, false),
        ("request.namespace == 'default'", &cron_job, true, false),
        ("owner.name == 'backup'", &job, true, false),
    ] {
        let found = gate(
            &format!("matchConditions: [{{name: c0, expression: \"{condition}\"}}]"),
            object,
            "matchConditions[c0]",
        );
        assert_eq!(found, (passed.into(), presumed), "{condition}");
    }
}

#[test]
fn json_output_has_the_mode_of_the_injector() {
    for mode in ["on", "observe", "off"] {
        let settings = format!(
            "apiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {{name: injector}}\nspec: {{mode: {mode}}}\n---\n{TARGET}"
        );
        let folder = Folder::with(&[("rules.yaml", &settings), ("pod.yaml", POD)]);
        let told = folder.run("explain -f pod.yaml --rules rules.yaml -o json").exits(0).json();
        assert_eq!((&told[0]["mode"], &told[0]["rules"][0]["outcome"]), (&mode.into(), &"applied".into()));
    }
}

#[test]
fn a_code_is_explained_offline() {
    let folder = Folder::with(&[]);
    let out = folder.run("explain vst0102").stdout();
    let expected = "\
VST0102: a duplicate key in a map

YAML forbids a key that appears twice in one map, and parsers disagree which of the two wins.
Remove one.

For example:

  apiVersion: vestibule.dev/v1alpha1
  kind: Injection
  metadata: {name: example}
  spec:
    optIn: pod
    order: 1
    order: 2

  error[VST0102]: `order` appears twice; first at 6:3
";
    assert!(out.starts_with(expected), "{out}");
    folder.run("explain VST0001").fails(2, "there is no code VST0001");
    let json = folder.run("explain VST0102 -o json");
    assert_eq!(json.fails(2, "codes and fields are explained as text, without -o").out, "");
}

#[test]
fn an_unreachable_cluster_exits_with_3() {
    let kubeconfig = "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: 'http://127.0.0.1:9'}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\ncurrent-context: a\n";
    let folder = Folder::with(&[("kubeconfig", kubeconfig), ("rules.yaml", TARGET), ("pod.yaml", POD)]);
    let done = folder.run("explain pod/web --kubeconfig kubeconfig");
    done.exits(3).prints("");
    assert!(done.err.starts_with("error: the API server does not answer: "), "{}", done.err);
    for arguments in [
        "explain pod/web --kubeconfig absent",
        "explain service/web",
        "explain",
        "explain -f pod.yaml",
        "explain VST0102 -f pod.yaml --rules rules.yaml",
    ] {
        assert_eq!(folder.run(arguments).code(), 2, "{arguments}");
    }
}

#[test]
fn each_container_is_explained_by_its_part_of_the_rule() {
    let folder = Folder::with(&[("pod.yaml", POD)]);
    let proxy = crate::examples::rules().join("proxy.yaml");
    let flags = format!("-f pod.yaml --rules {} --namespace-labels mesh=enabled", proxy.display());
    let out = folder.run(&format!("explain {flags}")).stdout();
    for told in [
        "sidecars[0]                      34  + spec.initContainers[proxy]",
        "+ spec.initContainers[proxy-init]",
    ] {
        assert!(out.contains(told), "{out}");
    }
    assert!(!out.contains("  there  "), "{out}");
}

#[test]
fn labels_of_a_namespace_among_the_objects_are_known() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {mesh: enabled}}\n---\n";
    let pod = POD.replacen("{name: web,", "{name: web, namespace: shop,", 1);
    let folder = Folder::with(&[("all.yaml", &(namespace.to_owned() + &pod))]);
    let proxy = crate::examples::rules().join("proxy.yaml");
    let done = folder.run(&format!("explain -f all.yaml --rules {}", proxy.display()));
    assert_eq!(done.err, "");
    assert!(done.out.starts_with("Namespace shop  "), "{}", done.out);
}

#[test]
fn a_file_without_its_flag_is_an_error_that_names_the_flag() {
    let folder = Folder::with(&[("pod.yaml", POD)]);
    for subject in ["pod.yaml", "./pod.yaml", "deployment/web"] {
        let done = folder.run(&format!("explain {subject}"));
        done.exits(2);
        let told = format!(
            "`{subject}` is neither a code, such as VST0121, nor a field, such as spec.match, nor pod/NAME; files are named with -f FILE"
        );
        done.tells(&told);
    }
}

#[test]
fn a_field_is_explained_without_a_cluster() {
    let folder = Folder::with(&[]);
    let text = folder.run("explain spec.sidecars.position").stdout();
    assert!(
        text.starts_with(
            "KIND:     Injection\nVERSION:  vestibule.dev/v1alpha1\n\nFIELD:    position <Object>\n"
        ),
        "{text}"
    );
    folder.run("explain spec.sidecars.positon").fails(2, "did you mean `position`?");
    folder.run("explain spec.sidecars.position -o yaml").fails(2, "codes and fields are explained as text");
    folder.run("explain when").fails(2, "nor a field, such as spec.match");
}
