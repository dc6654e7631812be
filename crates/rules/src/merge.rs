//! One rule laid into an object: wholly, or not at all.

mod claims;
mod contains;
mod draft;
mod overlay_onto;
mod place;
mod verify;

use std::collections::HashSet;
use std::sync::Arc;

use vestibule_patch::{Pointer, Schema, View};

pub(crate) use claims::Claims;
pub(crate) use contains::{contains, find, present};
pub(crate) use draft::{Draft, Misfit};
use place::Insertions;

use crate::decision::Origin;
use crate::overlay::Overlay;
use crate::rule::{Block, Clause, Injected, Item, MetadataItem, Place, Policy, Rule, Select, Which};
use crate::subject::{Layout, text};

/// The annotation that tells `kubectl logs` and `kubectl exec` which container is meant.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

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
    pub(crate) layout: &'s Layout,
    pub(crate) pod: Schema<'static>,
    pub(crate) claims: Claims,
    /// Containers that rules bring: blocks are for the others.
    pub(crate) owned: HashSet<&'s str>,
}

/// Lays the `rank`th of `rules` into `draft`. After a failure the draft has to be thrown away.
pub(crate) fn lay(
    rules: &[&Rule],
    rank: usize,
    scene: &Scene<'_>,
    draft: &mut Draft<'_>,
) -> Result<(), Failure> {
    let (Some(rule), Some(earlier)) = (rules.get(rank), rules.get(..rank)) else { return Ok(()) };
    let first = |one: &&Injected| one.place == Place::First;
    let firsts = earlier.iter().flat_map(|rule| &rule.injected).filter(first);
    let mut firsts: HashSet<&str> = firsts.map(|one| one.item.key.as_str()).collect();
    let mut merge = Merge { rule, rank, scene, draft };
    merge.volumes()?;
    for list in ["initContainers", "containers"] {
        merge.injected(list, &mut firsts)?;
    }
    for (index, block) in rule.blocks.iter().enumerate() {
        merge.block(index, block)?;
    }
    for map in ["labels", "annotations"] {
        merge.metadata(map)?;
    }
    merge.verify()
}

struct Merge<'m, 'r, 's, 'd> {
    rule: &'r Rule,
    rank: usize,
    scene: &'m Scene<'s>,
    draft: &'m mut Draft<'d>,
}

/// What becomes of the items for one list.
struct Sorted<'r> {
    new: Vec<&'r Item>,
    /// Items that override what stands at an index.
    overriding: Vec<(usize, &'r Item)>,
}

