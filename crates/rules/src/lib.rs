//! Injection rules: documents and a pod in; decision, operations and explanation out; no I/O, no clock.
//!
//! [`RuleSet::load`] reads documents into a tree that knows where everything stands ([`yaml`]), and reports all that is
//! wrong with all of them ([`Diagnostic`]). [`RuleSet::evaluate`] asks every rule about an object ([`Subject`]): is it
//! meant, did somebody opt in or out, and what has to be added so that the object holds what the rule wants? The answer
//! ([`Decision`]) is a JSON Patch in which every operation knows the rule, clause and line it comes from.
//!
//! Objects stay the text they came as and are opened only along the paths rules touch, so fields that nobody here knows
//! survive. What rules made they recognise: a second evaluation changes nothing.

/// The API group of rule documents, and the domain of the keys beside them: said here and nowhere else.
macro_rules! group {
    () => {
        "vestibule.dev"
    };
}

/// The one version of the group.
macro_rules! api_version {
    () => {
        concat!(group!(), "/v1alpha1")
    };
}

mod decision;
pub mod diagnostic;
mod digest;
mod duration;
mod evaluate;
mod explanation;
mod expression;
mod format;
mod key;
mod lint;
mod load;
mod logic;
mod merge;
mod near;
mod overlay;
mod parameter;
mod pod;
mod proof;
mod quantity;
mod rule;
pub mod schema;
mod select;
mod settings;
mod subject;
pub mod syntax;
pub mod yaml;

pub use decision::{Change, Decision, Origin, Outcome, Reason, Verdict};
pub use diagnostic::{CODES, Code, Diagnostic, Position, Severity};
pub use evaluate::{RuleSet, Target};
pub use explanation::{ClauseExplanation, Effect, Explanation, Gate, Passage, RuleExplanation};
pub use proof::Proofs;
pub use rule::{Resource, Rule, Verb};
pub use select::{MIRROR_ANNOTATION, OWN_POD_LABEL};
pub use settings::{Exemption, Mode, Settings};
pub use subject::{NamespaceFacts, Subject};

/// The `apiVersion` of rule documents.
pub const API_VERSION: &str = api_version!();

/// The label or annotation by which pods and namespaces opt in or out of rules.
pub const INJECT_KEY: &str = concat!(group!(), "/inject");

/// The same for one rule: its name follows.
pub const RULE_KEY_PREFIX: &str = concat!("inject.", group!(), "/");

/// The annotation that says what rules have added to a pod. Nothing here reads it.
pub const STATUS_ANNOTATION: &str = concat!(group!(), "/injected");

/// The label of ConfigMaps with rules; its value is `true`.
pub const CONFIG_LABEL: &str = concat!(group!(), "/config");

/// Who an injector is where it reports to a cluster, as `kubectl describe` shows it.
pub const CONTROLLER: &str = concat!(group!(), "/injector");
