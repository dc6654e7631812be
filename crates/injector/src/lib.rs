//! Injection rules on a cluster: the framework's first user.
//!
//! [`load`] reads rules from files, and a [`Configuration`] holds those in force; [`app`] makes a webhook of it, an
//! [`App`](vestibule::App) like any other. What a review does not carry, the labels of its namespace, comes from
//! [`Namespaces`].
//!
//! ```
//! use vestibule_injector::{Namespaces, app, compile};
//!
//! let rules = compile([("team.yaml", "\
//! apiVersion: vestibule.dev/v1alpha1
//! kind: Injection
//! metadata: {name: team}
//! spec:
//!   match: {namespaces: {matchLabels: {team: blue}}}
//!   pod: {labels: {team: blue}}
//! ")]).map_err(|findings| findings[0].headline())?;
//!
//! assert!(app(rules, Namespaces::labelled([("team", "blue")])).is_ok());
//! # Ok::<(), String>(())
//! ```

mod app;
mod cluster;
mod configuration;
mod deadline;
mod events;
mod handler;
mod judge;
mod namespaces;
mod observer;
mod pending_rules;
pub mod registration;
mod result;
mod sources;
mod tally;
mod verdict;

pub use app::{NAME, StartError, app, observed_app};
pub use cluster::{Cluster, ClusterError, RulesInForce, Standing, StoredRules};
pub use configuration::{CONFIG_LABEL, Configuration, Finding, Snapshot, State};
pub use namespaces::{ConnectError, Namespaces, connect};
pub use observer::{Asked, Observer, Owner};
pub use sources::{LoadError, compile, config_map_data, load, load_all};
