//! Rules under fire: an injector whose rules change, for better and for worse, while pods are created. Not one pod may
//! have anything but one good version, whole; and not one create may fail.

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
