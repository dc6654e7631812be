//! The ways to install, on a real API server by the real tools. Each leaves nothing behind.

use std::path::Path;

use serde_json::json;
use vestibule_testenv::{Answer, Recorder};

use super::fixture::{Cluster, serve, with_vestibule};
use super::{NAMESPACE, manifests};
use crate::fixture::{Done, Folder, finish, with_kubectl};
use crate::how_to::ROOT;
use crate::pages::block::Block;

/// The commands of a block of docs/how-to/install.md.
fn from_page(begins: &str) -> String {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/how-to/install.md")).unwrap();
    let mut blocks =
        Block::all(&page).into_iter().filter(|block| block.text.starts_with(&format!("$ {begins}")));
    format!("set -e\n{}", blocks.next().unwrap().script())
}

#[tokio::test]
async fn kubectl_and_kustomize_install_and_remove_everything() {
    let Some(cluster) = Cluster::start().await else { return };
    let before = cluster.objects();
    for begins in ["kubectl apply --server-side -f", "kubectl apply --server-side -k"] {
        let script = from_page(begins);
        cluster.run(&script).exits(0);
        let components =
            "deploy/components/autoscaling/autoscaler.yaml,deploy/components/priority-class/class.yaml";
        let taken = cluster.run(&format!("kubectl apply --server-side --dry-run=server -f {components}"));
        taken.exits(0).shows("horizontalpodautoscaler").shows("priorityclass");
        // Again: no object changes.
        let apply = script.lines().find(|line| line.starts_with("kubectl apply")).unwrap();
        let again = cluster.run(&apply.replace("apply", "diff"));
        assert_eq!((again.code(), again.out.as_str()), (0, ""), "{script}: {}", again.err);
        cluster.definitions_are_served().await;
        cluster.run(&format!("{} --wait=false", apply.replace("apply --server-side", "delete"))).exits(0);
        cluster.run("kubectl wait --for=delete --timeout=60s crd/injections.vestibule.dev crd/namespacedinjections.vestibule.dev").exits(0);
        cluster.assert_gone(&before).await;
        cluster.namespace_ends().await;
    }
}

#[tokio::test]
async fn helm_installs_upgrades_and_uninstalls() {
    let Some(cluster) = Cluster::start().await else { return };
    let before = cluster.objects();
    for helm in [&cluster.tools.helm3, &cluster.tools.helm4] {
        let programs = Folder::with(&[]);
        std::os::unix::fs::symlink(helm, programs.path().join("helm")).unwrap();
        let with_helm =
            |script: &str| cluster.run(&format!("PATH={}:$PATH\n{script}", programs.path().display()));
        with_helm(&from_page("helm install")).exits(0).shows("kubectl apply -f rule.yaml");
        cluster
            .run("kubectl get deployment injector -n vestibule-system -o jsonpath={.spec.replicas}")
            .prints("3");
        cluster.definitions_are_served().await;
        // The definitions stay, and with them the rules, until they are deleted too.
        let remove = from_page("helm uninstall");
        let (helm_alone, rest) = remove.split_at(remove.find("kubectl").unwrap());
        with_helm(helm_alone).exits(0);
        cluster.run("kubectl get crd injections.vestibule.dev injectorsettings.vestibule.dev").exits(0);
        cluster.run(rest).exits(0);
        cluster.assert_gone(&before).await;
        cluster.namespace_ends().await;
    }
}

