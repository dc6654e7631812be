//! Applies events to a cluster, and decides when time may pass.

use vestibule_pki::ring::Moment;

use super::Scenario;
use crate::{Event, Object, Replica, World};

impl Scenario {
    /// [`None`] if the event is impossible or changes nothing.
    pub(super) fn apply(&self, world: &mut World, event: Event) -> Option<()> {
        match event {
            Event::Tick => self.tick(world),
            Event::See(at, object) => {
                let replica = in_reach(world, at).filter(|replica| !replica.broken_watch)?;
                (replica.versions.get(object)? != &world.objects.get(object)?.version).then_some(())?;
                world.see(at, object, self)?;
            }
            Event::Read(at) => {
                let replica = in_reach(world, at)?;
                replica.ring.as_ref().is_none_or(|(version, _)| *version != world.version).then_some(())?;
                world.read(at, &self.policy)?;
            }
            Event::Act(at) => self.act(world, at)?,
            Event::Deliver(server, object) => {
                let found = world.objects.get_mut(object)?;
                (found.views.get(server)? + 1 < found.history.len()).then_some(())?;
                found.deliver(server);
            }
            Event::Begin(at) => {
                let replica = world.replicas.get_mut(at).filter(|replica| !replica.up)?;
                *replica = Replica::new(self.configurations, replica.seen.offset);
            }
            Event::Heal(at) => {
                let replica =
                    world.replicas.get_mut(at).filter(|replica| replica.cut || replica.broken_watch)?;
                (replica.cut, replica.broken_watch) = (false, false);
                for object in 0..self.configurations {
                    replica.seen.configuration_missed(object);
                    replica.versions[object] = 0;
                }
            }
            Event::Fault(fault) => world.apply_fault(fault, &self.reverted())?,
        }
        Some(())
    }

    pub(super) fn tick(&self, world: &mut World) {
        world.now = Moment(world.now.0 + 1);
        world.replace_objects();
        for at in 0..world.replicas.len() {
            // The ring is read at least as often as time is told here.
            if world.replicas[at].up && !world.replicas[at].cut {
                world.read(at, &self.policy);
            }
        }
    }

    /// Whether a replica in reach has not read the latest versions, or an API server is as late as it may be: time waits then.
    pub(super) fn is_behind(&self, world: &World) -> bool {
        let is_blind = |replica: &Replica| {
            let mut versions = replica.versions.iter().zip(&world.objects);
            replica.ring.as_ref().is_none_or(|(version, _)| *version != world.version)
                || !replica.broken_watch && versions.any(|(version, object)| *version != object.version)
        };
        let is_late = |object: &Object| {
            object.views.iter().any(|view| {
                let next = object.history.get(view + 1);
                next.is_some_and(|next| world.now.since(next.written).as_secs() >= self.lag)
            })
        };
        world.replicas.iter().any(|replica| replica.up && !replica.cut && is_blind(replica))
            || world.objects.iter().any(is_late)
    }
}

fn in_reach(world: &World, at: usize) -> Option<&Replica> {
    world.replicas.get(at).filter(|replica| replica.up && !replica.cut)
}
