//! The faults of the model, and how often each may occur.

use std::collections::BTreeSet;

use vestibule_pki::ring::{BundleMark, Lineage, RingFacts};

use crate::act::UNKNOWN_CA;
use crate::{Published, World};

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A replica stops and loses its memory.
    Crash(usize),
    /// A replica cannot reach the API server; it still answers calls.
    Cut(usize),
    /// A replica's watches of configurations deliver no events any more; its reads still work.
    BreakWatch(usize),
    /// The Secret is deleted.
    Delete,
    /// The Secret is overwritten with unreadable data.
    Corrupt,
    /// The Secret is restored from a backup.
    Rollback,
    /// A backup is taken. (No fault, but bounded like one.)
    Backup,
    /// Another program empties a bundle; the annotations stay.
    Empty(usize),
    /// Another program writes its own CA.
    UnknownCa(usize),
    /// Another program adds text that is no certificate, or changes one entry of several.
    Untidy(usize),
    /// An old manifest of the configuration is applied.
    Revert(usize),
    /// A configuration refuses our writes from now on.
    Deny(usize),
    /// A configuration is deleted.
    Remove(usize),
    /// A configuration that was deleted is made again. (No fault, but bounded like one.)
    Return(usize),
    /// From now on a tool replaces a configuration every second.
    Replace(usize),
    /// From now on an admission policy removes our annotations.
    Strip(usize),
    /// Another program writes its own CA under a mark of our ring that is one generation ahead.
    PlantAhead(usize),
    /// Another program writes its own CA under the mark of another ring.
    PlantOther(usize),
    /// A newer version writes the ring, and is rolled back.
    Newer,
    /// A rotation is requested.
    Rotate,
    /// A revocation is requested.
    Revoke,
}

/// How many faults of each kind may still come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// [`Fault::Crash`]
    pub crash: u8,
    /// [`Fault::Cut`]
    pub cut: u8,
    /// [`Fault::BreakWatch`]
    pub break_watch: u8,
    /// [`Fault::Delete`]
    pub delete: u8,
    /// [`Fault::Corrupt`]
    pub corrupt: u8,
    /// [`Fault::Rollback`]
    pub rollback: u8,
    /// [`Fault::Backup`]
    pub backup: u8,
    /// [`Fault::Empty`]
    pub empty: u8,
    /// [`Fault::UnknownCa`]
    pub unknown_ca: u8,
    /// [`Fault::Untidy`]
    pub untidy: u8,
    /// [`Fault::Revert`]
    pub revert: u8,
    /// [`Fault::Deny`]
    pub deny: u8,
    /// [`Fault::Remove`]
    pub remove: u8,
    /// [`Fault::Return`]
    pub return_: u8,
    /// [`Fault::Replace`]
    pub replace: u8,
    /// [`Fault::Strip`]
    pub strip: u8,
    /// [`Fault::PlantAhead`] and [`Fault::PlantOther`]
    pub plant: u8,
    /// [`Fault::Newer`]
    pub newer: u8,
    /// [`Fault::Rotate`]
    pub rotate: u8,
    /// [`Fault::Revoke`]
    pub revoke: u8,
}

impl World {
    pub(crate) fn possible_faults(&self) -> impl Iterator<Item = Fault> {
        let replicas = self.replicas.iter().enumerate();
        let up: Vec<_> = replicas.clone().filter(|(_, replica)| replica.up).map(|(at, _)| at).collect();
        let near = replicas.filter(|(_, replica)| replica.up && !replica.cut && !replica.broken_watch);
        let mut faults: Vec<_> = up.into_iter().map(Fault::Crash).collect();
        faults.extend(near.flat_map(|(at, _)| [Fault::Cut(at), Fault::BreakWatch(at)]));
        for at in 0..self.objects.len() {
            faults.extend([Fault::Empty(at), Fault::UnknownCa(at), Fault::Untidy(at), Fault::Revert(at)]);
            faults.extend([Fault::Deny(at), Fault::Remove(at), Fault::Return(at), Fault::Replace(at)]);
            faults.extend([Fault::Strip(at), Fault::PlantAhead(at), Fault::PlantOther(at)]);
        }
        faults.extend([Fault::Delete, Fault::Corrupt, Fault::Rollback, Fault::Backup, Fault::Newer]);
        faults.extend([Fault::Rotate, Fault::Revoke]);
        let mut left = self.faults;
        faults.into_iter().filter(move |fault| *left.count(*fault) > 0)
    }

