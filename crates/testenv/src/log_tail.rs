//! The end of a log.

/// The last lines of `log`, enough to see why something failed.
pub(crate) fn tail(log: &str) -> String {
    const LINES: usize = 40;
    let lines: Vec<_> = log.lines().collect();
    lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("\n")
}
