//! Items of this crate for the crates that run, describe or test an [`App`] (`vestibule-command`, `vestibule-manifests`,
//! `vestibule-test`), and for the injector, whose entries change while it runs. The code of another webhook needs nothing from here.
//!
//! A command line reads [`App::defaults`] to complete its flags, and answers a single review with
//! [`RegisteredHook::hook`] over an [`Environment`]. Manifests are printed from [`App::registration`],
//! [`App::registration_names`] and [`App::read_rights`]. A test kit changes an app with [`App::confine`] and
//! [`App::wrap_handlers`] before it serves it.

use k8s_openapi::api::rbac::v1::PolicyRule;

use crate::App;
pub use crate::app::Registered as RegisteredHook;
pub use crate::app::defaults::{Defaults, https_port, plain_port};
pub use crate::pipeline::environment::Environment;
pub use crate::pipeline::span::{CallTraces, shorten};
pub use crate::registration::HookEntry;
pub use crate::registration::entries::{Entries, EntriesError, Entry};
pub use crate::registration::name::{is_dns_label, is_dns_subdomain};
pub use crate::registration::on::Declaration;
pub use crate::request_error::RequestError;
pub use crate::serve::{SHORTEST_IDLE, registers};
pub use crate::telemetry::certificates::CertificateCounters;

impl App {
    /// Ports, names and numbers that the app's code sets for its installation. Flags override them.
    pub fn defaults(&self) -> &Defaults {
        &self.defaults
    }

    /// The rights that lookups and [`App::reads_namespaces`] need, with the namespace that each is for; `None` is every
    /// namespace.
    pub fn read_rights(&self) -> Vec<(Option<String>, PolicyRule)> {
        let namespaces = self
            .reads_namespaces
            .then(|| vestibule_identity::policy_rule("", "namespaces", &["get", "list", "watch"], &[]));
        namespaces.map(|right| (None, right)).into_iter().chain(self.lookup_rights()).collect()
    }

    /// Whether handlers look objects up in a cluster.
    pub fn looks_up(&self) -> bool {
        self.needs_client() && !self.lookup_rights().is_empty()
    }

    /// Whether the app connects to the API server for a reason of its own, besides its certificate and its registration.
    pub fn reads_the_cluster(&self) -> bool {
        self.needs_client() || self.reads_namespaces || !self.defaults.rights.is_empty()
    }
}
