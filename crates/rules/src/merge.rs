//! One rule laid into an object: wholly, or not at all.

mod anchors;
mod blocks;
mod claims;
mod contains;
mod draft;
mod existing;
mod injected;
mod overlay_onto;
mod parts;
mod place;
mod removals;
mod sound;
mod standing;
mod status;
mod verify;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vestibule_patch::{Pointer, Schema, View};

pub(crate) use anchors::{straighten, violated};
use claims::Claims;
pub(crate) use contains::{contains, find, holds, is_open, present};
pub(crate) use draft::{Draft, Misfit};
use existing::Existing;
pub(crate) use injected::DEFAULT_CONTAINER;
use place::Insertions;
pub(crate) use sound::ONLY_LASTING;
pub(crate) use standing::{Standing, Standings, standings};
pub(crate) use status::record;

use crate::decision::Origin;
use crate::diagnostic::shown;
use crate::overlay::Overlay;
use crate::rule::{Clause, Item, Place, Policy, Rule};
use crate::subject::Layout;

/// The lists of a pod that hold containers; a name is taken if any of them has it.
pub(crate) const CONTAINER_LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Why a rule cannot be laid in.
pub(crate) struct Failure {
    pub(crate) clause: Clause,
    pub(crate) sentence: String,
    /// What the rule says about it, if something stands in the way; otherwise the result would be no valid pod.
    pub(crate) conflict: Option<Policy>,
}

/// What all rules of one evaluation share.
pub(crate) struct Scene<'s> {
    layout: &'s Layout,
    pod: Schema<'static>,
    claims: Claims,
    /// The names of containers that rules bring: blocks are for the others. By name alone, because a second evaluation
    /// cannot tell who brought a container.
    owned: HashSet<&'s str>,
    /// Where the containers that rules bring are to stand.
    places: HashMap<&'s str, &'s Place>,
    /// The containers that rules put first, with the rank of the first rule that does.
    firsts: HashMap<&'s str, usize>,
}

impl<'s> Scene<'s> {
    /// For `rules` in a pod of the specification `spec`.
    pub(crate) fn new(
        rules: &[&'s Rule],
        spec: Option<View<'_>>,
        layout: &'s Layout,
        pod: Schema<'static>,
    ) -> Self {
        let injected = || rules.iter().flat_map(|rule| &rule.injected);
        let owned = injected().map(|one| one.item.key.as_str()).collect();
        let places = injected().map(|one| (one.item.key.as_str(), &one.place)).collect();
        let mut firsts = HashMap::new();
        for (rank, rule) in rules.iter().enumerate() {
            for one in rule.injected.iter().filter(|one| one.place == Place::First) {
                firsts.entry(one.item.key.as_str()).or_insert(rank);
            }
        }
        Self { layout, pod, claims: Claims::of(rules, spec, &owned), owned, places, firsts }
    }
}

/// Lays `rule`, the `rank`th of those that `scene` is made for, with values for its expressions, into `draft`. After a
/// failure the draft has to go back to what it was.
pub(crate) fn lay(rule: &Rule, rank: usize, scene: &Scene<'_>, draft: &mut Draft<'_>) -> Result<(), Failure> {
    draft.open(&scene.layout.spec);
    let mut merge = Merge { rule, rank, scene, draft };
    // First of all, because a container that takes the first place writes an annotation unless there is one.
    let (metadata, spec) = (scene.layout.pod.child("metadata"), &scene.layout.spec);
    merge.removals()?;
    merge.selected_upon()?;
    merge.parts(&metadata, "", 0, scene.pod.field("metadata"), &rule.metadata)?;
    let class = merge.priority_class();
    merge.parts(spec, "", 0, scene.pod.field("spec"), &rule.spec)?;
    merge.forget_priority(class.as_deref())?;
    merge.volumes()?;
    let mut firsts = Vec::new();
    for list in ["initContainers", "containers"] {
        merge.injected(list, &mut firsts)?;
    }
    for (index, block) in rule.blocks.iter().enumerate() {
        merge.block(index, block)?;
    }
    merge.verify()?;
    merge.verify_containers()?;
    merge.verify_removed()
}

struct Merge<'m, 'r, 's, 'd> {
    rule: &'r Rule,
    rank: usize,
    scene: &'m Scene<'s>,
    draft: &'m mut Draft<'d>,
}

/// What becomes of the items for one list.
struct Sorted<'r> {
    /// How many items the list has.
    length: usize,
    new: Vec<&'r Item>,
    /// Items that override what stands at an index.
    overriding: Vec<(usize, &'r Item)>,
}

impl<'r> Merge<'_, 'r, '_, '_> {
    fn volumes(&mut self) -> Result<(), Failure> {
        let items = self.unclaimed(&self.rule.volumes, 0, || "volumes".to_owned());
        if items.is_empty() {
            return Ok(());
        }
        let list = self.scene.layout.spec.child("volumes");
        let schema = self.scene.pod.field("spec").field("volumes");
        let sorted = self.sort(&list, "volumes", schema, items)?;
        self.override_items(&list, schema, &sorted)?;
        self.insert(&list, sorted.length, place::at(sorted.length, sorted.new))
    }

