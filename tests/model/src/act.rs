//! What a replica does: the carrier, as small as it can be.

use vestibule_pki::ring::{Action, Change, Facts, Policy, RingFacts, Rule, Seen, step};

use crate::{Published, Replica, World};

impl World {
    /// The first thing that a replica can do now.
    pub(crate) fn intention(&self, replica: &Replica, policy: &Policy) -> Option<Action> {
        let (_, ring) = replica.ring.as_ref().filter(|_| replica.up)?;
        let actions = step(ring, &replica.seen, replica.clock(self.now), policy);
        let local = |action: &Action| matches!(action, Action::SignLeaf(_) | Action::DropLeaf);
        actions.into_iter().find(|action| if replica.cut { local(action) } else { !action.is_report() })
    }

    /// [`None`] if nothing changes.
    pub(crate) fn act(&mut self, at: usize, policy: &Policy) -> Option<()> {
        let action = self.intention(self.replicas.get(at)?, policy)?;
        match action {
            Action::ReadRing => self.read(at, policy)?,
            Action::ReadConfiguration(object) => self.see(at, object, policy)?,
            Action::WriteRing(change) => self.write_ring(at, &change, policy)?,
            Action::PublishBundle(object) => self.publish(at, object, policy)?,
            Action::SignLeaf(leaf) => {
                let replica = self.replicas.get_mut(at)?;
                (replica.seen.leaf, replica.served) = (Some(leaf), true);
            }
            Action::DropLeaf => self.replicas.get_mut(at)?.seen.leaf = None,
            Action::Report(_) => return None,
        }
        Some(())
    }

    pub(crate) fn read(&mut self, at: usize, policy: &Policy) -> Option<()> {
        let replica = self.replicas.get_mut(at)?;
        let clock = replica.clock(self.now);
        replica.seen.ring_read(&self.ring, clock, policy);
        replica.ring = Some((self.version, self.ring.clone()));
        Some(())
    }

    pub(crate) fn see(&mut self, at: usize, object: usize, policy: &Policy) -> Option<()> {
        let (replica, found) = (self.replicas.get_mut(at)?, self.objects.get(object)?);
        let (clock, newest) = (replica.clock(self.now), found.newest()?);
        // A watch tells every event; whoever jumps must say so.
        if replica.versions.get(object)? + 1 < found.version {
            replica.seen.configuration_missed(object);
        }
        let (mark, changed) = (newest.mark, Some(newest.changed));
        let what = Seen { bundle: &newest.bundle, mark, changed, untidy: false };
        replica.seen.configuration_seen(object, what, clock, policy);
        *replica.versions.get_mut(object)? = found.version;
        Some(())
    }

    fn write_ring(&mut self, at: usize, change: &Change, policy: &Policy) -> Option<()> {
        let replica = self.replicas.get_mut(at)?;
        let (version, ring) = replica.ring.clone()?;
        if policy.enforces(Rule::W1) && version != self.version {
            return self.read(at, policy);
        }
        let clock = replica.clock(self.now);
        let corrected = replica.seen.corrected(clock, policy);
        let facts = change.apply(ring.facts(), corrected, policy, &mut self.names)?;
        self.disorder |= self.ring.facts().is_some_and(|stored| disorders(stored, &facts));
        if matches!(change, Change::Restore { .. }) {
            replica.seen.restored = Some(corrected);
        }
        replica.seen.ring_written(&facts, clock, policy);
        self.version += 1;
        self.ring = RingFacts::Known(facts);
        replica.ring = Some((self.version, self.ring.clone()));
        Some(())
    }

    fn publish(&mut self, at: usize, object: usize, policy: &Policy) -> Option<()> {
        let (replica, found) = (self.replicas.get_mut(at)?, self.objects.get_mut(object)?);
        if found.denied {
            replica.seen.configurations.get_mut(object)?.denied = true;
            return Some(());
        }
        if !policy.enforces(Rule::W2) || replica.versions.get(object) == Some(&found.version) {
            let (_, ring) = replica.ring.as_ref()?;
            let published = Published::of(ring.facts()?, self.now, found.newest());
            found.push(published);
        }
        self.see(at, object, policy)
    }
}

/// Whether a write breaks the order of generations (invariant I2).
fn disorders(stored: &Facts, written: &Facts) -> bool {
    let roles = |facts: &Facts| -> Vec<_> { facts.authorities.iter().map(|ca| (ca.id, ca.state)).collect() };
    stored.lineage == written.lineage
        && (written.generation < stored.generation
            || written.generation == stored.generation && roles(stored) != roles(written))
}
