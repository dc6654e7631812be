//! Memory and descriptors of a process, from /proc.

use std::fs;

/// Memory and descriptors of a process at one moment.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Memory {
    /// Resident memory in KiB.
    pub resident: u64,
    /// The peak of resident memory since [`Memory::forget_peak`], in KiB.
    pub peak: u64,
    /// Open descriptors.
    pub descriptors: usize,
}

impl Memory {
    /// Measures the process `id`; `None` if it has ended.
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

    /// Resets the peak of the process `id`.
    pub fn forget_peak(id: u32) {
        // See proc_pid_clear_refs(5). If the write is refused, the peak is that of the whole lifetime, which is stricter.
        let _ = fs::write(format!("/proc/{id}/clear_refs"), "5");
    }
}
