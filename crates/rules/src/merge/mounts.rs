//! Every mount of a rule must have a volume.

use std::borrow::Cow;
use std::collections::HashSet;

use vestibule_patch::View;

use super::contains::present;
use super::{Failure, Merge, invalid, list_index};
use crate::overlay::Overlay;
use crate::rule::Clause;
use crate::subject::string_member;

/// The lists of a container whose items name volumes.
const MOUNTS: &[&str] = &["volumeDevices", "volumeMounts"];

impl<'r> Merge<'_, 'r, '_, '_> {
    pub(super) fn verify_mounts(&mut self) -> Result<(), Failure> {
        let mounts = self.mounts_to_check();
        if mounts.is_empty() {
            return Ok(());
        }
        let list = self.draft.layout.list("volumes");
        self.index_by_keys(&list, self.draft.shape.volumes);
        let indexed = self.draft.by_keys(&list);
        let listed = indexed.is_none().then(|| self.existing(&list)).into_iter().flatten();
        let mut volumes: HashSet<Cow<'_, str>> =
            listed.filter_map(|volume| string_member(volume, "name")).collect();
        volumes.extend(self.claim_templates());
        for (clause, mount) in mounts {
            let volume = mount.text("name").unwrap_or_default();
            let is_indexed = || indexed.is_some_and(|indexed| indexed.find(volume).is_some());
            if !volumes.contains(volume) && !is_indexed() {
                let sentence = format!("a mount names volume `{volume}`, which the pod does not have");
                return Err(invalid(clause, sentence));
            }
        }
        Ok(())
    }

    /// The mounts of the rule, without the mounts of its own volumes that are known to be present.
    fn mounts_to_check(&self) -> Vec<(&'r Clause, &'r Overlay)> {
        let in_containers = self.rule.injected.iter().flat_map(|one| {
            let mounts = MOUNTS.iter().flat_map(|name| one.item.overlay.items_of(name));
            mounts.map(|mount| (&one.item.clause, mount))
        });
        let in_blocks = self.rule.blocks.iter().flat_map(|block| {
            let lists = block.lists.iter().filter(|list| MOUNTS.contains(&list.member));
            // A block that selects no container mounts nothing.
            lists.filter(|_| !self.selected(&block.select).is_empty()).flat_map(|list| &list.items)
        });
        let mounts = in_containers.chain(in_blocks.map(|item| (&item.clause, &item.overlay)));
        mounts.filter(|(_, mount)| !self.has_volume_of_rule(mount)).collect()
    }

    /// Whether the volume of `mount` is one of the rule and known to be present.
    fn has_volume_of_rule(&self, mount: &Overlay) -> bool {
        // With many volumes, a search for each mount would take quadratic time.
        if self.rule.volumes.len() > list_index::FEW {
            return false;
        }
        let name = mount.text("name");
        let mut named = self.rule.volumes.iter().filter(|volume| Some(volume.key.as_str()) == name);
        named.any(|volume| self.draft.known.has(volume, None))
    }

    /// The names of the volumes that a StatefulSet gives each of its pods.
    pub(super) fn claim_templates(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let spec = present(self.draft.root(), "spec");
        let claims = spec.and_then(|spec| present(spec, "volumeClaimTemplates"));
        let claims = claims.map(View::items).unwrap_or_default().into_iter();
        claims.filter_map(|claim| string_member(present(claim, "metadata"), "name"))
    }
}
