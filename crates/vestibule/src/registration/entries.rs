//! Entries of webhook configurations that change while the app runs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vestibule_admission::HookKind;
use vestibule_identity::{Desired, DesiredUpdates};

use super::HookEntry;
use crate::registration::on::{On, Raw};

/// One entry that [`Entries`] can replace while the app runs. It calls one mutating hook. Several entries may call the same hook,
/// each with its own selectors.
#[derive(Clone)]
pub struct Entry {
    hook: String,
    pub(crate) registered: HookEntry,
}

impl Entry {
    /// Calls the mutating hook `hook`, in an entry `NAME.APP.vestibule.dev`.
    ///
    /// ```
    /// use vestibule::Operation::Create;
    /// use vestibule::{FailurePolicy, Rule, on_raw};
    /// use vestibule::tooling::Entry;
    ///
    /// let on = on_raw([Rule::new("v1", "pods", [Create])]).namespaces("team=blue").failure_policy(FailurePolicy::Fail);
    /// assert_eq!(Entry::new("required", "required-2", on).name(), "required-2");
    /// ```
    pub fn new(hook: &str, name: &str, on: On<Raw>) -> Self {
        let registered = HookEntry::new(name, HookKind::Mutating, on.declaration);
        Self { hook: hook.to_owned(), registered }
    }

    /// The first segment of its name in the configuration.
    pub fn name(&self) -> &str {
        &self.registered.name
    }

    /// The hook that it calls.
    pub fn hook(&self) -> &str {
        &self.hook
    }
}

/// The entries of some hooks, for hooks that have several entries, or entries that change while the app runs, such as the entries
/// of reloaded rules. Clones share their entries.
///
/// With the registration mode `managed` a change is written to the configurations at once, in one write with the `caBundle`; with
/// `static` the current entries are printed. [`App::entries`](crate::App::entries) takes them.
///
/// ```
/// use vestibule::Operation::Create;
/// use vestibule::{FailurePolicy, Rule, on_raw};
/// use vestibule::tooling::{Entries, Entry};
///
/// let entries = Entries::of(["required"]);
/// let pods = || on_raw([Rule::new("v1", "pods", [Create])]).failure_policy(FailurePolicy::Fail);
/// entries.set(vec![Entry::new("required", "required", pods().namespaces("team=blue"))])?;
/// // No hook shall be called any more.
/// entries.set(Vec::new())?;
/// assert!(entries.set(vec![Entry::new("other", "other", pods())]).is_err());
/// # Ok::<(), vestibule::tooling::EntriesError>(())
/// ```
#[derive(Clone)]
pub struct Entries(Arc<Shared>);

struct Shared {
    hooks: BTreeSet<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    followers: Vec<Follower>,
}

impl State {
    /// Without this, a process that serves one app after another would keep every app, and compute its entries at every change.
    fn remove_closed_followers(&mut self) {
        self.followers.retain(|follower| !follower.updates.is_closed());
    }
}

/// An identity that gets the desired objects when entries change.
struct Follower {
    updates: DesiredUpdates,
    desired: Box<ToDesired>,
}

type ToDesired = dyn Fn(&[Entry]) -> Result<Vec<Desired>, Vec<String>> + Send;

/// Why entries cannot be registered. The previous ones stay in force.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the entries cannot be registered: {}", problems.join("; "))]
#[non_exhaustive]
pub struct EntriesError {
    /// One sentence each.
    pub problems: Vec<String>,
}

impl Entries {
    /// No entries yet, for `hooks`.
    pub fn of<N: Into<String>>(hooks: impl IntoIterator<Item = N>) -> Self {
        let hooks = hooks.into_iter().map(Into::into).collect();
        Self(Arc::new(Shared { hooks, state: Mutex::default() }))
    }

    /// Replaces the entries; the API server calls them in this order. Setting the same entries again changes nothing.
    ///
    /// # Errors
    /// An entry has problems, calls another hook, or has the name of another entry.
    pub fn set(&self, entries: Vec<Entry>) -> Result<(), EntriesError> {
        let mut problems = Vec::new();
        let mut names = BTreeSet::new();
        for entry in &entries {
            let name = entry.name();
            let found = entry.registered.on.problems(HookKind::Mutating);
            problems.extend(found.into_iter().map(|problem| format!("entry `{name}`: {problem}")));
            if !names.insert(name) {
                problems.push(format!("entry `{name}`: the name is taken by another entry"));
            }
            if !self.0.hooks.contains(&entry.hook) {
                problems.push(format!("entry `{name}`: `{}` is none of the hooks it may name", entry.hook));
            }
        }
        // The lock is held until the followers have the new state, so that they get all states in order.
        let mut state = self.state();
        state.remove_closed_followers();
        let mut updates = Vec::new();
        for follower in state.followers.iter().filter(|_| problems.is_empty()) {
            match (follower.desired)(&entries) {
                Ok(desired) => updates.push((&follower.updates, desired)),
                Err(found) => {
                    problems.extend(found);
                    break;
                }
            }
        }
        if !problems.is_empty() {
            return Err(EntriesError { problems });
        }
        updates.into_iter().for_each(|(follower, desired)| follower.send(desired));
        state.entries = entries;
        Ok(())
    }

    /// The registered objects with the entries that they should hold by now; none with the registration mode `static`.
    pub fn desired(&self) -> Vec<Desired> {
        self.state().followers.iter().filter_map(|follower| follower.updates.latest()).flatten().collect()
    }

    /// The hooks that these entries call.
    pub(crate) fn hooks(&self) -> &BTreeSet<String> {
        &self.0.hooks
    }

    #[cfg(test)]
    pub(crate) fn followers(&self) -> usize {
        self.state().followers.len()
    }

    pub(crate) fn current(&self) -> Vec<Entry> {
        self.state().entries.clone()
    }

    /// Sends the desired objects to `updates`, now and after each change.
    pub(crate) fn follow(
        &self,
        updates: DesiredUpdates,
        desired: impl Fn(&[Entry]) -> Result<Vec<Desired>, Vec<String>> + Send + 'static,
    ) {
        let mut state = self.state();
        state.remove_closed_followers();
        // The entries may have changed since the caller read them.
        if let Ok(desired) = desired(&state.entries) {
            updates.send(desired);
        }
        state.followers.push(Follower { updates, desired: Box::new(desired) });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
