//! What every case is made of: processes of a webhook, a balancer before them, and strangers who mean no good.
//! Those who call it as API servers do are `vestibule_caller`'s.

mod balancer;
mod bystander;
mod host;
mod memory;
mod probes;
mod process;
mod strangers;

pub use balancer::Balancer;
pub use bystander::Bystander;
pub use host::{Host, Times};
pub use memory::Memory;
pub use probes::{get, metric, sum};
pub use process::{NAME, Process, Program, answer_stdin, beside, end_with_stdin};
pub use strangers::{Left, Stranger, come};
