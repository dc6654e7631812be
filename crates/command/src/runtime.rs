//! The Tokio runtime of a process.

use std::io;
use std::num::NonZero;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};

/// A runtime with `threads`, or with as many as there are CPUs for this process: its CPU mask and the quota of its cgroup
/// (`cpu.max` of cgroup v2, rounded down) are minded. With one, everything runs on the thread that blocks on it.
///
/// ```
/// let runtime = vestibule_command::runtime(None)?;
/// assert!(runtime.metrics().num_workers() >= 1);
/// # Ok::<_, std::io::Error>(())
/// ```
///
/// # Errors
/// The system has no threads or descriptors left.
pub fn runtime(threads: Option<NonZero<usize>>) -> io::Result<Runtime> {
    let threads = threads.or_else(|| available_parallelism().ok()).map_or(1, NonZero::get);
    let mut builder = match threads {
        1 => Builder::new_current_thread(),
        threads => {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(threads);
            builder
        }
    };
    builder.enable_all().build()
}

#[cfg(test)]
mod tests {
    use tokio::runtime::RuntimeFlavor::{CurrentThread, MultiThread};

    use super::*;

    #[test]
    fn one_thread_makes_a_current_thread_runtime() {
        let flavour = |threads| runtime(NonZero::new(threads)).unwrap().handle().runtime_flavor();
        assert_eq!((flavour(1), flavour(2)), (CurrentThread, MultiThread));
        assert_eq!(runtime(NonZero::new(3)).unwrap().metrics().num_workers(), 3);
    }
}
