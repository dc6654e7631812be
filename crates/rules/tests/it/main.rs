//! Rules from the outside: documents and objects in, patches and explanations out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod cases;
mod container_checks;
mod custom_resource;
mod defects;
mod documents;
mod explain;
mod export;
mod expressions;
mod hostile;
mod injection_cases;
mod kit;
mod large_pods;
mod laws;
mod lint;
mod many;
mod messages;
mod namespaced;
mod opt;
mod parts;
mod pod_types;
mod positions;
mod proof;
mod regressions;
mod removals;
mod rename;
mod samples;
mod schema;
mod security_profile;
mod select;
mod selectors;
mod settings;
mod status;
mod targets;
mod yaml_patch;
