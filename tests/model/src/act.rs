//! Carries out the actions of `step`, like `vestibule-identity` does on a real cluster.

use vestibule_pki::ring::{Action, CaId, Change, Facts, Observations, Policy, RingFacts, Rule, Seen, step};

use crate::{Guard, Published, Replica, Scenario, World};

/// A CA that no ring of the model made.
pub(crate) const UNKNOWN_CA: CaId = CaId(999);

impl Scenario {
    /// The first action that a replica can carry out now.
    pub(crate) fn intention(&self, world: &World, replica: &Replica) -> Option<Action> {
        let (_, ring) = replica.ring.as_ref().filter(|_| replica.up)?;
        let clock = replica.clock(world.now);
        let actions = if self.off.is_empty() {
            step(ring, &replica.seen, clock, &self.policy)
        } else {
            let (truth, mut ring, mut seen) = ((ring,), ring.clone(), replica.seen.clone());
            for guard in &self.off {
                guard.hides(&mut ring);
                guard.falsifies(&mut seen, world.now);
            }
            let mut actions = step(&ring, &seen, clock, &self.policy);
            if self.off.contains(&Guard::LastLook) {
                skip_last_look(&mut actions, seen, |seen| step(&ring, seen, clock, &self.policy));
            }
            let spoil = |action: &mut Action| {
                let truth = (truth.0, &replica.seen);
                self.off.iter().for_each(|guard| guard.replaces(action, truth, &self.policy));
            };
            actions.iter_mut().for_each(spoil);
            actions
        };
        let local = |action: &Action| matches!(action, Action::SignLeaf(_) | Action::DropLeaf);
        actions.into_iter().find(|action| if replica.cut { local(action) } else { !action.is_report() })
    }

    /// [`None`] if nothing changes.
    pub(crate) fn act(&self, world: &mut World, at: usize) -> Option<()> {
        let action = self.intention(world, world.replicas.get(at)?)?;
        let policy = &self.policy;
        match action {
            Action::ReadRing => world.read(at, policy)?,
            Action::ReadConfiguration(object) => world.see(at, object, self)?,
            Action::WriteRing(change) => world.write_ring(at, &change, self)?,
            Action::PublishBundle(object) => world.publish(at, object, self)?,
            Action::SignLeaf(leaf) => {
                let replica = world.replicas.get_mut(at)?;
                (replica.seen.leaf, replica.served) = (Some(leaf), true);
            }
            Action::DropLeaf => world.replicas.get_mut(at)?.seen.leaf = None,
            Action::Report(_) => return None,
        }
        Some(())
    }
}

/// A replica without the last look of rule S2 signs its first leaf where another replica reads a configuration again.
fn skip_last_look(
    actions: &mut [Action],
    mut seen: Observations,
    step: impl FnOnce(&Observations) -> Vec<Action>,
) {
    seen.configurations.iter_mut().for_each(|configuration| configuration.ring_read_since = false);
    let is_leaf = |action: &Action| matches!(action, Action::SignLeaf(_));
    let leaf = step(&seen).into_iter().find(is_leaf).filter(|_| seen.leaf.is_none());
    let look = actions.iter_mut().find(|action| matches!(action, Action::ReadConfiguration(_)));
    if let (Some(leaf), Some(look)) = (leaf, look) {
        *look = leaf;
    }
}

impl World {
    pub(crate) fn read(&mut self, at: usize, policy: &Policy) -> Option<()> {
        let replica = self.replicas.get_mut(at)?;
        let clock = replica.clock(self.now);
        replica.seen.ring_read(&self.ring, clock, policy);
        replica.ring = Some((self.version, self.ring.clone()));
        Some(())
    }

    pub(crate) fn see(&mut self, at: usize, object: usize, scenario: &Scenario) -> Option<()> {
        let (replica, found) = (self.replicas.get_mut(at)?, self.objects.get(object)?);
        let (clock, newest) = (replica.clock(self.now), found.newest()?);
        // A watch delivers every event; a read that skips versions must report the gap.
        if replica.versions.get(object)? + 1 < found.version {
            replica.seen.configuration_missed(object);
        }
        let (mark, changed) = (newest.mark, (!newest.gone).then_some(newest.changed));
        let what = Seen {
            bundle: &newest.bundle,
            mark,
            changed,
            untidy: newest.untidy && !scenario.off.contains(&Guard::CanonicalBundle),
        };
        replica.seen.configuration_seen(object, what, clock, &scenario.policy);
        *replica.versions.get_mut(object)? = found.version;
        Some(())
    }

    fn write_ring(&mut self, at: usize, change: &Change, scenario: &Scenario) -> Option<()> {
        let policy = &scenario.policy;
        let replica = self.replicas.get_mut(at)?;
        let (version, ring) = replica.ring.clone()?;
        if !scenario.off.contains(&Guard::CompareAndSwap) && version != self.version {
            return self.read(at, policy);
        }
        let clock = replica.clock(self.now);
        let corrected = replica.seen.corrected(clock, policy);
        let mut facts = change.apply(ring.facts(), corrected, policy, &mut self.names)?;
        if scenario.off.contains(&Guard::RevokedMemory) {
            facts.revoked.clear();
        }
        self.disorder |= self.ring.facts().is_some_and(|stored| disorders(stored, &facts));
        if *change == Change::Revoke {
            self.replaced.clone_from(&self.revoked);
        }
        replica.seen.ring_written(&facts, clock, policy);
        self.version += 1;
        self.ring = RingFacts::Known(facts);
        replica.ring = Some((self.version, self.ring.clone()));
        Some(())
    }

    fn publish(&mut self, at: usize, object: usize, scenario: &Scenario) -> Option<()> {
        let (replica, found) = (self.replicas.get_mut(at)?, self.objects.get_mut(object)?);
        if found.denied {
            replica.seen.configurations.get_mut(object)?.denied = true;
            return Some(());
        }
        let may_write = !found.newest()?.gone
            && (!scenario.policy.enforces(Rule::W2) || replica.versions.get(object) == Some(&found.version));
        let mut written = None;
        if may_write {
            let (_, ring) = replica.ring.as_ref()?;
            let published = Published::of(ring.facts()?, self.now, found.newest());
            written = published.mark;
            found.push(published);
        }
        self.see(at, object, scenario)?;
        if let Some(mark) = written {
            self.replicas.get_mut(at)?.seen.configuration_written(object, mark);
        }
        Some(())
    }
}

/// Whether a write breaks the order of generations (invariant I2).
fn disorders(stored: &Facts, written: &Facts) -> bool {
    let roles = |facts: &Facts| -> Vec<_> { facts.authorities.iter().map(|ca| (ca.id, ca.state)).collect() };
    stored.lineage == written.lineage
        && (written.generation < stored.generation
            || written.generation == stored.generation && roles(stored) != roles(written))
}
