//! Rules of namespaces, and a team that tries to reach beyond its own.

use vestibule_testenv::{Child, Options};

use super::Cluster;
use crate::fixture::Done;
use crate::wait;

const SETTINGS: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: InjectorSettings
metadata: {name: injector}
spec: {namespacedInjections: {allowedParts: [labels, env, sidecars, volumes]}}
";

/// The rule `team` of namespace `shop`.
fn team(spec: &str) -> String {
    format!(
        "apiVersion: vestibule.dev/v1alpha1\nkind: NamespacedInjection\nmetadata: {{name: team, namespace: shop}}\nspec: {spec}\n"
    )
}

const BLUE: &str = "{pod: {labels: {team: blue}}}";

/// Prints status and reason of the condition InForce of the rule.
const REASON: &str = "kubectl get namespacedinjection team -n shop -o jsonpath='{.status.conditions[?(@.type==\"InForce\")].status} {.status.conditions[?(@.type==\"InForce\")].reason}'";

const WAIT: &str = "kubectl wait --for=condition=InForce namespacedinjection/team -n shop --timeout=60s";

const APPLY_SETTINGS: &str = "kubectl apply -f rule.yaml && kubectl wait --for=condition=InForce injectorsettings/injector --timeout=60s";

/// Prints what `path` of a pod in `namespace` would be.
fn pod(namespace: &str, path: &str) -> String {
    format!(
        "kubectl create -n {namespace} --dry-run=server -o jsonpath='{path}' -f - <<'END'\n\
         {{apiVersion: v1, kind: Pod, metadata: {{name: web, labels: {{app: web}}}}, spec: {{containers: [{{name: app, image: app}}]}}}}\nEND"
    )
}

/// A cluster with the namespaces `shop` and `stop`, and the user `team`, who may write rules of namespaces in `shop`.
async fn start() -> Option<Cluster> {
    let cluster = Cluster::start(&Options::default()).await?;
    for namespace in ["shop", "stop"] {
        let script = format!(
            "kubectl create namespace {namespace} && kubectl create serviceaccount default -n {namespace} || true"
        );
        cluster.kubectl("", &script).exits(0);
    }
    let bind = "kubectl create rolebinding team -n shop --user=team --clusterrole=injector-namespacedinjections-edit";
    cluster.kubectl("", bind).exits(0);
    // The role may take effect a moment later.
    let right = "kubectl auth can-i create namespacedinjections -n shop --as=team";
    cluster.until_prints("", right, |out| out == "yes\n").await;
    Some(cluster)
}

async fn start_with_settings() -> Option<(Cluster, Child)> {
    let cluster = start().await?;
    let server = cluster.replica("first").await;
    cluster.kubectl(SETTINGS, APPLY_SETTINGS).exits(0);
    Some((cluster, server))
}

impl Cluster {
    /// Runs `script`, with `text` in `rule.yaml`, until `wanted` holds for its output.
    async fn until_prints(&self, text: &str, script: &str, wanted: impl Fn(&str) -> bool) -> Done {
        let printed = wait::until(async || self.kubectl(text, script), |done| wanted(&done.out)).await;
        printed.unwrap_or_else(|done| {
            let all = "kubectl get vninj -A -o yaml; kubectl get mutatingwebhookconfiguration -o yaml";
            panic!("{done:?}\n{}", self.kubectl("", all).out)
        })
    }
}

