//! Rules under fire: an injector whose rules change, for better and for worse, while pods are created. Not one pod may
//! have anything but one good version, whole; and not one create may fail.

mod course;
mod judge;
mod pod;
mod replica;
mod report;
mod run;
mod scene;
mod versions;

pub use course::Course;
pub use judge::{Judgement, Period, judge};
pub use pod::{Made, Outcome};
pub use report::Figures;
pub use run::{Options, run};
pub use scene::Scene;
