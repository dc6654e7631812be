//! Describes a trace in words.

use std::collections::BTreeSet;

use vestibule_pki::ring::{Action, CaId, Change};

use crate::{Event, Fault, Scenario, World};

impl Scenario {
    /// Describes an event in the state before it.
    pub(crate) fn describe(&self, world: &World, event: Event) -> String {
        match event {
            Event::Tick => "a second passes".to_owned(),
            Event::See(at, object) => format!("replica {at} is told what configuration {object} holds"),
            Event::Read(at) => format!("replica {at} is told what the Secret holds"),
            Event::Act(at) => {
                let action = world.replicas.get(at).and_then(|replica| self.intention(world, replica));
                action.map_or_else(String::new, |action| format!("replica {at} {}", does(&action)))
            }
            Event::Deliver(server, object) => {
                format!("API server {server} hears of the next version of configuration {object}")
            }
            Event::Begin(at) => format!("replica {at} starts without memory"),
            Event::Heal(at) => format!("replica {at} is in reach again"),
            Event::Fault(fault) => describe_fault(fault),
        }
    }
}

fn does(action: &Action) -> String {
    match action {
        Action::ReadConfiguration(object) => format!("looks at configuration {object} again"),
        Action::ReadRing => "reads the Secret again".to_owned(),
        Action::WriteRing(change) => format!("means to {}", changes(change)),
        Action::PublishBundle(object) => {
            format!("means to publish its ring's bundle in configuration {object}")
        }
        Action::SignLeaf(leaf) => {
            let cross_signature = leaf
                .cross_signature
                .map_or_else(String::new, |cross_signature| format!(", crossed by {}", cross_signature.0));
            format!(
                "presents a leaf of CA {}{cross_signature}, until second {}",
                leaf.issuer.0, leaf.not_after.0
            )
        }
        Action::DropLeaf => "presents no leaf any more".to_owned(),
        Action::Report(blocked) => format!("reports {blocked:?}"),
    }
}

fn changes(change: &Change) -> String {
    match change {
        Change::Create { trust, imported } => {
            format!("make a new ring that also trusts {}", names(&(trust | imported)))
        }
        Change::Restore { trust, imported, .. } => {
            format!("write its remembered ring that also trusts {}", names(&(trust | imported)))
        }
        Change::Graft { trust, imported, generation } => {
            format!("add {} to the stored ring, as generation {generation}", names(&(trust | imported)))
        }
        Change::Hold(id) => format!("mark CA {} as known everywhere", id.0),
        Change::Promote => "promote the next CA".to_owned(),
        Change::Remove(ids) => format!("remove {}", names(ids)),
        Change::Revoke => "replace both CAs, because their keys were stolen".to_owned(),
    }
}

fn names(ids: &BTreeSet<CaId>) -> String {
    let names: Vec<_> = ids.iter().map(|id| id.0.to_string()).collect();
    if names.is_empty() { "nothing".to_owned() } else { format!("CA {}", names.join(", ")) }
}

fn describe_fault(fault: Fault) -> String {
    match fault {
        Fault::Crash(at) => format!("replica {at} stops"),
        Fault::Cut(at) => format!("replica {at} is cut off from the API"),
        Fault::BreakWatch(at) => format!("replica {at} is told nothing of configurations any more"),
        Fault::Delete => "the Secret is deleted".to_owned(),
        Fault::Corrupt => "the Secret is overwritten with unreadable data".to_owned(),
        Fault::Rollback => "the Secret is restored from the backup".to_owned(),
        Fault::Backup => "a backup of the Secret is taken".to_owned(),
        Fault::Empty(object) => format!("another program empties the bundle of configuration {object}"),
        Fault::UnknownCa(object) => format!("another program writes its own CA into configuration {object}"),
        Fault::Untidy(object) => format!("another program adds text to the bundle of configuration {object}"),
        Fault::Revert(object) => format!("an old manifest of configuration {object} is applied"),
        Fault::Deny(object) => format!("configuration {object} refuses our writes from now on"),
        Fault::Remove(object) => format!("configuration {object} is deleted"),
        Fault::Return(object) => format!("configuration {object} is made again, without a bundle"),
        Fault::Replace(object) => {
            format!("from now on a tool replaces configuration {object} every second, without a bundle")
        }
        Fault::Strip(object) => {
            format!("from now on an admission policy removes our annotations from configuration {object}")
        }
        Fault::PlantAhead(object) => {
            format!("another program writes its own CA into configuration {object}, as our next generation")
        }
        Fault::PlantOther(object) => {
            format!("another program writes its own CA into configuration {object}, as another ring")
        }
        Fault::Newer => "a newer version writes the ring, and is rolled back".to_owned(),
        Fault::Rotate => "a rotation is requested".to_owned(),
        Fault::Revoke => "a revocation is requested".to_owned(),
    }
}
