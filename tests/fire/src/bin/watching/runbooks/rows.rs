//! The result of each command of the pages in the run. The last ones change the cluster.

use super::Expected::{self, Cures, Denies, LeftOut, Refused, Shows};

/// A command of a page.
pub(super) struct Row {
    /// The alert.
    pub(super) page: &'static str,
    /// How the command begins.
    pub(super) begins: &'static str,
    pub(super) expected: Expected,
    /// The words that are typed otherwise here, because the shell has no terminal.
    pub(super) changes: &'static [(&'static str, &'static str)],
}

const AGED: &[&str] = &["VestibuleAuthorityExpiring", "VestibuleBundleOutOfSync", "VestibuleRotationBlocked"];
const WEBHOOK: &[&str] = &[
    "VestibuleCertificateExpiring",
    "VestibuleNearLimit",
    "VestibuleOverloaded",
    "VestibulePanics",
    "VestibuleRefusing",
    "VestibuleRingDiscontinuity",
    "VestibuleSlow",
    "VestibuleUndecided",
];

/// The values of placeholders, on these pages or on all.
pub(super) const VALUES: &[(&[&str], &str, &str)] = &[
    (&[], "NAME", "injector"),
    (&[], "POD", "injector"),
    (&[], "ACCOUNT", "injector"),
    (&[], "CONFIGURATION", "injector"),
    (&[], "PATH", "rules.yaml"),
    (&[], "FILE", "ca.crt"),
    (&[], "IMAGE", "registry.example.com/injector:1"),
    (&[], "FOLDER", "examples/tests"),
    (&[], "CODE", "VST0101"),
    (&[], "RESOURCE", "configmaps"),
    (&[], "KIND", "pod"),
    (&[], "OBJECT", "web-0"),
    (&[], "KEY", "watching"),
    (&[], "VALUE", "target"),
    (WEBHOOK, "NAME", "webhook"),
    (WEBHOOK, "POD", "webhook"),
    (AGED, "NAME", "aged"),
    (AGED, "ACCOUNT", "aged"),
    (AGED, "CONFIGURATION", "aged"),
    (&["VestibuleWatchBroken"], "ACCOUNT", "powerless"),
    (&["VestibuleWatchBroken"], "KIND", "ConfigMap"),
    (&["VestibuleRotationBlocked"], "NAME", "injector"),
];

const fn row(page: &'static str, begins: &'static str, expected: Expected) -> Row {
    Row { page, begins, expected, changes: &[] }
}

const fn changed(
    page: &'static str,
    begins: &'static str,
    expected: Expected,
    changes: &'static [(&'static str, &'static str)],
) -> Row {
    Row { page, begins, expected, changes }
}

const NO_OBJECTS: &str = "the rules of this run are in ConfigMaps";
const NO_CONTAINER: &str = "no container runtime runs here";
const OF_THE_NODE: &str = "it is about the clock of this machine";

