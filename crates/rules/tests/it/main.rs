//! Rules from the outside: documents and objects in, patches and explanations out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod cases;
mod container_checks;
mod defects;
mod documents;
mod explain;
mod expressions;
mod hostile;
mod injection_cases;
mod kit;
mod large_pods;
mod laws;
mod lint;
mod machine;
mod many;
mod messages;
mod opt;
mod parts;
mod positions;
mod profile;
mod proof;
mod regressions;
mod removals;
mod samples;
mod schema;
mod select;
mod settings;
mod status;
mod targets;
mod typed;
mod yaml_patch;
