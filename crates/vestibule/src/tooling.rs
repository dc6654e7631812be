//! Read access to an [`App`] for crates that run, describe or test one: `vestibule-command`, `vestibule-manifests` and
//! `vestibule-test`. The code of a webhook needs nothing from here.
//!
//! A command line reads [`App::defaults`] to complete its flags, and answers a single review with
//! [`RegisteredHook::hook`] over an [`Environment`]. Manifests are printed from [`App::registration`],
//! [`App::registration_names`] and [`App::read_rights`]. A test kit changes an app with [`App::confine`] and
//! [`App::wrap_handlers`] before it serves it.

use k8s_openapi::api::rbac::v1::PolicyRule;

use crate::App;
pub use crate::app::Registered as RegisteredHook;
pub use crate::app::defaults::{Defaults, https_port, plain_port};
pub use crate::handler::environment::Environment;
pub use crate::lookup::why_not_watched;
pub use crate::pipeline::span::{CallTraces, shorten};
pub use crate::registration::Entry as HookEntry;
pub use crate::registration::name::{is_dns_label, is_dns_subdomain};
pub use crate::serve::{SHORTEST_IDLE, registers};

impl App {
    /// Ports, names and numbers that the app's code sets for its installation. Flags override them.
    pub fn defaults(&self) -> &Defaults {
        &self.defaults
    }

    /// The rights that lookups and [`App::reads_namespaces`] need, with the namespace that each is for; `None` is every
    /// namespace.
    pub fn read_rights(&self) -> Vec<(Option<String>, PolicyRule)> {
        let mut rights = Vec::new();
        if self.needs_namespaces() {
            rights.push((None, policy_rule("", "namespaces", &["get", "list", "watch"])));
        }
        rights.extend(
            self.reads()
                .into_iter()
                .map(|read| (read.namespace, policy_rule(&read.group, &read.resource, read.verbs))),
        );
        rights
    }

    /// Whether handlers look objects up in a cluster.
    pub fn looks_up(&self) -> bool {
        self.needs_client() && !self.reads().is_empty()
    }

    /// Whether the app speaks to the API server for a reason of its own, besides its certificate and its registration.
    pub fn reads_the_cluster(&self) -> bool {
        self.needs_client() || self.needs_namespaces() || !self.defaults.rights.is_empty()
    }
}

/// A rule of a role: these verbs for all objects of one resource.
pub fn policy_rule(group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(vec![resource.to_owned()]),
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    }
}