impl<'r> Merge<'_, 'r, '_, '_> {
    fn volumes(&mut self) -> Result<(), Failure> {
        let list = self.scene.layout.spec.child("volumes");
        let schema = self.scene.pod.field("spec").field("volumes");
        let items = self.unclaimed(&self.rule.volumes, "volumes", 0);
        let sorted = self.sort(&list, "volumes", schema, items)?;
        self.override_items(&list, schema, &sorted)?;
        let at = self.existing(&list).len();
        self.insert(&list, place::at(at, sorted.new))
    }

    fn injected(&mut self, list: &'static str, firsts: &mut HashSet<&'r str>) -> Result<(), Failure> {
        let mine: Vec<&Injected> = self.rule.injected.iter().filter(|one| one.list == list).collect();
        if mine.is_empty() {
            return Ok(());
        }
        let pointer = self.scene.layout.spec.child(list);
        let schema = self.scene.pod.field("spec").field("containers");
        let items = self.unclaimed(mine.iter().map(|one| &one.item), list, 0);
        let sorted = self.sort(&pointer, list, schema, items)?;
        self.override_items(&pointer, schema, &sorted)?;
        let mut new = HashSet::new();
        for item in sorted.new {
            if !self.taken(item, list)? {
                new.insert(item.key.as_str());
            }
        }
        let name = |container| text(Some(container), "name").unwrap_or_default();
        let names: Vec<String> = self.existing(&pointer).into_iter().map(name).collect();
        let user = names.first().cloned();
        let insertions = place::containers(names, &mine, &new, firsts);
        let leading = insertions.iter().find(|(index, _)| *index == 0).map(|(_, item)| *item);
        self.insert(&pointer, insertions)?;
        match (leading, user) {
            (Some(item), Some(user)) if list == "containers" => self.default_container(item, &user),
            _ => Ok(()),
        }
    }

    /// Whether `item` has to be left out because of what other containers are called or listen to.
    fn taken(&self, item: &Item, list: &str) -> Result<bool, Failure> {
        for other in CONTAINER_LISTS.into_iter().filter(|other| *other != list) {
            let containers = self.existing(&self.scene.layout.spec.child(other));
            if containers.into_iter().any(|one| text(Some(one), "name").as_deref() == Some(&item.key)) {
                let sentence = format!("container `{}` exists already, among `{other}`", item.key);
                // Two containers of one name are no valid pod, so there is nothing to override.
                return match item.policy {
                    Policy::Keep => Ok(true),
                    policy => Err(conflict(item, policy, sentence)),
                };
            }
        }
        match (self.port_clash(item), item.policy) {
            (None, _) | (Some(_), Policy::Override) => Ok(false),
            (Some(_), Policy::Keep) => Ok(true),
            (Some(sentence), policy) => Err(conflict(item, policy, sentence)),
        }
    }

    fn default_container(&mut self, item: &Item, user: &str) -> Result<(), Failure> {
        let pointer = self.scene.layout.pod.child("metadata").child("annotations").child(DEFAULT_CONTAINER);
        if self.draft.at(&pointer).is_some() {
            return Ok(());
        }
        let clause = Clause { text: format!("{}.position", item.clause.text), at: item.clause.at };
        let origin = self.origin(&clause);
        self.draft.set(&pointer, crate::yaml::quote(user), &origin).map_err(|misfit| error(&clause, misfit))
    }

    fn block(&mut self, index: usize, block: &'r Block) -> Result<(), Failure> {
        let container = self.scene.pod.field("spec").field("containers").item();
        for (pointer, scope) in self.selected(&block.select) {
            for entry in &block.lists {
                let list = pointer.child(entry.member);
                let schema = container.field(entry.member);
                let items = self.unclaimed(&entry.items, &format!("{scope}/{}", entry.member), index);
                let sorted = self.sort(&list, entry.member, schema, items)?;
                self.override_items(&list, schema, &sorted)?;
                let existing = self.existing(&list);
                let insertions = match entry.member {
                    "env" => place::variables(&existing, sorted.new),
                    // Of two sources that set one variable the later counts, and the user's must.
                    "envFrom" => place::at(0, sorted.new),
                    _ => place::at(existing.len(), sorted.new),
                };
                self.insert(&list, insertions)?;
            }
            for group in ["requests", "limits"] {
                let items =
                    block.resources.iter().filter(|entry| entry.group == group).map(|entry| &entry.item);
                let items = self.unclaimed(items, &format!("{scope}/{group}"), index);
                self.entries(&pointer.child("resources").child(group), group, items)?;
            }
        }
        Ok(())
    }

    /// The places and names of the containers that a block is for.
    fn selected(&self, select: &Select) -> Vec<(Pointer, String)> {
        let lists: &[&str] = if select.init { &["containers", "initContainers"] } else { &["containers"] };
        let mut selected = Vec::new();
        for list in lists {
            let pointer = self.scene.layout.spec.child(list);
            let users = selectable(&self.existing(&pointer), select, &self.scene.owned);
            selected.extend(users.into_iter().map(|(index, name)| (pointer.item(index), name)));
        }
        selected
    }

    fn metadata(&mut self, map: &'static str) -> Result<(), Failure> {
        let mine = self
            .rule
            .metadata
            .iter()
            .filter(|entry| entry.map == map)
            .map(|entry: &MetadataItem| &entry.item);
        let items = self.unclaimed(mine, map, 0);
        if map == "labels" {
            self.selected_upon(&items)?;
        }
        self.entries(&self.scene.layout.pod.child("metadata").child(map), map, items)
    }

    /// Adds entries to a map of texts.
    fn entries(&mut self, map: &Pointer, name: &str, items: Vec<&'r Item>) -> Result<(), Failure> {
        let mut new = Vec::new();
        for item in items {
            let pointer = map.child(&item.key);
            match self.draft.at(&pointer) {
                None => new.push(item),
                Some(found) if contains(found, &item.overlay, name, Schema::unknown()) => {}
                Some(_) => match item.policy {
                    Policy::Keep => {}
                    Policy::Override => {
                        let origin = self.origin(&item.clause);
                        let done = self.draft.replace(&pointer, item.overlay.to_json(), &origin);
                        done.map_err(|misfit| error(&item.clause, misfit))?;
                    }
                    policy => {
                        let sentence = format!("`{}` in `{name}` has another value already", item.key);
                        return Err(conflict(item, policy, sentence));
                    }
                },
            }
        }
        let Some(first) = new.first() else { return Ok(()) };
        if self.draft.at(map).is_none() {
            let whole = Overlay::map(new.iter().map(|item| (item.key.clone(), item.overlay.clone())));
            let clause = if new.len() == 1 { first.clause.clone() } else { first.clause.list() };
            let origin = self.origin(&clause);
            return self.draft.set(map, whole.to_json(), &origin).map_err(|misfit| error(&clause, misfit));
        }
        for item in new {
            let origin = self.origin(&item.clause);
            let done = self.draft.set(&map.child(&item.key), item.overlay.to_json(), &origin);
            done.map_err(|misfit| error(&item.clause, misfit))?;
        }
        Ok(())
    }

    /// The items that no later rule or block overrides.
    fn unclaimed(
        &self,
        items: impl IntoIterator<Item = &'r Item>,
        scope: &str,
        block: usize,
    ) -> Vec<&'r Item> {
        let claimed = |item: &&Item| self.scene.claims.by_later(scope, &item.key, (self.rank, block));
        items.into_iter().filter(|item| !claimed(item)).collect()
    }

    fn sort(
        &self,
        list: &Pointer,
        name: &str,
        schema: Schema<'_>,
        items: Vec<&'r Item>,
    ) -> Result<Sorted<'r>, Failure> {
        let existing = self.existing(list);
        let mut sorted = Sorted { new: Vec::new(), overriding: Vec::new() };
        for item in items {
            match find(&existing, &item.overlay, name, schema) {
                None => sorted.new.push(item),
                Some((_, found)) if contains(found, &item.overlay, name, schema.item()) => {}
                Some((index, found)) => match item.policy {
                    Policy::Keep => {}
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
            let origin = self.origin(&item.clause);
            let done = overlay_onto::overlay_onto(
                self.draft,
                &list.item(*index),
                &item.overlay,
                schema.item(),
                &origin,
            );
            done.map_err(|misfit| error(&item.clause, misfit))?;
        }
        Ok(())
    }

    /// Inserts one after the other, or adds the whole list where there is none.
    fn insert(&mut self, list: &Pointer, insertions: Insertions<'r>) -> Result<(), Failure> {
        let Some((_, first)) = insertions.first().copied() else { return Ok(()) };
        if self.draft.at(list).is_none() {
            let clause = if insertions.len() == 1 { first.clause.clone() } else { first.clause.list() };
            let mut whole = Vec::new();
            for (index, item) in insertions {
                whole.insert(index.min(whole.len()), item.overlay.clone());
            }
            let origin = self.origin(&clause);
            let done = self.draft.set(list, Overlay::List(whole).to_json(), &origin);
            return done.map_err(|misfit| error(&clause, misfit));
        }
        let lengths = self.existing(list).len()..;
        for (length, (index, item)) in lengths.zip(insertions) {
            let origin = self.origin(&item.clause);
            let done = self.draft.insert(list, index, length, item.overlay.to_json(), &origin);
            done.map_err(|misfit| error(&item.clause, misfit))?;
        }
        Ok(())
    }

    fn existing(&self, list: &Pointer) -> Vec<View<'_>> {
        self.draft.at(list).map(View::items).unwrap_or_default()
    }

    fn origin(&self, clause: &Clause) -> Origin {
        Origin {
            rule: Arc::clone(&self.rule.name),
            clause: clause.text.clone(),
            source: Arc::clone(&self.rule.source),
            line: clause.at.line,
        }
    }
}

