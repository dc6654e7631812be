//! `vestibule manifests`.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::fixture::{EVERYWHERE, Folder, REQUIRED, TARGET, target_in_namespaces};

fn registration(folder: &Folder, arguments: &str) -> Value {
    let command =
        format!("manifests --only registration --rules rules.yaml --identity local:identity {arguments}");
    let mut objects = folder.run(&command).objects();
    assert_eq!(objects.len(), 1, "{objects:?}");
    objects.remove(0)
}

#[test]
fn the_registration_trusts_the_ca_in_the_folder() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let registered = registration(&folder, "--service shop/injector");
    let client = &registered["webhooks"][0]["clientConfig"];
    let ca = std::fs::read(folder.path().join("identity/ca.crt")).unwrap();
    assert_eq!(client["caBundle"], json!(k8s_openapi::ByteString(ca)));
    assert_eq!(
        client["service"],
        json!({"namespace": "shop", "name": "injector", "path": "/mutate/best-effort", "port": 443})
    );
    // A second run prints the same CA.
    assert_eq!(registration(&folder, "--service shop/injector"), registered);
}

#[test]
fn a_probable_mistake_is_a_note_on_stderr() {
    let rules = TARGET.replace(
        "select: {all: true}",
        "select: {all: true}\n    volumeMounts: [{name: a, mountPath: /a, fooBarBaz: 1}]",
    );
    let folder = Folder::with(&[("rules.yaml", &rules)]);
    let done = folder.run("manifests --rules rules.yaml --service shop/injector --identity local:identity");
    assert!(
        done.err.starts_with("warning[VST0118]") && done.err.contains("--> rules.yaml:9:"),
        "{}",
        done.err
    );
    assert!(done.stdout().starts_with("---\napiVersion: "));
}

#[test]
fn the_key_is_its_owners_alone() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    registration(&folder, "--url https://127.0.0.1:10250");
    let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("identity/ca.key"), 0o600);
    assert_eq!(mode("identity"), 0o700);
}