/// The printed `fieldRef` had no `apiVersion`: with the API server's default it was a conflict with the manager before.
#[tokio::test]
async fn each_way_takes_an_installation_of_the_same_version_over() {
    let Some(cluster) = Cluster::start().await else { return };
    let helm = |command: &str| {
        let helm = cluster.tools.helm4.display();
        cluster
            .run(&format!("{helm} {command} vestibule deploy/helm/vestibule -n {NAMESPACE} --take-ownership"))
    };
    finish(&mut cluster.vestibule("install --no-wait"), "").exits(0);
    cluster.run(&from_page("kubectl apply --server-side -f")).exits(0);
    helm("install").exits(0);
    finish(&mut cluster.vestibule("install --no-wait"), "").exits(0);
    cluster.run(&from_page("kubectl apply --server-side -f")).exits(0);
    helm("upgrade").exits(0);
    // Helm takes over the objects that `vestibule uninstall` and `helm uninstall` have left.
    finish(&mut cluster.vestibule("uninstall"), "").exits(0);
    cluster.run(&format!("{} uninstall vestibule -n {NAMESPACE}", cluster.tools.helm4.display())).exits(0);
    helm("install").exits(0);
}

#[tokio::test]
async fn install_waits_until_the_webhook_is_called_and_uninstall_leaves_nothing() {
    let Some(cluster) = Cluster::start().await else { return };
    let before = cluster.objects();
    finish(&mut cluster.vestibule("uninstall"), "").exits(0).tells("nothing is installed");

    let rehearsed = finish(&mut cluster.vestibule("install --dry-run"), "");
    rehearsed.exits(0).tells("taken    ClusterRole injector").tells("new      namespace vestibule-system");
    cluster.assert_gone(&before).await;

    let service = cluster.service().await;

    // Without a replica the command says what is missing.
    let late = finish(&mut cluster.vestibule("install --timeout 1s"), "");
    late.fails(1, "the API server does not call injector after")
        .tells("0 of 2 pods available; no replica has registered");

    let server = serve(&cluster, &service).await;
    let script = with_vestibule(&from_page("vestibule install"));
    let mut install = with_kubectl(&cluster.environment, &cluster.tools, &script);
    let done = tokio::task::spawn_blocking(move || finish(&mut install, "")).await.unwrap();
    assert_eq!(done.code(), 0, "{}{}", done.err, server.log());
    done.tells("upgrade  ghcr.io/vestibule-dev/vestibule:").tells("the API server calls injector");

    // `drift` compares every second for a minute.
    let drift =
        cluster.run("kubectl diff --server-side --field-manager=vestibule-install -f deploy/install.yaml");
    assert_eq!((drift.code(), drift.out.as_str()), (0, ""), "{}", drift.err);

    let elsewhere = finish(&mut cluster.vestibule("install -n elsewhere"), "");
    elsewhere.fails(2, "injector is installed in namespace vestibule-system already");
    // A second installation took over the configurations of the first.
    cluster.run("kubectl delete clusterrolebinding injector").exits(0);
    let elsewhere = finish(&mut cluster.vestibule("install -n elsewhere"), "");
    elsewhere.fails(2, "injector is installed in namespace vestibule-system already");
    drop(server);
    drop(service);

    let kept = finish(&mut cluster.vestibule("uninstall"), "");
    kept.exits(0).tells("deleted  Secret vestibule-system/injector-ring").tells("--all deletes them too");
    cluster.run("kubectl get crd injections.vestibule.dev").exits(0);
    cluster
        .run(&with_vestibule(&from_page("vestibule uninstall")))
        .exits(0)
        .tells("deleted  Namespace vestibule-system");
    // The environment has made it for its Service, and no controller removes it here.
    cluster.run(&format!("kubectl delete endpointslice injector -n {NAMESPACE}")).exits(0);
    cluster.assert_gone(&before).await;
    cluster.namespace_ends().await;
}

#[tokio::test]
async fn install_names_missing_rights_and_changes_nothing() {
    let Some(cluster) = Cluster::start().await else { return };
    let before = cluster.objects();
    let kubeconfig = cluster.environment.api_server().user_kubeconfig("reader").unwrap();
    let mut command = Folder::with(&[]).command("install");
    command.arg("--kubeconfig").arg(kubeconfig).current_dir("/");
    let refused: Done = finish(&mut command, "");
    refused.fails(1, "nothing was changed").tells("ClusterRole injector: ").tells("User \"reader\" cannot");
    refused.tells("Deployment vestibule-system/injector: ").tells("cannot patch resource \"deployments\"");
    cluster.assert_gone(&before).await;
}