    /// The items that no later rule or block overrides.
    fn unclaimed(
        &self,
        items: impl IntoIterator<Item = &'r Item>,
        block: usize,
        scope: impl Fn() -> String,
    ) -> Vec<&'r Item> {
        let claimed = |item: &&Item| self.scene.claims.by_later(&scope, &item.key, (self.rank, block));
        items.into_iter().filter(|item| !claimed(item)).collect()
    }

    /// Tells items that are new from those that are there, with what becomes of the latter.
    fn sort(
        &self,
        list: &Pointer,
        name: &str,
        schema: Schema<'_>,
        items: Vec<&'r Item>,
    ) -> Result<Sorted<'r>, Failure> {
        let mut sorted = Sorted { length: 0, new: Vec::new(), overriding: Vec::new() };
        if items.is_empty() {
            return Ok(sorted);
        }
        let existing = self.existing(list);
        sorted.length = existing.len();
        let existing = Existing::new(existing, schema, items.iter().copied());
        for item in items {
            match existing.find(item, name, schema) {
                None => sorted.new.push(item),
                Some((_, found)) if holds(found, item, name, schema.item()) => {}
                Some((index, found)) => match item.policy {
                    Policy::Keep | Policy::KeepOwn => {}
                    Policy::Override => sorted.overriding.push((index, item)),
                    policy => return Err(conflict(item, policy, difference(name, found, item))),
                },
            }
        }
        Ok(sorted)
    }

    fn override_items(
        &mut self,
        list: &Pointer,
        schema: Schema<'_>,
        sorted: &Sorted<'r>,
    ) -> Result<(), Failure> {
        for (index, item) in &sorted.overriding {
            let place = list.item(*index);
            self.change(&item.clause, |draft, origin| {
                overlay_onto::overlay_onto(draft, &place, &item.overlay, schema.item(), origin)
            })?;
        }
        Ok(())
    }

    /// Inserts one after the other into a list of `length` items. A list that is not there comes as a whole; of sidecars and
    /// init containers, the first of the two, so that each has an origin of its own.
    fn insert(
        &mut self,
        list: &Pointer,
        mut length: usize,
        mut insertions: Insertions<'r>,
    ) -> Result<(), Failure> {
        let Some((_, first)) = insertions.first().copied() else { return Ok(()) };
        if length == 0 && self.draft.at(list).is_none() {
            let part = first.clause.list();
            let same = insertions.iter().take_while(|(_, item)| item.clause.text.starts_with(&part.text));
            length = same.count();
            let rest = insertions.split_off(length);
            let clause = if length == 1 { first.clause.clone() } else { part };
            let mut whole = Vec::new();
            for (index, item) in insertions {
                whole.insert(index.min(whole.len()), item.overlay.clone());
            }
            let whole = Overlay::List(whole).to_json();
            self.change(&clause, |draft, origin| draft.set(list, whole, origin))?;
            insertions = rest;
        }
        for (length, (index, item)) in (length..).zip(insertions) {
            self.change(&item.clause, |draft, origin| draft.insert(list, index, length, item, origin))?;
        }
        Ok(())
    }

    fn existing(&self, list: &Pointer) -> Vec<View<'_>> {
        self.draft.at(list).map(View::items).unwrap_or_default()
    }

    /// Changes the draft on behalf of `clause`.
    fn change(
        &mut self,
        clause: &Clause,
        change: impl FnOnce(&mut Draft<'_>, &Origin) -> Result<(), Misfit>,
    ) -> Result<(), Failure> {
        let origin = Origin {
            rule: Arc::clone(&self.rule.name),
            clause: clause.text.clone(),
            source: Arc::clone(&self.rule.source),
            line: clause.at.line,
        };
        change(self.draft, &origin).map_err(|Misfit(sentence)| invalid(clause, sentence))
    }
}

fn difference(list: &str, found: View<'_>, item: &Item) -> String {
    let key = &item.key;
    match list {
        "volumes" => {
            let here = found.entries().into_iter().map(|(name, _)| shown(&name));
            let wanted = item.overlay.members().iter().map(|member| member.name.clone());
            let here = here.filter(|name| name != "name").collect::<Vec<_>>().join(", ");
            let wanted = wanted.filter(|name| name != "name").collect::<Vec<_>>().join(", ");
            format!("volume `{key}` exists already and differs (`{here}` in the pod, `{wanted}` in the rule)")
        }
        "containers" | "initContainers" => format!("container `{key}` exists already and differs"),
        "env" => format!("variable `{key}` has another value already"),
        "volumeMounts" => format!("something else is mounted at `{key}` already"),
        _ => format!("`{key}` in `{list}` exists already and differs"),
    }
}

fn conflict(item: &Item, policy: Policy, sentence: String) -> Failure {
    Failure { clause: item.clause.clone(), sentence, conflict: Some(policy) }
}

fn invalid(clause: &Clause, sentence: String) -> Failure {
    Failure { clause: clause.clone(), sentence, conflict: None }
}
