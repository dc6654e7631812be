//! Applies one rule to an object: all of it, or nothing.
//!
//! [`apply`] is called for each rule of a round, by `evaluate::fixpoint`. It writes operations into the [`Draft`], which holds
//! the object as changed so far. The order of the steps in [`apply`] is the order of the operations in the patch. After a failure
//! the caller rolls back the draft and the [`MergeContext`]. When all rules are applied, [`restore_strict_positions`],
//! [`record_status`] and [`part_states`] look at the result, and [`rewrite_probes`] is the last change.

mod blocks;
mod contains;
mod context;
mod dependencies;
mod draft;
mod field_checks;
mod injected;
mod injected_names;
mod insertions;
mod item_lookup;
mod items;
mod json;
mod known_present;
mod list_index;
mod mounts;
mod overlay_onto;
mod overrides;
mod part_state;
mod parts;
mod ports;
mod positions;
mod presence;
mod probes;
mod removals;
mod selection;
mod status_annotation;
mod workload_selector;

pub(crate) use contains::is_open;
use context::ContainerInsertion;
pub(crate) use context::MergeContext;
pub(crate) use draft::{Draft, authors};
pub(crate) use field_checks::ONLY_LASTING;
pub(crate) use injected::DEFAULT_CONTAINER;
pub(crate) use part_state::{PartStates, part_states};
pub(crate) use positions::{position_warnings, restore_strict_positions};
pub(crate) use presence::PartState;
pub(crate) use probes::{RewrittenProbes, restore_probes, rewrite_probes};
pub(crate) use status_annotation::{record_status, status};

use std::sync::Arc;

use crate::decision::Origin;
use crate::rule::{Clause, Item, OnConflict, Rule};
use crate::subject::Layout;

/// The lists of a pod that hold containers. A name may occur only once in all of them.
const ALL_CONTAINER_LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Why a rule cannot be applied.
pub(crate) struct Failure {
    pub(crate) clause: Clause,
    pub(crate) sentence: String,
    /// The `onConflict` of the item, if its value differs from the one of the object. `None` if the result would not be a valid pod.
    pub(crate) conflict: Option<OnConflict>,
}

/// Applies `rule` to `draft`. The rule has values for its expressions, and is the `rank`th of the rules that `context` was made
/// for.
pub(crate) fn apply(
    rule: &Rule,
    rank: usize,
    context: &MergeContext<'_>,
    draft: &mut Draft<'_>,
) -> Result<(), Failure> {
    draft.open();
    let uses_indexes = rank >= list_index::FEW || lookup_count(rule) >= list_index::FEW;
    let (layout, shape) = (draft.layout, draft.shape);
    let mut merge = Merge { rule, rank, context, draft, uses_indexes, inserted: Vec::new() };
    merge.removals()?;
    merge.verify_selector()?;
    // The pod's annotations come before its containers: a container in the first place adds an annotation unless it is there.
    let Layout { metadata, spec, .. } = layout;
    merge.parts(metadata, "", 0, shape.metadata, &rule.metadata)?;
    let classes = merge.classes();
    merge.parts(spec, "", 0, shape.spec, &rule.spec)?;
    merge.remove_derived(&classes)?;
    merge.volumes()?;
    let mut firsts = Vec::new();
    for list in ["initContainers", "containers"] {
        merge.injected(list, &mut firsts)?;
    }
    for (index, block) in rule.blocks.iter().enumerate() {
        merge.block(index, block)?;
    }
    merge.remove_derived_amounts()?;
    merge.verify_mounts()?;
    merge.verify_fields()?;
    merge.verify_removed()?;
    context.keep(&merge.inserted);
    Ok(())
}

/// A lower bound of how often `rule` looks into the same lists. It is counted before the rule is applied, because an index that is
/// built in the middle of a rule would not have the items that the rule has decided to insert and has not inserted yet.
fn lookup_count(rule: &Rule) -> usize {
    let in_blocks = rule.blocks.iter().flat_map(|block| &block.lists).filter(|list| list.member == "ports");
    let in_containers = rule.injected.iter().map(|one| one.item.overlay.items_of("ports").len());
    let ports = in_blocks.map(|list| list.items.len()).chain(in_containers).sum::<usize>();
    rule.injected.len() + rule.removals.len() + rule.blocks.len() + ports
}

/// The application of one rule.
struct Merge<'m, 'r, 's, 'd> {
    rule: &'r Rule,
    rank: usize,
    /// Whether this rule, or many rules, look into lists so often that indexes of the lists are kept.
    uses_indexes: bool,
    context: &'m MergeContext<'s>,
    draft: &'m mut Draft<'d>,
    /// The containers that the rule has inserted so far.
    inserted: Vec<ContainerInsertion<'s>>,
}

/// The origin of an operation that `clause` of `rule` makes.
fn origin(rule: &Rule, clause: &Clause) -> Origin {
    Origin {
        rule: Arc::clone(&rule.name),
        clause: Arc::clone(&clause.text),
        source: Arc::clone(&rule.source),
        line: clause.at.line,
    }
}

fn conflict(item: &Item, on_conflict: OnConflict, sentence: String) -> Failure {
    Failure { clause: item.clause.clone(), sentence, conflict: Some(on_conflict) }
}

/// A failure of `clause` that is not a conflict with the object.
pub(crate) fn invalid(clause: &Clause, sentence: String) -> Failure {
    Failure { clause: clause.clone(), sentence, conflict: None }
}
