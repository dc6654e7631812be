//! The injector: injection rules, served as a webhook on a cluster.
//!
//! The `vestibule` binary calls this crate: `serve` through [`app`], `try` through [`observed_app`], the other commands
//! through [`load_all`] and [`ClusterReader`]. The rules themselves are in `vestibule-rules`, HTTPS and the registration in
//! `vestibule`; the injector is an [`App`](vestibule::App) like that of any author.
//!
//! - [`Configuration`] holds the rules in force. It follows files, or ConfigMaps and objects, and swaps one [`Snapshot`] for the
//!   next.
//! - [`app`] builds the hooks: two that inject, and for rules from a cluster two that validate: ConfigMaps with rules, and objects
//!   with rules or settings. Their handlers are in `handler` and `rule_validator`.
//! - [`registration`] computes from the rules which objects the API server calls the injector for.
//! - [`Namespaces`] supplies the labels of a namespace, which a review does not carry.
//! - `rule_files` reads rules from files; `configuration` follows them there and on a cluster.
//! - `lagging_pods` counts the pods with other versions of rules.
//! - `outcome_metrics` and `events` report decisions; both are [`DecisionObserver`]s. `configuration/metrics` exports all metrics,
//!   and `status` writes the status of objects.
//!
//! To read the way of a request, start in `handler`; for a change of rules, in `configuration/reloader`.
//!
//! ```
//! use vestibule_injector::{Namespaces, app, compile};
//!
//! let rules = compile([("team.yaml", "\
//! apiVersion: vestibule.dev/v1alpha1
//! kind: Injection
//! metadata: {name: team}
//! spec:
//!   match: {namespaceSelector: {matchLabels: {team: blue}}}
//!   pod: {labels: {team: blue}}
//! ")]).map_err(|findings| findings[0].headline())?;
//!
//! assert!(app(rules, Namespaces::labelled([("team", "blue")])).is_ok());
//! # Ok::<(), String>(())
//! ```

mod app;
mod cluster_reader;
mod configuration;
mod deadline;
mod events;
pub mod files;
mod handler;
mod lagging_pods;
mod namespaces;
mod observer;
mod outcome_labels;
mod outcome_metrics;
mod pages;
mod pending_rules;
pub mod registration;
mod rule_files;
mod rule_validator;
mod start_error;
mod status;
mod verdict;

pub use app::{NAME, app, observed_app};
pub use cluster_reader::{
    ClusterError, ClusterReader, PodPages, RulesInForce, RulesStatus, StoredPod, StoredRules,
};
pub use configuration::finding::Finding;
pub use configuration::snapshot::{Snapshot, SnapshotState};
pub use configuration::{CONFIG_LABEL, Configuration};
pub use namespaces::Namespaces;
pub use observer::{DecisionContext, DecisionObserver};
pub use rule_files::{LoadError, compile, config_map_data, load, load_all};
pub use start_error::StartError;