    /// [`None`] if it changes nothing.
    pub(crate) fn apply_fault(&mut self, fault: Fault, first: &Published) -> Option<()> {
        *self.faults.count(fault) -= 1;
        match fault {
            Fault::Crash(at) => self.replicas.get_mut(at)?.up = false,
            Fault::Cut(at) => self.replicas.get_mut(at)?.cut = true,
            Fault::BreakWatch(at) => self.replicas.get_mut(at)?.broken_watch = true,
            Fault::Delete => self.replace_ring(RingFacts::Absent)?,
            Fault::Corrupt => self.replace_ring(RingFacts::Unreadable)?,
            Fault::Rollback => self.replace_ring(self.backup.clone())?,
            Fault::Backup if self.backup == self.ring => return None,
            Fault::Backup => self.backup = self.ring.clone(),
            Fault::Empty(at) => self.reset(at, |published| published.bundle.clear())?,
            Fault::UnknownCa(at) => {
                self.plant(at, |_| {})?;
            }
            Fault::PlantAhead(at) => self.plant(at, |published| {
                if let Some(mark) = &mut published.mark {
                    mark.generation += 1;
                }
            })?,
            Fault::PlantOther(at) => self.plant(at, |published| {
                published.mark = Some(BundleMark { lineage: Lineage(999), generation: 1 });
            })?,
            Fault::Remove(at) => self.reset(at, |published| {
                *published = Published { gone: true, ..Published::bare(published.changed) };
            })?,
            Fault::Return(at) => {
                self.objects.get(at)?.newest()?.gone.then_some(())?;
                let now = self.now;
                self.objects.get_mut(at)?.push(Published::bare(now));
            }
            Fault::Replace(at) => self.objects.get_mut(at)?.replaced = true,
            Fault::Strip(at) => {
                self.objects.get_mut(at)?.stripped = true;
                self.reset(at, |published| published.mark = None)?;
            }
            Fault::Newer => {
                let RingFacts::Known(facts) = &self.ring else { return None };
                self.replace_ring(RingFacts::Newer(Some(facts.clone())))?;
            }
            Fault::Untidy(at) => self.reset(at, |published| published.untidy = true)?,
            Fault::Revert(at) => self.reset(at, |published| {
                (published.bundle, published.mark) = (first.bundle.clone(), first.mark);
            })?,
            Fault::Deny(at) => self.objects.get_mut(at)?.denied = true,
            Fault::Rotate | Fault::Revoke => {
                let RingFacts::Known(facts) = &mut self.ring else { return None };
                let revoke = fault == Fault::Revoke;
                let request = if revoke { &mut facts.revocation } else { &mut facts.rotation };
                request.asked += 1;
                if revoke {
                    self.revoked.extend(facts.trusted());
                }
                self.version += 1;
            }
        }
        Some(())
    }

    fn plant(&mut self, at: usize, mark: impl FnOnce(&mut Published)) -> Option<()> {
        self.reset(at, |published| {
            published.bundle = BTreeSet::from([UNKNOWN_CA]);
            mark(published);
        })?;
        self.objects.get_mut(at)?.planted = true;
        Some(())
    }

    /// Lets the tools that replace configurations do so.
    pub(crate) fn replace_objects(&mut self) {
        let now = self.now;
        for object in self.objects.iter_mut().filter(|object| object.replaced) {
            if object.newest().is_some_and(|newest| !newest.gone) {
                object.push(Published::bare(now));
            }
        }
    }

    fn replace_ring(&mut self, ring: RingFacts) -> Option<()> {
        (self.ring != ring).then_some(())?;
        (self.ring, self.version) = (ring, self.version + 1);
        Some(())
    }

    fn reset(&mut self, at: usize, change: impl FnOnce(&mut Published)) -> Option<()> {
        let now = self.now;
        let object = self.objects.get_mut(at)?;
        let newest = object.newest()?;
        let mut published = newest.clone();
        change(&mut published);
        if published == *newest || newest.gone {
            return None;
        }
        if published.mark != newest.mark {
            published.changed = now;
        }
        (published.written, published.ours) = (now, false);
        object.push(published);
        Some(())
    }
}

impl Faults {
    /// How many of this kind.
    pub(crate) fn count(&mut self, fault: Fault) -> &mut u8 {
        match fault {
            Fault::Crash(_) => &mut self.crash,
            Fault::Cut(_) => &mut self.cut,
            Fault::BreakWatch(_) => &mut self.break_watch,
            Fault::Delete => &mut self.delete,
            Fault::Corrupt => &mut self.corrupt,
            Fault::Rollback => &mut self.rollback,
            Fault::Backup => &mut self.backup,
            Fault::Empty(_) => &mut self.empty,
            Fault::UnknownCa(_) => &mut self.unknown_ca,
            Fault::Untidy(_) => &mut self.untidy,
            Fault::Revert(_) => &mut self.revert,
            Fault::Deny(_) => &mut self.deny,
            Fault::Remove(_) => &mut self.remove,
            Fault::Return(_) => &mut self.return_,
            Fault::Replace(_) => &mut self.replace,
            Fault::Strip(_) => &mut self.strip,
            Fault::PlantAhead(_) | Fault::PlantOther(_) => &mut self.plant,
            Fault::Newer => &mut self.newer,
            Fault::Rotate => &mut self.rotate,
            Fault::Revoke => &mut self.revoke,
        }
    }
}
