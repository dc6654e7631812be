//! Who learns of decisions.

use vestibule_rules::Decision;

/// Learns of every decision, before it is sent: for explanations and for counting.
///
/// A decision holds the operations, and they may hold secrets: pass on names and reasons only.
pub trait Observer: Send + Sync + 'static {
    /// The rules have decided about an object.
    fn decided(&self, decision: &Decision);
}

/// Nobody.
impl Observer for () {
    fn decided(&self, _: &Decision) {}
}
