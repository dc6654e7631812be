//! The command blocks that need more than the binary, and the test that runs each.

/// A block of a page.
pub(super) struct Row {
    pub(super) page: &'static str,
    /// The start of its first line, without the prompt.
    pub(super) begins: &'static str,
    pub(super) held: Held,
    /// Placeholders and their values.
    pub(super) with: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy)]
pub(super) enum Held {
    /// Run as it stands, by `commands_of_pages_are_taken_by_a_real_api_server`, in the order of the rows.
    Here,
    /// Run as it stands, by `commands_of_pages_work_with_an_installed_injector`.
    Installed,
    /// Run by the test of this name: from the page, or the same commands with other names.
    By(&'static str),
    /// Why no test can run it.
    Not(&'static str),
}

impl Row {
    pub(super) fn begins(&self, block: &str) -> bool {
        block.strip_prefix("$ ").unwrap_or(block).starts_with(self.begins)
    }
}

/// Lines that are left out of blocks, with the reason.
pub(super) const LEFT_OUT: [(&str, &str); 3] = [
    ("cargo xtask test", "it runs all tests, the test of this page among them"),
    ("kubectl logs ", "logs come from a kubelet, and the tests have an API server without nodes"),
    (
        "operator-identity ",
        "the package's own tests apply its manifests and run it: `cargo test -p operator-identity`",
    ),
];

const NO_NODE: Held =
    Held::Not("port-forward leads to a pod on a node, and the tests have an API server without nodes");
const IMAGE: (&str, &str) = ("IMAGE", "registry.example.com/injector:1");

const fn here(
    page: &'static str,
    begins: &'static str,
    with: &'static [(&'static str, &'static str)],
) -> Row {
    Row { page, begins, held: Held::Here, with }
}

const fn installed(
    page: &'static str,
    begins: &'static str,
    with: &'static [(&'static str, &'static str)],
) -> Row {
    Row { page, begins, held: Held::Installed, with }
}

const fn row(page: &'static str, begins: &'static str, held: Held) -> Row {
    Row { page, begins, held, with: &[] }
}

const TUTORIAL: &str = "docs/tutorial/first-webhook.md";
const CERTIFICATES: &str = "docs/how-to/certificates.md";
pub(super) const CHANGE_RULES: &str = "docs/how-to/change-rules.md";
const OBJECTS: &str = "docs/how-to/rules-as-objects.md";
const REGISTRATION: &str = "docs/how-to/registration.md";
const SWITCH_OFF: &str = "docs/how-to/switch-off.md";
const CALLING: &str = "docs/how-to/who-is-calling.md";
const WATCH: &str = "docs/how-to/watch.md";
const OPERATOR: &str = "examples/operator-identity/README.md";

pub(super) const ROWS: &[Row] = &[
    here("README.md", "cargo run -- try deployment.yaml", &[IMAGE]),
    here("README.md", "cargo run -- try\n", &[]),
    here(CHANGE_RULES, "kubectl -n webhooks create configmap cache", &[]),
    here(TUTORIAL, "cargo run --quiet -- manifests", &[]),
    here(CERTIFICATES, "kubectl create namespace webhooks", &[("webhooks", "certificates"), IMAGE]),
    here(CERTIFICATES, "vestibule certs new", &[]),
    here(REGISTRATION, "my-webhook manifests", &[]),
    here(CALLING, "my-webhook manifests", &[IMAGE, ("ca.crt", "pki/ca.crt")]),
    here(
        CALLING,
        "my-webhook serve ... --client-auth observe",
        &[("...", "--identity local:calling"), ("ca.crt", "pki/ca.crt")],
    ),
    here(CALLING, "my-webhook serve ... --client-auth require", &[("...", "--identity local:calling")]),
    here(REGISTRATION, "my-webhook serve --url", &[]),
    here(REGISTRATION, "my-webhook serve --service", &[]),
    here("docs/how-to/log-level.md", "my-webhook loglevel", &[("-n shop", "-n webhooks")]),
    here(SWITCH_OFF, "kubectl delete", &[]),
    here(SWITCH_OFF, "vestibule manifests", &[IMAGE]),
    here("docs/explanation/registration-from-rules.md", "vestibule manifests", &[]),
    here("docs/how-to/alerts/README.md", "kubectl get pods", &[("NS", "webhooks"), ("NAME", "injector")]),
    here(
        "docs/how-to/alerts/VestibuleRulesNotReloaded.md",
        "kubectl get configmap",
        &[("CONFIGMAP", "cache"), ("NS", "webhooks"), ("FILE", "examples/rules/nginx.yaml")],
    ),
    here("docs/reference/events.md", "kubectl get events", &[]),
    here(OPERATOR, "kubectl create namespace demo", &[]),
    installed(CHANGE_RULES, "kubectl -n webhooks get configmap cache", &[]),
    installed(CERTIFICATES, "kubectl get mutatingwebhookconfiguration", &[("127.0.0.1:8443", "ADDRESS")]),
    installed(
        "docs/how-to/alerts/VestibuleFailingOpen.md",
        "vestibule certs check",
        &[("HOST:PORT", "ADDRESS"), ("FILE", "ca.crt"), ("NAME.NS", "injector.webhooks")],
    ),
    installed(
        CERTIFICATES,
        "vestibule certs show ",
        &[("certs rotate", "certs rotate --yes"), ("certs revoke", "certs revoke --yes")],
    ),
    row(CERTIFICATES, "kubectl port-forward", NO_NODE),
    row("docs/how-to/alerts/VestibuleNotReady.md", "kubectl port-forward", NO_NODE),
    row("docs/reference/metrics.md", "kubectl port-forward", NO_NODE),
    row(CHANGE_RULES, "kubectl -n webhooks port-forward", NO_NODE),
    row("docs/how-to/traces.md", "my-webhook serve --otlp-endpoint", Held::By("what_is_seen_from_outside")),
    row(WATCH, "vestibule serve", Held::By("what_is_seen_from_outside")),
    row(WATCH, "promtool test", Held::By("what_is_seen_from_outside")),
    row(OBJECTS, "kubectl apply", Held::By("a_rule_is_in_force_when_kubectl_wait_returns")),
    row(
        OBJECTS,
        "kubectl explain",
        Held::By("the_api_server_explains_and_checks_the_format_while_no_injector_runs"),
    ),
    row(OBJECTS, "vestibule explain", Held::By("a_rule_is_in_force_when_kubectl_wait_returns")),
    row(WATCH, "kubectl apply", Held::By("a_skipped_rule_makes_an_event_on_the_job")),
    row(
        TUTORIAL,
        "cargo new",
        Held::Not(
            "makes an empty package; that the page's files are those of a package that compiles is tested",
        ),
    ),
    row(TUTORIAL, "cargo run --quiet -- review", Held::By("the_commands_of_the_page_print_what_it_says")),
    row(TUTORIAL, "cargo test", Held::By("a_real_api_server_agrees")),
    row("examples/tidy-pods/README.md", "cargo test", Held::By("a_real_api_server_agrees")),
    row(
        "examples/env-injector/README.md",
        "cargo run",
        Held::By("target_is_the_first_variable_of_deployments_with_the_label"),
    ),
    row(
        OPERATOR,
        "operator-identity run --namespace",
        Held::By("a_signal_ends_the_operator_without_an_api_server"),
    ),
    row(
        "docs/explanation/reload.md",
        "cargo xtask reload",
        Held::Not("half an hour of load on a release build; the figures on the page are its output"),
    ),
    row(
        "docs/explanation/soak.md",
        "cargo xtask soak",
        Held::Not("hours of rotations under load; the figures on the page are its output"),
    ),
];
