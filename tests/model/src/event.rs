//! What can happen.

use crate::Fault;

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A second passes.
    Tick,
    /// A replica learns of a configuration's change.
    See(usize, usize),
    /// A replica reads the Secret.
    Read(usize),
    /// A replica does the first thing that `step` says.
    Act(usize),
    /// An API server learns of a configuration's change: server, configuration.
    Deliver(usize, usize),
    /// A replica that stopped begins anew.
    Begin(usize),
    /// A replica reaches the API again.
    Heal(usize),
    /// Something goes wrong.
    Fault(Fault),
}
