//! What every case is made of: processes of a webhook, a balancer before them, and callers that count.

mod balancer;
mod calls;
mod memory;
mod process;

pub use balancer::Balancer;
pub use calls::{Calls, Pace, Tally};
pub use memory::Memory;
pub use process::{NAME, Process, Program, end_with_stdin};