/// The roles and configurations of an installation are objects of the cluster, which an uninstall of any namespace deleted.
#[tokio::test]
async fn uninstall_of_another_namespace_removes_nothing() {
    let Some(cluster) = Cluster::start().await else { return };
    cluster.run("kubectl apply --server-side -f deploy/install.yaml").exits(0);
    let installed = cluster.objects();
    for dry_run in ["", " --dry-run"] {
        let refused = finish(&mut cluster.vestibule(&format!("uninstall --all -n elsewhere{dry_run}")), "");
        refused.fails(2, "`vestibule uninstall -n vestibule-system` removes it");
    }
    assert_eq!(&installed - &cluster.objects(), [].into());
}

/// `uninstall` deleted the configurations and the Deployment, and then met the first right that was missing.
#[tokio::test]
async fn uninstall_names_missing_rights_and_deletes_nothing() {
    let Some(cluster) = Cluster::start().await else { return };
    finish(&mut cluster.vestibule("install --no-wait"), "").exits(0);
    let kubeconfig = cluster.environment.api_server().user_kubeconfig("half").unwrap();
    cluster
        .run(
            "set -e
            kubectl create clusterrole half --verb=get,list,delete --resource=deployments.apps \
              --resource=mutatingwebhookconfigurations,validatingwebhookconfigurations
            kubectl create clusterrolebinding half --clusterrole=half --user=half",
        )
        .exits(0);
    let installed = cluster.objects();
    for command in ["uninstall --dry-run", "uninstall"] {
        let mut command = Folder::with(&[]).command(command);
        command.arg("--kubeconfig").arg(&kubeconfig).current_dir("/");
        let refused = finish(&mut command, "");
        refused.fails(1, "nothing was deleted").tells("Service vestibule-system/injector: services");
        assert!(!refused.err.contains("Deployment vestibule-system/injector: "), "{}", refused.err);
    }
    assert_eq!(&installed - &cluster.objects(), [].into());
}

/// `install` replaced the rules of a ClusterRole with its name, and `uninstall` deleted it.
#[tokio::test]
async fn objects_of_other_programs_are_neither_replaced_nor_deleted() {
    let Some(cluster) = Cluster::start().await else { return };
    cluster.run("kubectl create clusterrole injector --verb=get --resource=nodes").exits(0);
    let before = cluster.objects();
    let refused = finish(&mut cluster.vestibule("install --no-wait"), "");
    refused
        .fails(1, "nothing was changed")
        .tells("ClusterRole injector: it exists and is of another program");
    let kept = finish(&mut cluster.vestibule("uninstall --all"), "");
    kept.exits(0).tells("kept     ClusterRole injector").tells("nothing is installed");
    cluster.assert_gone(&before).await;
    cluster.run("kubectl get clusterrole injector -o jsonpath={.rules[0].resources}").prints("[\"nodes\"]");
}

/// `install` took objects in namespaces over: the Role `default/injector` lost its rules.
#[tokio::test]
async fn objects_of_other_programs_in_namespaces_are_neither_replaced_nor_deleted() {
    let Some(cluster) = Cluster::start().await else { return };
    cluster
        .run(
            "set -e
            kubectl create role injector -n default --verb=get --resource=pods
            kubectl create namespace shop
            kubectl create service clusterip injector -n shop --tcp=80
            kubectl label service injector -n shop app.kubernetes.io/name=other
            kubectl create serviceaccount injector -n shop",
        )
        .exits(0);
    let before = cluster.objects();
    let refused = finish(&mut cluster.vestibule("install --no-wait -n shop"), "");
    refused.fails(1, "nothing was changed");
    for title in ["Role default/injector", "Service shop/injector"] {
        let reason = "it exists and is of another program: it has no label app.kubernetes.io/name=injector";
        refused.tells(format!("{title}: {reason}"));
    }
    assert!(!refused.err.contains("ServiceAccount"), "it may have been prepared: {}", refused.err);
    let kept = finish(&mut cluster.vestibule("uninstall --all -n shop"), "");
    kept.exits(0).tells("nothing is installed");
    for title in ["Role default/injector", "Service shop/injector", "ServiceAccount shop/injector"] {
        kept.tells(format!("kept     {title}: it has no label app.kubernetes.io/name=injector"));
    }
    cluster.assert_gone(&before).await;
    assert_eq!(&before - &cluster.objects(), [].into());
    cluster
        .run("kubectl get role injector -n default -o jsonpath={.rules[0].resources}")
        .prints("[\"pods\"]");
}

