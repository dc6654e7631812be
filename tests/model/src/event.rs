//! The events of the model.

use crate::Fault;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A second passes.
    Tick,
    /// A replica learns of a configuration's change.
    See(usize, usize),
    /// A replica reads the Secret.
    Read(usize),
    /// A replica carries out the first action of `step`.
    Act(usize),
    /// An API server learns of a configuration's change: server, configuration.
    Deliver(usize, usize),
    /// A stopped replica starts again without memory.
    Begin(usize),
    /// A replica reaches the API again.
    Heal(usize),
    /// A fault.
    Fault(Fault),
}