#[tokio::test]
async fn a_team_has_rules_for_the_pods_of_its_namespace_where_settings_allow_them() {
    let Some(cluster) = start().await else { return };
    let _server = cluster.replica("first").await;
    let apply = "kubectl --as=team apply -f rule.yaml";
    // The API server has heard of the hook a moment after the replica is ready.
    let rehearse = format!("{apply} --dry-run=server 2>&1");
    cluster.until_prints(&team(BLUE), &rehearse, |out| out.contains("VST0193")).await;
    let off = cluster.kubectl(&team(BLUE), apply);
    off.fails(1, "error[VST0193]: the InjectorSettings do not switch rules of namespaces on");
    off.tells("--> NamespacedInjection shop/team, metadata.name: team");

    cluster.kubectl(SETTINGS, APPLY_SETTINGS).exits(0);
    cluster.kubectl(&team(BLUE), &format!("{apply} && {WAIT}")).exits(0);
    let label = "{.metadata.labels.team}";
    cluster.until_prints("", &pod("shop", label), |out| out == "blue").await;
    cluster.kubectl("", &pod("stop", label)).prints("");
    let columns = cluster.kubectl("", "kubectl get vninj -n shop").stdout();
    assert!(columns.starts_with("NAME") && columns.contains("True"), "{columns}");
    let names = "kubectl get vestibule -n shop -o name";
    cluster.kubectl("", names).shows("namespacedinjection.vestibule.dev/team\n");

    // Parts that are not allowed are refused with code and field; the rule that is there stays.
    for (spec, code, field) in [
        (
            "{volumes: [{name: v, hostPath: {path: /}}]}",
            "may not add `volumes[v].hostPath`",
            "spec.volumes[0]",
        ),
        (
            "{sidecars: [{name: s, image: 's:1', securityContext: {privileged: true}}]}",
            "may not add `initContainers[s].securityContext.privileged`",
            "spec.sidecars[0]",
        ),
        ("{pod: {spec: {hostNetwork: true}}}", "may not add `hostNetwork`", "spec.pod.spec.hostNetwork"),
        ("{pod: {annotations: {a: b}}}", "`allowedParts` has no `annotations`", "spec.pod.annotations.a"),
    ] {
        let refused = cluster.kubectl(&team(spec), apply);
        refused.fails(1, "error[VST0192]: ");
        refused.tells(code).tells(format!("--> NamespacedInjection shop/team, {field}"));
    }
    // Fields that only an Injection has are unknown to the API server itself.
    for field in ["required: true", "targets: [deployments]", "match: {namespaceSelector: {}}", "remove: []"]
    {
        let spec = format!("{{{field}, pod: {{labels: {{a: b}}}}}}");
        cluster.kubectl(&team(&spec), apply).fails(1, "unknown field \"spec.");
    }
    cluster.kubectl("", &pod("shop", label)).prints("blue");

    // Switched off, nothing happens.
    let off =
        SETTINGS.replace("{namespacedInjections: {allowedParts: [labels, env, sidecars, volumes]}}", "{}");
    cluster.kubectl(&off, "kubectl apply -f rule.yaml").exits(0);
    cluster.until_prints("", &pod("shop", label), str::is_empty).await;
    cluster.kubectl(&team(BLUE).replace("blue", "red"), apply).fails(1, "VST0193");
    cluster.until_prints("", REASON, |out| out == "False SwitchedOff").await;
    cluster.kubectl(SETTINGS, &format!("{APPLY_SETTINGS} && {WAIT}")).exits(0);
    cluster.kubectl("", REASON).prints("True AllReplicas");
}

/// A controller of Kubernetes adds the injector's role to `edit`, by its label.
#[tokio::test]
async fn users_with_the_role_edit_may_write_rules_in_their_namespace() {
    let Some(cluster) = Cluster::start(&Options::default().controller_manager()).await else { return };
    cluster.kubectl("", "kubectl create namespace shop").exits(0);
    cluster.kubectl("", "kubectl create rolebinding dev -n shop --user=dev --clusterrole=edit").exits(0);
    let may = |what: &str| format!("kubectl auth can-i create {what} --as=dev");
    cluster.until_prints("", &may("namespacedinjections -n shop"), |out| out == "yes\n").await;
    for what in ["namespacedinjections -n default", "injections", "injectorsettings"] {
        cluster.kubectl("", &may(what)).exits(1).prints("no\n");
    }
}

#[tokio::test]
async fn a_team_cannot_write_anything_else_of_the_injector() {
    let Some((cluster, _server)) = start_with_settings().await else { return };
    let home = &cluster.home;
    let rule = team(BLUE);
    cluster.kubectl(&rule, "kubectl --as=team apply -f rule.yaml").exits(0);
    let injection = rule.replace("NamespacedInjection", "Injection").replace(", namespace: shop", "");
    let elsewhere = rule.replace("namespace: shop", "namespace: stop");
    let at_home = rule.replace("namespace: shop", &format!("namespace: {home}"));
    let status = "-p '{\"status\": {\"counts\": {\"injected\": 7}}}' --type=merge --subresource=status";
    let labelled = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: rules, namespace: {home}, labels: {{vestibule.dev/config: 'true'}}}}\n"
    );
    for (text, script) in [
        (&*injection, "kubectl --as=team create -f rule.yaml".to_owned()),
        (SETTINGS, "kubectl --as=team apply -f rule.yaml".to_owned()),
        ("", "kubectl --as=team delete injectorsettings injector".to_owned()),
        (&*elsewhere, "kubectl --as=team create -f rule.yaml".to_owned()),
        (&*at_home, "kubectl --as=team create -f rule.yaml".to_owned()),
        (&*labelled, "kubectl --as=team create -f rule.yaml".to_owned()),
        ("", format!("kubectl --as=team patch namespacedinjection team -n shop {status}")),
        ("", format!("kubectl --as=team patch injectorsettings injector {status}")),
        ("", "kubectl --as=team get namespacedinjections -A".to_owned()),
        ("", "kubectl --as=team get injections".to_owned()),
        ("", format!("kubectl --as=team get secrets -n {home}")),
        ("", format!("kubectl --as=team get leases -n {home}")),
        ("", format!("kubectl --as=team delete configmap injector-last-good -n {home}")),
        ("", "kubectl --as=team delete mutatingwebhookconfiguration injector".to_owned()),
        ("", "kubectl --as=team delete crd namespacedinjections.vestibule.dev".to_owned()),
        ("", "kubectl --as=team label namespace shop team=blue".to_owned()),
    ] {
        cluster.kubectl(text, &script).fails(1, "orbidden");
    }
    // A role cannot be made that gives more.
    let role = "kubectl --as=team create role more -n shop --verb=create --resource=injections.vestibule.dev";
    cluster.kubectl("", role).fails(1, "orbidden");
    // The namespace in the object decides, not one that the rule could name.
    let disguised = rule.replace("spec: {", "spec: {namespace: stop, ");
    cluster
        .kubectl(&disguised, "kubectl --as=team apply -f rule.yaml")
        .fails(1, "unknown field \"spec.namespace\"");
    // The hook refuses a rule in a namespace where rules do not apply, also from an administrator.
    let system = rule.replace("namespace: shop", "namespace: kube-system");
    cluster.kubectl(&system, "kubectl create -f rule.yaml").fails(1, "error[VST0193]");
}

