//! Injection rules: documents and a pod in; a decision, a JSON Patch and an explanation out. No input or output, no clock.
//!
//! The injector asks this crate about every admission request. The command line asks it for `inject`, `explain`, `lint`
//! and `test`, and gets the same answers.
//!
//! - [`RuleSet::load`] reads documents ([`yaml`]) and compiles their rules. It reports all errors of all documents at
//!   once ([`Diagnostic`]), each with its line.
//! - [`RuleSet::evaluate`] evaluates every rule for one object ([`Subject`]). The [`Decision`] holds a verdict for each
//!   rule and a JSON Patch; every operation knows the rule, clause and line that it comes from.
//! - [`RuleSet::explain`] tells the same evaluation step by step. [`RuleSet::prove`] shows that a second evaluation
//!   changes nothing, since the API server evaluates again when other webhooks have changed the object.
//!
//! An object stays the text that arrived and is opened only along the paths that rules touch, so fields that this crate
//! does not know survive.
//!
//! | A word in the names of modules | Meaning |
//! |---|---|
//! | `key` | the members that identify the items of a list |
//! | `logic` | the parameters, variables and conditions of a rule |
//! | `overlay` | a value that a rule adds: a fragment of a pod, perhaps with expressions |
//! | `subject` | the object and the request that rules are evaluated for |
//! | `reference` | the documentation of the rule format, made from `format` |
//! | `pod`, `pod_types` | facts about the fields of pods; the check of their types |
//!
//! To start reading: `evaluate.rs`, then `select` and `merge`. A new field of the rule format is declared in `format`, read in
//! `load`, and kept in `rule`; a new field of `containerPatches` that is merged as a part needs only its line in
//! `format/container.rs`. `Rule::parts` is the one walk over the parts of a rule.

/// The API group of rule documents, and the domain of all label and annotation keys. No other file spells it out.
macro_rules! group {
    () => {
        "vestibule.dev"
    };
}

/// The only version of the group.
macro_rules! api_version {
    () => {
        concat!(group!(), "/v1alpha1")
    };
}

mod carried_rule;
pub mod custom_resource;
mod decision;
pub mod diagnostic;
mod did_you_mean;
mod digest;
mod duration;
mod evaluate;
mod explanation;
mod expression;
mod format;
mod key;
mod label_selector;
mod label_values;
mod lint;
mod load;
mod logic;
mod merge;
mod namespaced;
mod overlay;
mod parameter;
mod pod;
mod pod_types;
mod proof;
mod quantity;
pub mod reference;
pub mod rename;
mod rule;
pub mod schema;
mod select;
mod settings;
mod subject;
pub mod syntax;
mod well_known;
pub mod yaml;

pub use carried_rule::CarriedRule;
pub use decision::{Change, Decision, Origin, Outcome, Reason, Verdict};
pub use diagnostic::{CODES, Code, Diagnostic, Position, Severity};
pub use evaluate::{RuleSet, Target};
pub use explanation::{ClauseExplanation, Effect, Explanation, Gate, GateResult, RuleExplanation};
pub use label_selector::{LabelRequirement, LabelSelector, NAMESPACE_NAME};
pub use label_values::{LabelOperator, LabelValues};
pub use namespaced::{MAX_NAMESPACED_BYTES, NamespacedBounds, NamespacedRules};
pub use proof::Proofs;
pub use rule::{MetadataOf, Resource, Rule, Verb};
pub use select::MIRROR_ANNOTATION;
pub use settings::{Exemption, Mode, Settings};
pub use subject::{NamespaceFacts, Subject};
pub use well_known::{
    API_VERSION, CONFIG_LABEL, CONTROLLER, CustomResource, INJECT_KEY, OWN_KEYS, OWN_POD_LABEL,
    RULE_KEY_PREFIX, STATUS_ANNOTATION,
};