/// `install` took objects over that may be prepared without a label, but whose label names another program.
#[tokio::test]
async fn prepared_objects_with_the_label_of_another_program_are_kept() {
    let Some(cluster) = Cluster::start().await else { return };
    let mut objects = manifests(NAMESPACE, "").objects();
    let mut definition = objects.remove(0);
    assert_eq!(definition["metadata"]["name"], "injections.vestibule.dev");
    definition["metadata"]["labels"] = json!({"app.kubernetes.io/name": "other"});
    let _installed = cluster.environment.install([definition]).await.unwrap();
    cluster
        .run(
            "set -e
            kubectl create namespace shop
            kubectl create serviceaccount injector -n shop
            kubectl label serviceaccount injector -n shop app.kubernetes.io/name=other",
        )
        .exits(0);
    let before = cluster.objects();
    let refused = finish(&mut cluster.vestibule("install --no-wait -n shop"), "");
    refused.fails(1, "nothing was changed");
    for title in ["CustomResourceDefinition injections.vestibule.dev", "ServiceAccount shop/injector"] {
        refused.tells(format!("{title}: it exists and is of another program"));
    }
    finish(&mut cluster.vestibule("uninstall --all -n shop"), "").exits(0).tells("nothing is installed");
    assert_eq!(&before - &cluster.objects(), [].into());
}

/// `install` sent its user to the namespace of another program, and `uninstall` refused to remove our own installation.
#[tokio::test]
async fn the_binding_of_another_program_is_no_installation() {
    let Some(cluster) = Cluster::start().await else { return };
    cluster
        .run("kubectl create clusterrolebinding injector --clusterrole=view --serviceaccount=other:injector")
        .exits(0);
    let refused = finish(&mut cluster.vestibule("install --no-wait"), "");
    refused.fails(1, "ClusterRoleBinding injector: it exists and is of another program");
    let kept = finish(&mut cluster.vestibule("uninstall"), "");
    kept.exits(0)
        .tells("kept     ClusterRoleBinding injector: it has no label app.kubernetes.io/name=injector");
}

/// A policy engine that denies the probe hides our own denial: `install` waited without a word about it.
#[tokio::test]
async fn install_names_another_webhook_that_denies_its_probe() {
    let Some(cluster) = Cluster::start().await else { return };
    let engine = Recorder::start(&[], |_| Answer::Deny("a secret of the policy".to_owned())).unwrap();
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "policies"},
        "webhooks": [{
            "name": "policies.example.dev",
            "clientConfig": {"url": engine.url("/"), "caBundle": engine.ca_bundle()},
            "rules": [{
                "apiGroups": ["vestibule.dev"], "apiVersions": ["*"], "resources": ["injections"], "operations": ["CREATE"],
            }],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    });
    let _installed = cluster.environment.install([configuration]).await.unwrap();
    let late = finish(&mut cluster.vestibule("install --timeout 2s"), "");
    late.fails(1, "the API server is not known to call injector after 2s: 0 of 2 pods available");
    late.tells(
        "webhook \"policies.example.dev\" of another program denies Injection vestibule-install-probe",
    );
    assert!(!late.err.contains("a secret"), "{}", late.err);
}

