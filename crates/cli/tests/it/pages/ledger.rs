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
    /// Run from the page by the test of this name.
    By(&'static str),
    /// Load for hours: the test of this name passes its flags, from the page, to the program's parser.
    Parsed(&'static str),
}

impl Row {
    pub(super) fn begins(&self, block: &str) -> bool {
        block.strip_prefix("$ ").unwrap_or(block).starts_with(self.begins)
    }
}

const IMAGE: (&str, &str) = ("IMAGE", "registry.example.com/injector:1");
const INJECTOR: [(&str, &str); 2] = [("NS", "webhooks"), ("NAME", "injector")];
const FORWARDED: [(&str, &str); 3] = [INJECTOR[0], INJECTOR[1], ("localhost", "LOCAL")];

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

const PARSED: &str = "every_soak_reload_and_fire_command_in_a_page_parses";
const TUTORIAL: &str = "docs/tutorial/first-webhook.md";
const INSTALL: &str = "docs/how-to/install.md";
const CERTIFICATES: &str = "docs/how-to/certificates.md";
pub(super) const CHANGE_RULES: &str = "docs/how-to/change-rules.md";
const OBJECTS: &str = "docs/how-to/rules-as-objects.md";
const DRIFT: &str = "docs/how-to/find-lagging-pods.md";
const REGISTRATION: &str = "docs/how-to/registration.md";
const SWITCH_OFF: &str = "docs/how-to/switch-off.md";
const CALLING: &str = "docs/how-to/who-is-calling.md";
pub(super) const TRACES: &str = "docs/how-to/traces.md";
const WATCH: &str = "docs/how-to/watch.md";
const OPERATOR: &str = "examples/operator-identity/README.md";

pub(super) const ROWS: &[Row] = &[
    here(
        "README.md",
        "cargo run -- try deployment.yaml",
        &[("-- install", "-- install --no-wait -n webhooks"), IMAGE],
    ),
    here("README.md", "cargo run -- try\n", &[]),
    here(TUTORIAL, "cargo run --quiet -- manifests", &[]),
    here(CERTIFICATES, "kubectl create namespace webhooks", &[("webhooks", "certificates"), IMAGE]),
    here(CERTIFICATES, "vestibule certs new", &[]),
    here(REGISTRATION, "my-webhook manifests --service", &[]),
    here(CALLING, "my-webhook manifests", &[IMAGE, ("ca.crt", "pki/ca.crt")]),
    here(
        CALLING,
        "my-webhook serve ... --client-auth observe",
        &[("...", "--identity local:calling"), ("ca.crt", "pki/ca.crt")],
    ),
    here(CALLING, "my-webhook serve ... --client-auth require", &[("...", "--identity local:calling")]),
    here(TRACES, "my-webhook serve --otlp-endpoint", &[("--otlp", "--identity local:calling --otlp")]),
    here(REGISTRATION, "my-webhook manifests --url", &[]),
    here(REGISTRATION, "my-webhook serve --url", &[]),
    here(REGISTRATION, "my-webhook serve --service", &[]),
    here("docs/how-to/log-level.md", "my-webhook loglevel", &[("-n shop", "-n webhooks")]),
    here(
        CERTIFICATES,
        "my-webhook manifests --identity mounted",
        &[IMAGE, ("name=my-webhook", "name=injector")],
    ),
    here(SWITCH_OFF, "kubectl delete", &[]),
    here(SWITCH_OFF, "vestibule manifests", &[IMAGE]),
    here("docs/explanation/registration-from-rules.md", "vestibule manifests", &[]),
    here(
        "docs/how-to/alerts/VestibuleRulesNotReloaded.md",
        "kubectl get configmap",
        &[("CONFIGMAP", "injector-rules"), ("NS", "webhooks"), ("FILE", "examples/rules/nginx.yaml")],
    ),
    here("docs/reference/events.md", "kubectl get events", &[]),
    installed(CHANGE_RULES, "kubectl -n webhooks get configmap cache", &[]),
    installed("docs/how-to/alerts/README.md", "kubectl get pods", &INJECTOR),
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
    installed(
        CERTIFICATES,
        "kubectl port-forward",
        &[
            ("8443:443", "8443:SERVICE-PORT"),
            ("127.0.0.1", "LOCAL"),
            ("webhooks/injector", "webhooks/injector:SERVICE-PORT"),
        ],
    ),
    installed("docs/how-to/alerts/VestibuleNotReady.md", "kubectl port-forward", &FORWARDED),
    installed("docs/reference/metrics.md", "kubectl port-forward", &FORWARDED),
    installed(CHANGE_RULES, "kubectl -n webhooks port-forward", &[("localhost", "LOCAL")]),
    row(WATCH, "vestibule serve", Held::By("the_page_about_watching_shows_real_output")),
    row(WATCH, "promtool test", Held::By("the_page_about_watching_shows_real_output")),
    row(OBJECTS, "kubectl apply", Held::By("a_rule_is_in_force_when_kubectl_wait_returns")),
    row(
        OBJECTS,
        "kubectl explain",
        Held::By("the_api_server_explains_and_checks_the_format_while_no_injector_runs"),
    ),
    row(OBJECTS, "vestibule explain", Held::By("a_rule_is_in_force_when_kubectl_wait_returns")),
    row(
        "docs/how-to/two-versions-of-a-rule.md",
        "kubectl label",
        Held::By("a_label_of_the_namespace_or_the_pod_chooses_the_version"),
    ),
    row(DRIFT, "kubectl apply -f rule.yaml", Held::By("the_commands_of_the_page_list_pods_with_other_rules")),
    row(DRIFT, "kubectl rollout restart", Held::By("the_commands_of_the_page_list_pods_with_other_rules")),
    row(
        DRIFT,
        "kubectl patch injection team",
        Held::By("the_commands_of_the_page_list_pods_with_other_rules"),
    ),
    row(DRIFT, "kubectl get injection team", Held::By("the_commands_of_the_page_list_pods_with_other_rules")),
    row(
        DRIFT,
        "kubectl apply -f auditor.yaml",
        Held::By("the_commands_of_the_page_list_pods_with_other_rules"),
    ),
    row(WATCH, "kubectl apply", Held::By("a_skipped_rule_makes_an_event_on_the_job")),
    row(TUTORIAL, "cargo new", Held::By("the_files_of_the_page_are_a_package_in_a_new_folder")),
    row(TUTORIAL, "cargo run --quiet -- review", Held::By("the_commands_of_the_page_print_its_output")),
    row(TUTORIAL, "cargo test", Held::By("cargo_test_of_the_pages_is_of_this_package")),
    row("examples/tidy-pods/README.md", "cargo test", Held::By("cargo_test_of_the_pages_is_of_this_package")),
    row("examples/env-injector/README.md", "cargo run", Held::By("the_commands_of_the_page_work")),
    row(OPERATOR, "kubectl create namespace demo", Held::By("the_commands_of_the_page_work_on_a_cluster")),
    row(
        OPERATOR,
        "operator-identity run --namespace",
        Held::By("the_commands_of_the_page_work_on_a_cluster"),
    ),
    row(
        INSTALL,
        "vestibule install",
        Held::By("install_waits_until_the_webhook_is_called_and_uninstall_leaves_nothing"),
    ),
    row(
        INSTALL,
        "vestibule uninstall",
        Held::By("install_waits_until_the_webhook_is_called_and_uninstall_leaves_nothing"),
    ),
    row(
        INSTALL,
        "kubectl apply --server-side -f",
        Held::By("kubectl_and_kustomize_install_and_remove_everything"),
    ),
    row(
        INSTALL,
        "kubectl apply --server-side -k",
        Held::By("kubectl_and_kustomize_install_and_remove_everything"),
    ),
    row(INSTALL, "helm install", Held::By("helm_installs_upgrades_and_uninstalls")),
    row(INSTALL, "helm uninstall", Held::By("helm_installs_upgrades_and_uninstalls")),
    // There is no release yet; the test compares the names with those that the release signs.
    row("SECURITY.md", "VERSION=", Held::By("the_commands_of_security_md_verify_what_a_release_signs")),
    row("docs/explanation/reload.md", "cargo xtask reload", Held::Parsed(PARSED)),
    row("docs/explanation/soak.md", "cargo xtask soak", Held::Parsed(PARSED)),
];
