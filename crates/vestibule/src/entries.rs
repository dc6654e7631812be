//! Entries of webhook configurations that change while the app runs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vestibule_admission::HookKind;
use vestibule_identity::{Desired, DesiredUpdates};

use crate::registration::Entry as Registered;
use crate::{App, AppError, On, Raw};

/// One entry of a webhook configuration: when one hook of an app is called. Several may name one hook, each with
/// selectors of its own.
#[derive(Clone)]
pub struct Entry {
    hook: String,
    pub(crate) registered: Registered,
    problems: Vec<String>,
}

impl Entry {
    /// Calls the mutating hook `hook`, in an entry `NAME.APP.vestibule.dev`.
    ///
    /// ```
    /// use vestibule::Operation::Create;
    /// use vestibule::{Entry, Rule, on_raw};
    ///
    /// let on = on_raw([Rule::new("v1", "pods", [Create])]).namespaces("team=blue").fail_closed();
    /// assert_eq!(Entry::new("required", "required-2", on).name(), "required-2");
    /// ```
    pub fn new(hook: &str, name: &str, on: On<Raw>) -> Self {
        let problems = on.problems(HookKind::Mutating);
        Self { hook: hook.to_owned(), registered: Registered::new(name, HookKind::Mutating, on), problems }
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

/// The entries of some hooks, where they are not one for each hook and may change while the app runs: those of rules that
/// are read again and again. Clones are the same entries.
///
/// With the registration mode `managed` a change reaches the configurations within a moment, in one write with the
/// `caBundle`; with `static` the entries of the moment are printed. [`App::entries`] takes them.
///
/// ```
/// use vestibule::Operation::Create;
/// use vestibule::{Entries, Entry, Rule, on_raw};
///
/// let entries = Entries::of(["required"]);
/// let pods = || on_raw([Rule::new("v1", "pods", [Create])]).fail_closed();
/// entries.set(vec![Entry::new("required", "required", pods().namespaces("team=blue"))])?;
/// // Nobody is to be called any more.
/// entries.set(Vec::new())?;
/// assert!(entries.set(vec![Entry::new("other", "other", pods())]).is_err());
/// # Ok::<(), vestibule::EntriesError>(())
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
    /// A process that serves one app after another would otherwise keep every one, and compute its entries at every change.
    fn forget_the_gone(&mut self) {
        self.followers.retain(|follower| !follower.updates.is_closed());
    }
}

/// What an identity is told when entries change.
struct Follower {
    updates: DesiredUpdates,
    desired: Box<ToDesired>,
}

type ToDesired = dyn Fn(&[Entry]) -> Result<Vec<Desired>, AppError> + Send;

/// Why entries cannot be registered; the former ones stay.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntriesError {
    /// One sentence each.
    pub problems: Vec<String>,
}

impl fmt::Display for EntriesError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the entries cannot be registered: {}", self.problems.join("; "))
    }
}

impl std::error::Error for EntriesError {}

impl Entries {
    /// Those of `hooks`; none yet.
    pub fn of<N: Into<String>>(hooks: impl IntoIterator<Item = N>) -> Self {
        let hooks = hooks.into_iter().map(Into::into).collect();
        Self(Arc::new(Shared { hooks, state: Mutex::default() }))
    }

    /// From now on these, in the order they are to be called in. The same again changes nothing.
    ///
    /// # Errors
    /// An entry is not in order, names another hook, or has the name of another.
    pub fn set(&self, entries: Vec<Entry>) -> Result<(), EntriesError> {
        let mut problems = Vec::new();
        let mut names = BTreeSet::new();
        for entry in &entries {
            let name = entry.name();
            problems.extend(entry.problems.iter().map(|problem| format!("entry `{name}`: {problem}")));
            if !names.insert(name) {
                problems.push(format!("entry `{name}`: the name is taken by another entry"));
            }
            if !self.0.hooks.contains(&entry.hook) {
                problems.push(format!("entry `{name}`: `{}` is none of the hooks it may name", entry.hook));
            }
        }
        // Whoever is told is told in order: the lock is held until then.
        let mut state = self.state();
        state.forget_the_gone();
        let mut told = Vec::new();
        for follower in state.followers.iter().filter(|_| problems.is_empty()) {
            match (follower.desired)(&entries) {
                Ok(desired) => told.push((&follower.updates, desired)),
                Err(error) => {
                    problems.extend(error.problems);
                    break;
                }
            }
        }
        if !problems.is_empty() {
            return Err(EntriesError { problems });
        }
        told.into_iter().for_each(|(updates, desired)| updates.send(desired));
        state.entries = entries;
        Ok(())
    }