/// Index and name of the containers that `select` means; those that rules brought are never meant.
pub(crate) fn selectable(
    containers: &[View<'_>],
    select: &Select,
    owned: &HashSet<&str>,
) -> Vec<(usize, String)> {
    let named = |container: &View<'_>| text(Some(*container), "name").unwrap_or_default();
    let all = containers.iter().enumerate().map(|(index, container)| (index, named(container), *container));
    let users = all.filter(|(_, name, _)| !owned.contains(name.as_str())).enumerate();
    let meant = users.filter(|(position, (_, name, container))| {
        !select.exclude.contains(name)
            && match &select.which {
                Which::All => true,
                Which::Names(names) => names.contains(name),
                Which::Index(index) => index == position,
                Which::Images(images) => {
                    let image = text(Some(*container), "image").unwrap_or_default();
                    images.iter().any(|wanted| *wanted == image || *wanted == repository(&image))
                }
            }
    });
    meant.map(|(_, (index, name, _))| (index, name)).collect()
}

/// An image reference without tag and digest.
fn repository(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(name, _)| name);
    match image.rsplit_once(':') {
        // A colon before the last slash is a registry's port.
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image,
    }
}

fn difference(list: &str, found: View<'_>, item: &Item) -> String {
    let key = &item.key;
    match list {
        "volumes" => {
            let here =
                found.entries().into_iter().map(|(name, _)| name.into_owned()).find(|name| name != "name");
            let wanted =
                item.overlay.members().iter().map(|member| member.name.as_str()).find(|name| *name != "name");
            let (here, wanted) = (here.unwrap_or_default(), wanted.unwrap_or_default());
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

fn error(clause: &Clause, misfit: Misfit) -> Failure {
    Failure { clause: clause.clone(), sentence: misfit.0, conflict: None }
}
