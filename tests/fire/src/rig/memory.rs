//! What a process holds, as the system tells it.

use std::fs;

/// Memory and descriptors of a process at one moment.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Memory {
    /// Resident now, in KiB.
    pub resident: u64,
    /// The most that was ever resident since [`Memory::forget_peak`], in KiB.
    pub peak: u64,
    /// Open descriptors.
    pub descriptors: usize,
}

impl Memory {
    /// Of the process `id`; `None` when it has gone.
    #[must_use]
    pub fn of(id: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let read = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let descriptors = fs::read_dir(format!("/proc/{id}/fd")).ok()?.count();
        Some(Self { resident: read("VmRSS:")?, peak: read("VmHWM:")?, descriptors })
    }

    /// From here on the peak is counted anew.
    pub fn forget_peak(id: u32) {
        // See proc_pid_clear_refs(5). Where it is refused, the peak is that of the whole life: too strict, never too lax.
        let _ = fs::write(format!("/proc/{id}/clear_refs"), "5");
    }
}