#[test]
fn required_rules_fail_closed_and_come_first() {
    let deployments = TARGET.replace("spec:\n", "spec:\n  targets: [pods, deployments]\n");
    let everywhere = REQUIRED.replace("namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [default, demo]}]}, ", "");
    let rules = format!("{deployments}---\n{everywhere}");
    let refused = Folder::with(&[("rules.yaml", &rules)]).run("manifests --rules rules.yaml --namespace a");
    assert_eq!(refused.status.code(), Some(2));
    refused
        .tells("error[VST0190]: rule `data` is required in every namespace")
        .tells("--> rules.yaml:18:10")
        .tells("requiredEverywhere: allow");
    let folder = Folder::with(&[("rules.yaml", &format!("{EVERYWHERE}---\n{rules}"))]);
    let registered = registration(&folder, "--url https://127.0.0.1:10250");
    let [required, best_effort] = registered["webhooks"].as_array().unwrap().as_slice() else {
        panic!("two hooks")
    };
    assert_eq!(required["failurePolicy"], "Fail");
    assert_eq!(required["clientConfig"]["url"], "https://127.0.0.1:10250/mutate/required");
    assert_eq!(
        required["rules"],
        json!([
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
        ])
    );
    assert_eq!(best_effort["failurePolicy"], "Ignore");
    assert_eq!(
        best_effort["rules"],
        json!([
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
            {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"]},
        ])
    );
    let out = json!([
        {"key": "inject.vestibule.dev/data", "operator": "NotIn", "values": ["false"]},
        {"key": "vestibule.dev/injector", "operator": "NotIn", "values": ["true"]},
    ]);
    assert_eq!(required["objectSelector"], json!({"matchLabels": {"app": "web"}, "matchExpressions": out}));
}

#[test]
fn a_ring_needs_rights_by_name_and_keeps_its_own_bundle() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let printed = |flags: &str| {
        let command = format!("manifests --rules rules.yaml --identity self --service shop/injector {flags}");
        folder.run(&command).objects()
    };
    let printed_first = printed("");
    let (definitions, all) = printed_first.split_at(3);
    let names: Vec<_> =
        definitions.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["injections", "injectorsettings", "namespacedinjections"]
            .map(|name| format!("{name}.vestibule.dev"))
    );
    let kinds: Vec<_> = all.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    let bound = ["Role", "RoleBinding", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];
    assert_eq!(
        kinds,
        [&bound[..], &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]].concat()
    );
    for configuration in &all[6..] {
        assert!(configuration.get("webhooks").is_none(), "the replicas write the entries");
    }
    let entry = &printed("--only registration --registration-mode static")[3]["webhooks"][0];
    assert!(entry["clientConfig"]["service"].is_object() && entry["clientConfig"].get("caBundle").is_none());
    assert_eq!(
        all[0]["rules"],
        json!([
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["injector-ring"],
             "verbs": ["get", "list", "watch", "update"]},
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
            {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
            {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["injector-logging"],
             "verbs": ["get", "list", "watch"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]},
            {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["injector-last-good"],
             "verbs": ["get", "update"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
             "verbs": ["create", "patch", "delete"]},
        ])
    );
    assert_eq!(all[2]["metadata"]["namespace"], "default");
    assert_eq!(all[2]["rules"].as_array().unwrap().len(), 1);
    assert_eq!(
        all[4]["rules"],
        json!([
            {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["mutatingwebhookconfigurations"],
             "resourceNames": ["injector"], "verbs": ["get", "list", "watch", "patch"]},
            {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["validatingwebhookconfigurations"],
             "resourceNames": ["injector"], "verbs": ["get", "list", "watch", "patch"]},
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list", "watch"]},
            {"apiGroups": ["vestibule.dev"], "resources": ["injections", "injectorsettings", "namespacedinjections"],
             "verbs": ["list", "watch"]},
            {"apiGroups": ["vestibule.dev"], "resources": ["injections/status", "injectorsettings/status", "namespacedinjections/status"],
             "verbs": ["patch"]},
            {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
        ])
    );
    let subject = json!([{"kind": "ServiceAccount", "name": "injector", "namespace": "shop"}]);
    for binding in [1, 3, 5] {
        assert_eq!(all[binding]["subjects"], subject);
    }

    assert_eq!(printed("--only registration"), [definitions, &all[6..]].concat());
    let flags =
        "--only rbac --service-account other/runner --secret other/ring --registration crd/a.b,injector";
    let elsewhere = printed(flags);
    let places: Vec<_> = elsewhere.iter().map(|object| object["metadata"]["namespace"].as_str()).collect();
    let places_of_roles = [Some("other"), Some("default"), Some("shop"), None];
    assert_eq!(places, places_of_roles.map(|place| [place; 2]).concat());
    assert_eq!(elsewhere[6]["rules"][2]["resources"], json!(["customresourcedefinitions"]));
    assert_eq!(elsewhere[6]["rules"].as_array().unwrap().len(), 9);
    assert_eq!(elsewhere[7]["subjects"][0]["name"], "runner");
}

#[test]
fn an_injector_that_counts_no_pods_has_no_right_to_them() {
    let printed = |flags: &str| {
        let objects =
            Folder::with(&[]).run(&format!("manifests --namespace shop --image i {flags}")).objects();
        let lists_pods = objects.iter().any(|object| object.to_string().contains("\"resources\":[\"pods\"]"));
        let named = |object: &&Value| object["kind"] == "Deployment";
        let deployment = objects.iter().find(named).unwrap();
        (lists_pods, deployment["spec"]["template"]["spec"]["containers"][0]["args"].to_string())
    };
    let (lists_pods, arguments) = printed("");
    assert!(lists_pods && !arguments.contains("lagging"), "{arguments}");
    let (lists_pods, arguments) = printed("--lagging-pods off");
    assert!(!lists_pods && arguments.contains("\"--lagging-pods=off\""), "{arguments}");
    assert!(printed("--lagging-pods 1h").0);
}

/// A person who may create pods in a namespace may write rules of it.
#[test]
fn the_roles_edit_and_admin_get_the_right_to_rules_of_a_namespace() {
    let printed = Folder::with(&[]).run("manifests --namespace shop --image i").objects();
    let named = |object: &&Value| object["metadata"]["name"] == "injector-namespacedinjections-edit";
    let role = printed.iter().find(named).unwrap();
    assert_eq!(role["kind"], "ClusterRole");
    for aggregated in ["admin", "edit"] {
        let label = format!("rbac.authorization.k8s.io/aggregate-to-{aggregated}");
        assert_eq!(role["metadata"]["labels"][label], "true");
    }
    let verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
    assert_eq!(
        role["rules"],
        json!([{"apiGroups": ["vestibule.dev"], "resources": ["namespacedinjections"], "verbs": verbs}])
    );
}

#[test]
fn with_any_certificate_the_rights_are_for_rules_to_come() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let printed = |identity: &str| {
        let command = format!("manifests --rules rules.yaml --service shop/injector --identity {identity}");
        folder.run(&command).objects()
    };
    let right = json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]});
    let mounted = printed("mounted:certs");
    let find = |kind: &str| mounted.iter().find(|object| object["kind"] == kind).unwrap();
    assert!(find("ClusterRole")["rules"].as_array().unwrap().contains(&right));
    assert_eq!(find("Role")["rules"][0]["resources"], json!(["configmaps"]));
    assert_eq!(find("MutatingWebhookConfiguration")["webhooks"].as_array().unwrap().len(), 1);
    // On a laptop the kubeconfig has the rights.
    assert_eq!(printed("local:identity").len(), 1);
}

#[test]
fn flags_without_effect_are_refused_for_every_part() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    for (flags, words) in [
        ("--only registration --secret a/b", "--secret is for `--identity self`"),
        ("--only registration --registration a", "--registration is for `--identity self`"),
        ("--only registration --service-account a", "--service-account is for"),
        ("--only rbac", "--only rbac is for"),
    ] {
        folder
            .run(&format!(
                "manifests --rules rules.yaml --service shop/injector --identity local:identity {flags}"
            ))
            .fails(2, words);
    }
    assert!(!folder.path().join("identity").exists());
}

