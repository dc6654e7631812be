//! The injector under load while its rules change, to good and to bad versions. Every pod must be injected by exactly one
//! good version, completely, and no create may fail.

mod fixture;
mod pod;
mod pod_checks;
mod replica;
mod report;
mod rule_changes;
mod run;
mod versions;

pub use fixture::InjectorFixture;
pub use pod::{CreatedPod, Outcome};
pub use pod_checks::{Period, PodChecks, check_pods};
pub use report::Figures;
pub use rule_changes::RuleChanges;
pub use run::{Options, run};
