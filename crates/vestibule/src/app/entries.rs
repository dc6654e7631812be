//! Hooks with several entries, or entries that change while the app runs.

use vestibule_admission::HookKind;

use super::App;
use crate::registration::HookEntry;
use crate::registration::entries::{Entries, Entry};

impl App {
    /// Registers some of the app's mutating hooks by `entries`, which may change while the app runs. These hooks are served
    /// whether they have entries or not; without an entry, the API server does not call them.
    ///
    /// ```
    /// # use std::time::Instant;
    /// # use vestibule::admission::{Handler, HandlerFuture, Request, Verdict};
    /// # struct Pass;
    /// # impl Handler for Pass {
    /// #     fn handle<'a>(&'a self, _: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
    /// #         Box::pin(async { Verdict::allowed() })
    /// #     }
    /// # }
    /// use vestibule::Operation::Create;
    /// use vestibule::{App, FailurePolicy, Rule, Target, on_raw};
    /// use vestibule::tooling::Entries;
    ///
    /// let pods = on_raw([Rule::new("v1", "pods", [Create])]).failure_policy(FailurePolicy::Ignore);
    /// let entries = Entries::of(["inject"]);
    /// let app = App::new("demo").mutate_raw("inject", pods, Pass).entries(&entries);
    /// let registration = app.registration(&Target::service("shop/hook")?, "")?;
    /// assert_eq!(registration.mutating.and_then(|it| it.webhooks), Some(Vec::new()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn entries(mut self, entries: &Entries) -> Self {
        self.hooks_with_entries = entries.hooks().clone();
        self.entries = Some(entries.clone());
        self
    }

    /// The entries by which the API server calls this hook, as they are now.
    pub fn entries_calling(&self, hook: &HookEntry) -> Vec<HookEntry> {
        let mut entries = self.entries_of(hook.kind, &self.current_entries());
        entries.retain(|entry| entry.path == hook.path);
        entries
    }

    /// The entries of the hooks whose entries may change.
    pub(crate) fn current_entries(&self) -> Vec<Entry> {
        self.entries.as_ref().map(Entries::current).unwrap_or_default()
    }

    /// The entries of hooks of this kind, in the order of calls. Hooks with changing entries have the entries in `given`.
    pub(crate) fn entries_of(&self, kind: HookKind, given: &[Entry]) -> Vec<HookEntry> {
        let mut given = Some(given);
        let mut entries = Vec::new();
        for hook in self.hooks().iter().map(|hook| &hook.entry).filter(|hook| hook.kind == kind) {
            if !self.hooks_with_entries.contains(&hook.name) {
                entries.push(hook.clone());
                continue;
            }
            // All given entries stand at the place of the first of their hooks, in the order given.
            for entry in given.take().into_iter().flatten() {
                let path = self.hooks().iter().find(|hook| hook.entry.name == entry.hook());
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
    use vestibule_admission::Operation::Create;

    use super::*;
    use crate::handler::context::Context;
    use crate::handler::reject::Reject;
    use crate::registration::on::choices::FailurePolicy;
    use crate::registration::on::on;
    use crate::registration::target::Target;

    #[test]
    fn a_dropped_identity_is_removed_from_the_followers() {
        let same = async |pod: Pod, _: Context| Ok::<_, Reject>(pod);
        let entries = Entries::of(["label"]);
        let app = App::new("demo")
            .mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), same)
            .entries(&entries);
        let target = Target::service("shop/hook").unwrap();
        let settings = || app.managed(app.identity_settings("shop/hook".parse().unwrap()), &target).unwrap();
        let followers = || entries.followers();
        for _ in 0..3 {
            drop(settings());
        }
        assert!(followers() <= 1, "{} follow", followers());
        let followed = settings();
        entries.set(Vec::new()).unwrap();
        assert_eq!(followers(), 1);
        assert!(followed.updates.is_some());
    }
}