#[test]
fn manifests_ask_no_cluster_about_namespaces() {
    let rules = target_in_namespaces("team: blue");
    registration(&Folder::with(&[("rules.yaml", &rules)]), "--service shop/injector");
}

#[test]
fn without_a_place_there_is_nothing_to_register() {
    let done =
        Folder::with(&[("rules.yaml", TARGET)]).run("manifests --rules rules.yaml --identity local:identity");
    done.fails(2, "--service");
}

#[test]
fn with_an_image_the_pods_find_their_rules_and_a_folder_is_held_against_them() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let command = "manifests --rules rules.yaml --namespace shop --image registry.example.com/vestibule:1";
    let objects = folder.run(command).objects();
    let find = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let rules = find("ConfigMap");
    assert_eq!(rules["data"], json!({"rules.yaml": TARGET}));
    assert_eq!(rules["metadata"]["labels"]["vestibule.dev/config"], "true");
    let template = &find("Deployment")["spec"]["template"];
    assert_eq!(template["metadata"]["labels"]["vestibule.dev/injector"], "true");
    let container = &template["spec"]["containers"][0];
    assert!(container.get("volumeMounts").is_none(), "they follow the ConfigMap");
    assert_eq!(container["resources"]["limits"]["memory"], "384Mi");
    let arguments = container["args"].as_array().unwrap();
    for argument in ["serve", "--identity=self", "--service=shop/injector", "--port=10250"] {
        assert!(arguments.contains(&json!(argument)), "{arguments:?}");
    }
    assert!(arguments.iter().all(|argument| !argument.as_str().unwrap().starts_with("--rules")));

    // The manifests in other files, one of them JSON.
    let (first, rest) = objects.split_first().unwrap();
    folder.write("deploy/first.json", json!({"kind": "List", "items": [first]}).to_string());
    let rest: String = rest.iter().map(|object| format!("---\n# ours\n{object}\n")).collect();
    folder.write("deploy/rest/all.yaml", &rest);
    let check = |flags: &str| folder.run(&format!("{command} --check deploy {flags}"));
    let same = check("");
    assert_eq!((same.code(), same.out.as_str()), (0, ""), "{}", same.err);
    assert_eq!(same.err.trim(), "deploy is what the app asks for");

    check("--replicas 3 --color always")
        .exits(1)
        .shows("\u{1b}[31m-  replicas: 2\u{1b}[0m\n\u{1b}[32m+  replicas: 3")
        .tells("Deployment shop/injector differs: deploy/rest/all.yaml");
    // The difference is not in the registration.
    assert_eq!(check("--replicas 3 --only registration").code(), 0);

    // An object with the app's label that `manifests` never prints.
    let monitor = json!({"kind": "ServiceMonitor", "metadata": {"labels": objects[0]["metadata"]["labels"]}});
    folder.write("deploy/monitor.json", monitor.to_string());
    assert_eq!(check("").code(), 0);

    folder.write("deploy/rest/all.yaml", rest.replace("policy/v1", "policy/v1beta1"));
    let other = check("");
    other.exits(1);
    for words in
        ["PodDisruptionBudget shop/injector is missing in deploy", "PodDisruptionBudget shop/injector is not"]
    {
        other.tells(words);
    }

    folder.write("deploy/broken.yaml", "a: [");
    assert_eq!(check("").code(), 2);
    assert_eq!(folder.run(&format!("{command} --check nowhere")).code(), 2);
    let without = "manifests --rules rules.yaml --namespace shop --replicas 3";
    assert!(folder.run(without).err.contains("--replicas is about pods"));
}

#[test]
fn pods_find_rules_under_any_file_name() {
    let folder = Folder::with(&[("rules.conf", TARGET), ("more/a.yaml", TARGET)]);
    for (rules, file) in [("rules.conf", "rules.conf"), ("more", "a.yaml")] {
        let command = format!("manifests --rules {rules} --namespace shop --image a -o json");
        let list = folder.run(&command).exits(0).json();
        let mut objects = list["items"].as_array().unwrap().iter();
        let map = objects.find(|object| object["kind"] == "ConfigMap").unwrap();
        assert_eq!(map["data"], json!({ file: TARGET }));
    }
}

#[test]
fn an_installation_into_a_shared_namespace_makes_a_note() {
    let told = |rules: &str, namespace: &str| {
        let folder = Folder::with(&[("rules.yaml", rules)]);
        let done = folder.run(&format!("manifests --rules rules.yaml --namespace {namespace} --image a"));
        done.err.contains("`ownNamespace: inject`")
    };
    let opened =
        format!("{}---\n{TARGET}", EVERYWHERE.replace("requiredEverywhere: allow", "ownNamespace: inject"));
    assert!(told(TARGET, "default") && !told(&opened, "default") && !told(TARGET, "webhooks"));
    let named = TARGET.replace(
        "match: {",
        "match: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: webhooks}}, ",
    );
    assert!(told(&named, "webhooks"));
}
