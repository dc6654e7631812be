//! Building blocks of the cases: webhook processes, a balancer in front of them, and hostile clients. Clients that call
//! like kube-apiserver are in `vestibule_caller`, and many of their calls in `webhook_load`.

mod api_server;
mod background_load;
mod balancer;
mod cpu_times;
mod hostile_client;
mod installed;
mod memory;
mod probes;
mod process;
mod replica;

pub use api_server::send;
pub use background_load::BackgroundLoad;
pub use balancer::Balancer;
pub use cpu_times::{CpuMonitor, CpuTimes};
pub use hostile_client::{HostileClient, Outcomes, open_many};
pub use installed::Installed;
pub use memory::Memory;
pub use probes::{get, metric, sum};
pub use process::{NAME, Process, Program, answer_stdin, beside, end_with_stdin};
pub use replica::Replica;