pub(super) const ROWS: &[Row] = &[
    row("VestibuleNotReady", "kubectl get pods", Shows("injector")),
    row("VestibuleNotReady", "kubectl describe pod", Shows("Containers:")),
    row("VestibuleNotReady", "vestibule certs show", Shows("active")),
    row("VestibuleNotReady", "kubectl get networkpolicy", Shows("injector")),
    row("VestibuleFailingOpen", "kubectl get mutating", Shows("best-effort.injector.vestibule.dev")),
    row("VestibuleFailingOpen", "kubectl rollout restart", Shows("deployment.apps/injector restarted")),
    row("VestibuleUndecided", "sum by", Shows("")),
    row("VestibuleUndecided", "kubectl logs", Shows("\"error\"")),
    row("VestibuleUndecided", "kubectl get KIND", Shows("web-0")),
    row("VestibuleUndecided", "kubectl api-resources", Shows("configmaps")),
    row("VestibuleUndecided", "kubectl get mutating", Shows("5")),
    row("VestibuleRefusing", "sum by (reason)", Shows("")),
    row("VestibuleRefusing", "sum by (kind", Shows("")),
    row("VestibuleRefusing", "kubectl get mutating", Shows("/mutate/slow")),
    row("VestibuleRefusing", "kubectl logs", Shows("\"serving\"")),
    row("VestibuleRefusing", "kubectl get pod ", Shows("webhook")),
    row("VestibuleRefusing", "kubectl get networkpolicy", Shows("webhook")),
    row("VestibulePanics", "kubectl logs", Shows("\"place\"")),
    row("VestibulePanics", "kubectl get KIND", Shows("")),
    row("VestibulePanics", "vestibule try", Shows("web-0")),
    row("VestibuleSlow", "rate", Shows("")),
    row("VestibuleSlow", "kubectl describe", Shows("Limits:")),
    row("VestibuleSlow", "kubectl get --raw", Shows("slow.webhook.vestibule.dev")),
    row("VestibuleDenialsJump", "kubectl logs", Shows("web-")),
    row("VestibuleDenialsJump", "kubectl get events", Shows("denied the request")),
    row("VestibuleDenialsJump", "kubectl get vestibule", LeftOut(NO_OBJECTS)),
    row("VestibuleDenialsJump", "kubectl get configmaps", Shows("manager:")),
    row("VestibuleDenialsJump", "vestibule test", Shows("all as expected")),
    row("VestibuleOverloaded", "sum by", Shows("")),
    row("VestibuleOverloaded", "sum(", Shows("")),
    row("VestibuleOverloaded", "kubectl scale", Shows("scaled")),
    row("VestibuleOverloaded", "kubectl logs", Shows("ConfigMap")),
    row("VestibuleNearLimit", "kubectl exec", LeftOut(NO_CONTAINER)),
    row("VestibuleNearLimit", "kubectl debug", LeftOut(NO_CONTAINER)),
    row("VestibuleNearLimit", "vestibule manifests", Shows("cidr: 10.0.0.0/28")),
    row("VestibuleNearLimit", "kubectl scale", Shows("scaled")),
    row("VestibuleRulesNotReloaded", "kubectl get vestibule", LeftOut(NO_OBJECTS)),
    row("VestibuleRulesNotReloaded", "kubectl get injection", LeftOut(NO_OBJECTS)),
    row("VestibuleRulesNotReloaded", "kubectl get events", Shows("broken")),
    row("VestibuleRulesNotReloaded", "kubectl logs", Shows("VST")),
    row("VestibuleRulesNotReloaded", "vestibule explain", Shows("VST0101")),
    row("VestibuleWatchBroken", "curl", Shows("[-]")),
    row(
        "VestibuleWatchBroken",
        "kubectl port-forward",
        LeftOut("the block of VestibuleNotReady has it, which a test of crates/cli runs"),
    ),
    row("VestibuleWatchBroken", "kubectl auth", Denies("no")),
    row("VestibuleWatchBroken", "kubectl api-resources", Shows("configmaps")),
    row("VestibuleWatchBroken", "kubectl get --raw", Shows("ok")),
    row("VestibuleCertificateExpiring", "kubectl logs", Shows("\"level\"")),
    row(
        "VestibuleCertificateExpiring",
        "kubectl describe certificate",
        LeftOut("the definition is cert-manager's"),
    ),
    row("VestibuleCertificateExpiring", "kubectl get secret", Shows("")),
    row("VestibuleBundleContested", "kubectl get events", Shows("kubectl")),
    row("VestibuleBundleContested", "kubectl get mutating", Shows("manager: vestibule")),
    changed(
        "VestibuleBundleContested",
        "vestibule manifests",
        Shows("none"),
        &[("injector:1", "injector:1 > printed; grep -e caBundle: -e inject-ca-from printed || echo none")],
    ),
    row("VestibuleRotationBlocked", "date", Shows("UTC")),
    row(
        "VestibuleRotationBlocked",
        "kubectl rollout status",
        LeftOut("replicas are processes here, so a Deployment never gets its pods"),
    ),
    row("VestibuleRotationHeld", "kubectl get events", Shows("BundleRepaired")),
    row("VestibuleRotationHeld", "vestibule certs show", Shows("next")),
    row("VestibuleHandshakesFailing", "kubectl logs", Shows("127.0.0.1")),
    row("VestibuleHandshakesFailing", "vestibule certs check", Shows("")),
    row("VestibuleClockSkew", "date", Shows("UTC")),
    row("VestibuleClockSkew", "kubectl debug", LeftOut(NO_CONTAINER)),
    row("VestibuleClockSkew", "kubectl get --raw", Shows("Date:")),
    row("VestibuleClockSkew", "chronyc", LeftOut(OF_THE_NODE)),
    row("VestibuleClockSkew", "timedatectl", LeftOut(OF_THE_NODE)),
    // The troubles that the pages cure.
    row("VestibuleAuthorityExpiring", "kubectl get pods", Shows("injector")),
    row("VestibuleAuthorityExpiring", "kubectl auth", Denies("no")),
    row("VestibuleAuthorityExpiring", "kubectl get secret", Shows("")),
    row("VestibuleBundleOutOfSync", "kubectl get mutating", Shows("aged")),
    row("VestibuleBundleOutOfSync", "kubectl auth", Denies("no")),
    row("VestibuleBundleOutOfSync", "kubectl patch", Refused("cannot patch resource")),
    changed(
        "VestibuleBundleOutOfSync",
        "vestibule manifests",
        Cures("vestibule_cabundle_in_sync{job=\"aged\"} == 1"),
        &[("vestibule manifests", "my-webhook manifests --name aged"), ("--rules rules.yaml ", "")],
    ),
    changed(
        "VestibuleAuthorityExpiring",
        "vestibule manifests",
        Cures("vestibule_rotation_blocked{job=\"aged\",reason=\"ring_write\"} == 0"),
        &[("vestibule manifests", "my-webhook manifests --name aged"), ("--rules rules.yaml ", "")],
    ),
    changed("VestibuleAuthorityExpiring", "vestibule certs rotate", Shows(""), &[("rotate", "rotate --yes")]),
    changed(
        "VestibuleWatchBroken",
        "vestibule manifests",
        Shows("clusterrole.rbac.authorization.k8s.io/injector"),
        &[],
    ),
    row("VestibuleRingDiscontinuity", "kubectl get secret", Shows("vestibule")),
    changed("VestibuleRingDiscontinuity", "vestibule certs revoke", Shows(""), &[("revoke", "revoke --yes")]),
    changed(
        "VestibuleCertificateExpiring",
        "kubectl delete",
        Shows("deleted"),
        &[("delete", "delete --wait=false")],
    ),
    row("VestibuleNotReady", "kubectl delete", Shows("deleted")),
];