    pub(crate) fn current(&self) -> Vec<Entry> {
        self.state().entries.clone()
    }

    /// Has `updates` told of what is desired, now and whenever it changes.
    pub(crate) fn follow(
        &self,
        updates: DesiredUpdates,
        desired: impl Fn(&[Entry]) -> Result<Vec<Desired>, AppError> + Send + 'static,
    ) {
        let mut state = self.state();
        state.forget_the_gone();
        // What changed since it was asked for.
        if let Ok(desired) = desired(&state.entries) {
            updates.send(desired);
        }
        state.followers.push(Follower { updates, desired: Box::new(desired) });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl App {
    /// Registers some of the app's mutating hooks by entries of their own, which may change while it runs. Those hooks are
    /// served whatever the entries are; with none, nobody calls them.
    ///
    /// ```
    /// # use std::time::Instant;
    /// # use vestibule::{Handler, HandlerFuture, Request, Verdict};
    /// # struct Pass;
    /// # impl Handler for Pass {
    /// #     fn handle<'a>(&'a self, _: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
    /// #         Box::pin(async { Verdict::allowed() })
    /// #     }
    /// # }
    /// use vestibule::Operation::Create;
    /// use vestibule::{App, Entries, Rule, Target, on_raw};
    ///
    /// let pods = on_raw([Rule::new("v1", "pods", [Create])]).fail_open();
    /// let entries = Entries::of(["inject"]);
    /// let app = App::new("demo").mutate_raw("inject", pods, Pass).entries(&entries);
    /// let registration = app.registration(&Target::service("shop/hook")?, "")?;
    /// assert_eq!(registration.mutating.and_then(|it| it.webhooks), Some(Vec::new()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn entries(mut self, entries: &Entries) -> Self {
        self.governed = entries.0.hooks.clone();
        self.entries = Some(entries.clone());
        self
    }

    /// The entries by which the API server calls this hook, as they are now.
    pub fn entries_calling(&self, hook: &Registered) -> Vec<Registered> {
        let given = self.entries.as_ref().map(Entries::current).unwrap_or_default();
        let mut entries = self.entries_of(hook.kind, &given);
        entries.retain(|entry| entry.path == hook.path);
        entries
    }

    /// The entries of hooks of this kind, in the order they are called in; of hooks with entries of their own, `given`.
    pub(crate) fn entries_of(&self, kind: HookKind, given: &[Entry]) -> Vec<Registered> {
        let mut given = Some(given);
        let mut entries = Vec::new();
        for hook in self.hooks().iter().map(|hook| &hook.entry).filter(|hook| hook.kind == kind) {
            if !self.governed.contains(&hook.name) {
                entries.push(hook.clone());
                continue;
            }
            // All of them stand where the first of their hooks stands: their order is theirs.
            for entry in given.take().into_iter().flatten() {
                let path = self.hooks().iter().find(|hook| hook.entry.name == entry.hook);
                let mut entry = entry.registered.clone();
                path.map(|hook| &hook.entry.path).into_iter().for_each(|path| entry.path.clone_from(path));
                entries.push(entry);
            }
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

    use super::*;
    use crate::Operation::Create;
    use crate::{Context, Reject, Target, on};

    /// Each was told of every change for as long as the process lived.
    #[test]
    fn an_identity_that_is_gone_is_not_told_any_more() {
        let same = async |pod: Pod, _: Context| Ok::<_, Reject>(pod);
        let entries = Entries::of(["label"]);
        let app = App::new("demo").mutate("label", on::<Pod>([Create]).fail_closed(), same).entries(&entries);
        let target = Target::service("shop/hook").unwrap();
        let settings = || app.managed(app.identity_settings("shop/hook".parse().unwrap()), &target).unwrap();
        let followers = || entries.state().followers.len();
        for _ in 0..3 {
            drop(settings());
        }
        assert!(followers() <= 1, "{} follow", followers());
        let kept = settings();
        entries.set(Vec::new()).unwrap();
        assert_eq!(followers(), 1);
        assert!(kept.updates.is_some());
    }
}
