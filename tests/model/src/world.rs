//! A state of the whole cluster.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use vestibule_pki::ring::{BundleMark, CaFactory, CaId, Facts, Lineage, Moment, Observations, RingFacts};

use crate::Faults;

/// A state of the whole cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// True time.
    pub now: Moment,
    /// The Secret.
    pub ring: RingFacts,
    /// Its resourceVersion.
    pub version: u32,
    /// The Secret that a rollback restores.
    pub backup: RingFacts,
    /// The configurations.
    pub objects: Vec<Object>,
    /// The replicas.
    pub replicas: Vec<Replica>,
    /// The faults that may still occur.
    pub faults: Faults,
    /// CAs whose leaves may be refused: their keys were stolen.
    pub revoked: BTreeSet<CaId>,
    /// The revoked CAs that were replaced.
    pub replaced: BTreeSet<CaId>,
    /// A write of the ring broke the order of generations.
    pub disorder: bool,
    /// The source of new names.
    pub names: Names,
}

/// A configuration, and how far each API server has come with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// Its contents, from the oldest that an API server still sees.
    pub history: Vec<Published>,
    /// For each API server the position in the history.
    pub views: Vec<usize>,
    /// Its resourceVersion.
    pub version: u32,
    /// Whether our writes are refused.
    pub denied: bool,
    /// Whether a tool replaces it every second by a manifest that knows nothing of bundles.
    pub replaced: bool,
    /// Whether an admission policy removes our annotations from every write.
    pub stripped: bool,
    /// Whether another program wrote its own CA into it.
    pub planted: bool,
}

/// The content of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Published {
    /// The bundle.
    pub bundle: BTreeSet<CaId>,
    /// Whether its entries differ or hold text that is no certificate.
    pub untidy: bool,
    /// The annotations.
    pub mark: Option<BundleMark>,
    /// When the mark changed.
    pub changed: Moment,
    /// When this was written.
    pub written: Moment,
    /// Whether a replica wrote it.
    pub ours: bool,
    /// Whether the object is deleted.
    pub gone: bool,
}

/// A replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Replica {
    /// Whether it runs.
    pub up: bool,
    /// Whether it is cut off from the API.
    pub cut: bool,
    /// Whether its watches are broken.
    pub broken_watch: bool,
    /// Whether it ever presented a leaf since it began.
    pub served: bool,
    /// Its observations.
    pub seen: Observations,
    /// The ring as last read.
    pub ring: Option<(u32, RingFacts)>,
    /// The version of each configuration as last read.
    pub versions: Vec<u32>,
}

/// Names new CAs by counting.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Names(pub u64);

impl CaFactory for Names {
    fn authority(&mut self, _now: Moment, _not_after: Moment) -> Option<CaId> {
        self.0 += 1;
        Some(CaId(self.0))
    }

    fn lineage(&mut self) -> Lineage {
        self.0 += 1;
        Lineage(self.0)
    }
}

impl Object {
    /// The stored content.
    pub fn newest(&self) -> Option<&Published> {
        self.history.last()
    }

    /// The content that each API server sees.
    pub fn seen(&self) -> impl Iterator<Item = &Published> {
        self.views.iter().filter_map(|view| self.history.get(*view))
    }

    /// Adds a new content unless it is equal to the stored one.
    pub fn push(&mut self, mut published: Published) {
        if self.stripped {
            published.mark = None;
        }
        if self.newest().is_some_and(|newest| newest.is_same(&published)) {
            return;
        }
        self.history.push(published);
        self.version += 1;
    }

    /// An API server takes its next event.
    pub fn deliver(&mut self, server: usize) {
        if let Some(view) = self.views.get_mut(server) {
            *view += 1;
        }
        let oldest = self.views.iter().copied().min().unwrap_or(0);
        self.history.drain(..oldest);
        for view in &mut self.views {
            *view -= oldest;
        }
    }

    /// Every API server takes all events.
    pub(crate) fn deliver_all(&mut self) {
        self.history.drain(..self.history.len().saturating_sub(1));
        self.views.fill(0);
    }
}

impl World {
    /// The same world with its replicas sorted, because they are interchangeable.
    pub(crate) fn representative(&self) -> Self {
        let mut world = self.clone();
        world.replicas.sort_by_cached_key(|replica| {
            let mut hasher = DefaultHasher::new();
            replica.hash(&mut hasher);
            hasher.finish()
        });
        world
    }
}

impl Replica {
    /// A process that just began.
    pub fn new(configurations: usize, offset: i64) -> Self {
        let mut seen = Observations::new(configurations);
        seen.offset = offset;
        Self {
            up: true,
            cut: false,
            broken_watch: false,
            served: false,
            seen,
            ring: None,
            versions: vec![0; configurations],
        }
    }

    /// Its own clock.
    pub fn clock(&self, now: Moment) -> Moment {
        now.corrected(-self.seen.offset)
    }
}

impl Published {
    /// The content that a replica publishes.
    pub fn of(facts: &Facts, now: Moment, before: Option<&Self>) -> Self {
        let mark = Some(BundleMark { lineage: facts.lineage, generation: facts.generation });
        let changed = before.filter(|before| before.mark == mark).map_or(now, |before| before.changed);
        let bundle = facts.bundle_over(|id| before.is_some_and(|before| before.bundle.contains(&id)));
        Self { bundle, untidy: false, mark, changed, written: now, ours: true, gone: false }
    }

    /// An object without anything of ours.
    pub fn bare(now: Moment) -> Self {
        let bundle = BTreeSet::new();
        Self { bundle, untidy: false, mark: None, changed: now, written: now, ours: false, gone: false }
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.bundle, self.untidy, self.mark, self.gone)
            == (&other.bundle, other.untidy, other.mark, other.gone)
    }
}