/// `install` said that it had applied a definition, which was gone a moment later.
#[tokio::test]
async fn install_refuses_objects_that_are_being_deleted() {
    let Some(cluster) = Cluster::start().await else { return };
    finish(&mut cluster.vestibule("install --no-wait"), "").exits(0);
    cluster.definitions_are_served().await;
    let held = |finalizers: &str| {
        let patch = format!(r#"{{"metadata": {{"finalizers": {finalizers}}}}}"#);
        cluster
            .run(&format!("kubectl patch crd injections.vestibule.dev --type=merge -p '{patch}'"))
            .exits(0);
    };
    held(r#"["example.com/hold"]"#);
    cluster.run("kubectl delete crd injections.vestibule.dev --wait=false").exits(0);
    for command in ["install --dry-run", "install --no-wait"] {
        let refused = finish(&mut cluster.vestibule(command), "");
        refused.fails(1, "nothing was changed").tells(
            "CustomResourceDefinition injections.vestibule.dev: it is being deleted; try again when it is gone",
        );
    }
    held("[]");
    cluster.run("kubectl wait --for=delete --timeout=60s crd/injections.vestibule.dev").exits(0);
    finish(&mut cluster.vestibule("install --no-wait"), "").exits(0);
}

/// The message named `kubectl describe pods`, which shows nothing about pods that a quota refuses.
#[tokio::test]
async fn install_says_why_no_pod_is_made() {
    let Some(cluster) = Cluster::start().await else { return };
    finish(&mut cluster.vestibule("install --no-wait"), "").exits(0);
    // No controller runs here.
    let refusal = json!({"status": {"conditions": [{
        "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
        "message": "pods \"injector-1\" is forbidden: failed quota: cpu: must specify limits.cpu for: webhook",
    }]}});
    cluster
        .run(&format!(
            "kubectl patch deployment injector -n {NAMESPACE} --subresource=status --type=merge -p '{refusal}'"
        ))
        .exits(0);
    let late = finish(&mut cluster.vestibule("install --timeout 1s"), "");
    late.fails(1, "the API server does not call injector after 1s: 0 of 2 pods available").tells(
        "; pods are not made: pods \"injector-1\" is forbidden: failed quota: cpu: must specify limits.cpu for: webhook",
    );
}

/// A server-side apply needs both rights. `install` made the namespace, and then failed.
#[tokio::test]
async fn install_asks_for_the_right_to_patch_in_a_new_namespace() {
    let Some(cluster) = Cluster::start().await else { return };
    let kubeconfig = cluster.environment.api_server().user_kubeconfig("maker").unwrap();
    cluster
        .run(
            "set -e
            kubectl create clusterrole maker --verb=get,create --resource='*.*'
            kubectl create clusterrolebinding maker --clusterrole=maker --user=maker",
        )
        .exits(0);
    let mut command = Folder::with(&[]).command("install --no-wait");
    command.arg("--kubeconfig").arg(kubeconfig).current_dir("/");
    let refused = finish(&mut command, "");
    refused
        .fails(1, "nothing was changed")
        .tells("Deployment vestibule-system/injector: no right to patch it");
}

/// `install` enforced the `restricted` standard for all pods of an existing namespace, and `uninstall --all` deleted it.
#[tokio::test]
async fn a_namespace_that_was_there_before_keeps_its_labels_and_stays() {
    let Some(cluster) = Cluster::start().await else { return };
    cluster
        .run(
            "kubectl create namespace shop && kubectl label namespace shop pod-security.kubernetes.io/enforce=privileged",
        )
        .exits(0);
    let labels = "kubectl get namespace shop -o jsonpath={.metadata.labels}";
    let before = cluster.run(labels).stdout();
    let installed = finish(&mut cluster.vestibule("install --no-wait -n shop"), "");
    installed.exits(0).tells("kept     Namespace shop").tells("applied  Deployment shop/injector");
    cluster.definitions_are_served().await;
    finish(&mut cluster.vestibule("uninstall --all -n shop"), "").exits(0).tells("kept     Namespace shop");
    cluster.run(labels).prints(&before);
    cluster.run("kubectl get namespace shop -o jsonpath={.metadata.deletionTimestamp}").prints("");
}