#[tokio::test]
async fn a_rule_of_a_namespace_undoes_nothing_and_computes_no_way_out() {
    let Some((cluster, _server)) = start_with_settings().await else { return };
    let proxy = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: proxy}
spec:
  match: {objectSelector: {matchLabels: {app: web}}}
  sidecars: [{name: proxy, image: 'proxy:1', mode: regular}]
  volumes: [{name: certs, hostPath: {path: /etc/certs}}]
  containerPatches: [{select: {all: true}, env: [{name: HTTP_PROXY, value: cluster}]}]
";
    let apply = "kubectl apply -f rule.yaml";
    cluster
        .kubectl(
            proxy,
            &format!("{apply} && kubectl wait --for=condition=InForce injection/proxy --timeout=60s"),
        )
        .exits(0);
    let shown = "{.spec.containers[*].name} {.spec.containers[*].image} {.spec.containers[?(@.name==\"app\")].env[*].value} {.spec.volumes[*].hostPath.path}";
    let wanted = "app proxy app proxy:1 cluster /etc/certs";
    cluster.until_prints("", &pod("stop", shown), |out| out == wanted).await;
    let privileged =
        "{.spec.containers[*].securityContext}{.spec.initContainers[*].name}{.metadata.labels.mine}";
    for (spec, warning) in [
        (
            "{pod: {labels: {mine: x}}, sidecars: [{name: proxy, image: 'mine:1', mode: regular}]}",
            "container `proxy` exists already and differs",
        ),
        ("{containerPatches: [{select: {all: true}, env: [{name: HTTP_PROXY, value: mine}]}]}", ""),
        (
            "{pod: {labels: {mine: x}}, sidecars: [{name: s, image: 's:1', volumeMounts: [{name: certs, mountPath: /c}]}]}",
            "may not change `volumes[certs]`",
        ),
        (
            "{pod: {labels: {mine: x}}, sidecars: [{name: s, image: 's:1', securityContext: {privileged: {$cel: \"1 == 1\"}}}]}",
            "may not add `initContainers[s].securityContext.privileged`",
        ),
        (
            "{pod: {labels: {mine: x}}, sidecars: [{name: s, image: 's:1', volumeMounts: [{name: {$cel: \"'certs'\"}, mountPath: /c}]}]}",
            "may not change `volumes[certs]`",
        ),
    ] {
        cluster.kubectl(&team(spec), &format!("{apply} && {WAIT}")).exits(0);
        let made = cluster.kubectl("", &pod("shop", shown));
        made.prints(wanted);
        made.tells(warning);
        cluster.kubectl("", &pod("shop", privileged)).prints("");
    }
}

/// The API server stores any rule while no injector answers. The injector judges it when it starts.
#[tokio::test]
async fn a_rule_that_was_stored_while_the_injector_was_down_stays_within_the_bounds() {
    let Some(cluster) = start().await else { return };
    let rules = [
        SETTINGS.to_owned(),
        team("{volumes: [{name: v, hostPath: {path: /}}], pod: {labels: {team: blue}}}"),
        team(BLUE).replace("name: team", "name: good"),
    ];
    cluster.kubectl(&rules.join("---\n"), "kubectl apply -f rule.yaml").exits(0);
    let server = cluster.replica("first").await;
    cluster.kubectl("", &WAIT.replace("/team", "/good")).exits(0);
    let accepted = "kubectl get namespacedinjection team -n shop -o jsonpath='{.status.conditions[?(@.type==\"Accepted\")].message}'";
    let told = cluster.until_prints("", accepted, |out| !out.is_empty()).await;
    told.shows("NamespacedInjection shop/team, spec.volumes[0]").shows("error[VST0192]");
    cluster.until_prints("", &pod("shop", "{.metadata.labels.team}"), |out| out == "blue").await;
    cluster.kubectl("", &pod("shop", "{.spec.volumes[*].hostPath.path}")).prints("");

    // Switched off while no injector runs: the next one corrects the status.
    server.terminate().unwrap();
    server.wait().await.unwrap();
    cluster.kubectl("", "kubectl delete injectorsettings injector").exits(0);
    cluster.kubectl("", &REASON.replace(" team ", " good ")).prints("True AllReplicas");
    let _server = cluster.unready_replica("second").await;
    let reason = REASON.replace(" team ", " good ");
    cluster.until_prints("", &reason, |out| out == "False SwitchedOff").await;
}
