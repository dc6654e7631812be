//! Resources of the pod as a whole (KEP-2837): the API server refuses a pod whose containers request more, or one of whose regular
//! containers has a higher limit. An injected container counts too.

use vestibule_patch::View;

use super::contains::present;
use super::{Failure, Merge, invalid};
use crate::diagnostic::printable_short;
use crate::quantity::rounded_nanos;
use crate::rule::{Clause, Part};
use crate::subject::string_member;

impl<'r> Merge<'_, 'r, '_, '_> {
    pub(super) fn verify_pod_resources(&self) -> Result<(), Failure> {
        let Some(clause) = self.resources_clause() else { return Ok(()) };
        let spec = self.draft.at(&self.draft.layout.spec);
        let resources = spec.and_then(|spec| present(spec, "resources"));
        match resources.and_then(|resources| self.excess(resources)) {
            Some(sentence) => Err(invalid(clause, sentence)),
            None => Ok(()),
        }
    }

    /// The first part of the rule that sets resources.
    fn resources_clause(&self) -> Option<&'r Clause> {
        let is_resources = |part: &&Part| part.path.first().unwrap_or(&part.item.key) == "resources";
        let rule = self.rule;
        let mut injected = rule.injected.iter().map(|one| &one.item);
        let mut parts = rule.blocks.iter().flat_map(|block| &block.parts).chain(&rule.spec);
        injected
            .find(|item| item.overlay.get("resources").is_some())
            .or_else(|| parts.find(is_resources).map(|part| &part.item))
            .map(|item| &item.clause)
    }

    fn excess(&self, pod: View<'_>) -> Option<String> {
        let keys = |group: &str| present(pod, group).map(View::entries).unwrap_or_default();
        for (key, limit) in keys("limits") {
            let limit = nanos(limit)?;
            let mut all = self.existing(&self.draft.layout.list("containers"));
            let is_higher = |container: &View<'_>| amount(*container, "limits", &key) > Some(limit);
            if let Some(container) = all.find(is_higher) {
                let name = printable_short(&string_member(container, "name").unwrap_or_default());
                let key = printable_short(&key);
                return Some(format!("container `{name}` would have a higher limit of `{key}` than the pod"));
            }
        }
        for (key, request) in keys("requests") {
            if self.requested(&key) > nanos(request)? {
                let key = printable_short(&key);
                return Some(format!("the containers would request more `{key}` than the pod"));
            }
        }
        None
    }

    /// The request of all containers together: the highest sum of those that run at a time.
    fn requested(&self, key: &str) -> i128 {
        let request = |container: View<'_>| {
            let written = amount(container, "requests", key);
            // The API server takes the limit of a container for its request, if it has none.
            written.or_else(|| amount(container, "limits", key)).unwrap_or_default()
        };
        let (mut lasting, mut highest) = (0, 0);
        for container in self.existing(&self.draft.layout.list("initContainers")) {
            let own = request(container);
            highest = highest.max(lasting + own);
            if string_member(container, "restartPolicy").as_deref() == Some("Always") {
                lasting += own;
            }
        }
        let containers = self.existing(&self.draft.layout.list("containers"));
        highest.max(lasting + containers.map(request).sum::<i128>())
    }
}

fn amount(container: View<'_>, group: &str, key: &str) -> Option<i128> {
    nanos(present(present(present(container, "resources")?, group)?, key)?)
}

fn nanos(amount: View<'_>) -> Option<i128> {
    rounded_nanos(&amount.as_str().unwrap_or_else(|| amount.to_json()))
}
