//! The observations of one replica: all that `step` knows besides the ring.

use std::collections::{BTreeMap, BTreeSet};

use crate::ring::{BundleMark, CaId, Facts, LeafFacts, Moment, Policy};

/// The observations of one replica, and its leaf. Moments are corrected by [`offset`](Self::offset).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Observations {
    /// Every registered configuration, seen or not.
    pub configurations: Vec<Configuration>,
    /// The last ring that continued what was known before.
    pub memory: Option<Facts>,
    /// The leaf that is presented.
    pub leaf: Option<LeafFacts>,
    /// When the ring was last read, at quorum.
    pub confirmed: Option<Moment>,
    /// Since when the ring and every configuration are watched without a gap (rule S2).
    pub begun: Option<Moment>,
    /// Since when a configuration that names a ring has held CAs unknown to the stored ring and to this replica. Other replicas may
    /// know the CAs; they have `hold_cold` to add them to the ring.
    pub contested: Option<Moment>,
    /// Seconds to add to the local clock, by the `Date` of the API server's answers.
    pub offset: i64,
}

/// One object that holds our `caBundle`, as last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Configuration {
    /// The CAs of its bundle, each with the moment since which it was seen there without a gap.
    pub bundle: BTreeMap<CaId, Moment>,
    /// The ring that its annotations name.
    pub mark: Option<BundleMark>,
    /// When its mark last changed, by the API server's clock. [`None`] if the object was not found.
    pub changed: Option<Moment>,
    /// Since when this replica has seen without a gap that there is no such object.
    pub absent: Option<Moment>,
    /// The mark of our last write, if the stored object lacks it because an admission policy removed it.
    pub stripped: Option<BundleMark>,
    /// Whether its entries differ from each other, or hold more than the canonical PEM of their certificates.
    pub untidy: bool,
    /// When it was last read, or the watch last said that nothing changed.
    pub read: Moment,
    /// Whether the ring was read after that (rule W2).
    pub ring_read_since: bool,
    /// Whether the API server refused our last write or read for good. After a refused read the caller also calls
    /// [`configuration_missed`](Observations::configuration_missed), so that nothing waits for another read.
    pub denied: bool,
}

/// The result of one read or watch event of a configuration.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The CAs that every one of its entries trusts.
    pub bundle: &'a BTreeSet<CaId>,
    /// The ring that its annotations name.
    pub mark: Option<BundleMark>,
    /// When its mark last changed, by the API server's clock. [`None`] if the object was not found.
    pub changed: Option<Moment>,
    /// Whether its entries differ from each other, or hold more than the canonical PEM of their certificates.
    pub untidy: bool,
}

impl Observations {
    /// A replica that has read none of its configurations yet.
    #[must_use]
    pub fn new(configurations: usize) -> Self {
        Self { configurations: vec![Configuration::default(); configurations], ..Self::default() }
    }

    /// Records a write of the ring by this replica.
    pub fn ring_written(&mut self, facts: &Facts, now: Moment, policy: &Policy) {
        self.confirmed = Some(self.corrected(now, policy));
        self.memory = Some(facts.clone());
    }

    /// Records a read or a watch event of a configuration.
    pub fn configuration_seen(&mut self, position: usize, seen: Seen<'_>, now: Moment, policy: &Policy) {
        let now = self.corrected(now, policy);
        if let Some(configuration) = self.configurations.get_mut(position) {
            if configuration.is_hidden() {
                self.begun = None;
            }
            let since = |id| configuration.bundle.get(id).copied().unwrap_or(now);
            configuration.bundle = seen.bundle.iter().map(|id| (*id, since(id))).collect();
            (configuration.mark, configuration.changed) = (seen.mark, seen.changed);
            configuration.absent =
                if seen.changed.is_some() { None } else { configuration.absent.or(Some(now)) };
            configuration.stripped =
                configuration.stripped.filter(|_| seen.changed.is_some() && seen.mark.is_none());
            configuration.untidy = seen.untidy;
            (configuration.read, configuration.ring_read_since) = (now, false);
        }
    }

    /// Records that the bundle last seen is unchanged since this moment: `managedFields` show that our field manager owns all
    /// of it and last wrote it then. So a hold (rule H1) counts across restarts of replicas.
    pub fn configuration_unchanged_since(&mut self, position: usize, since: Moment) {
        if let Some(configuration) = self.configurations.get_mut(position) {
            configuration.bundle.values_mut().for_each(|seen| *seen = since.min(*seen));
        }
    }

    /// Records that our write with this mark was accepted and the stored object was seen.
    pub fn configuration_written(&mut self, position: usize, mark: BundleMark) {
        if let Some(configuration) = self.configurations.get_mut(position) {
            configuration.stripped = configuration.mark.is_none().then_some(mark);
        }
    }

    /// Records that events of a configuration may have been missed: its watch broke, or it was listed again. Its content in
    /// between is unknown, so every hold begins again with the next read (rule H1).
    pub fn configuration_missed(&mut self, position: usize) {
        if let Some(configuration) = self.configurations.get_mut(position) {
            // Another refusal of a read is no new gap: the time that a replica has tried to watch must not begin again.
            if !configuration.is_hidden() {
                self.begun = None;
            }
            configuration.bundle.clear();
            (configuration.read, configuration.absent) = (Moment(0), None);
        }
    }

    /// The local clock, corrected (rule C1).
    #[must_use]
    pub fn corrected(&self, now: Moment, policy: &Policy) -> Moment {
        if policy.enforces(super::Rule::C1) { now.corrected(self.offset) } else { now }
    }

    /// Whether a leaf is valid now; after the first readiness nothing else is required (rule E1).
    #[must_use]
    pub fn has_leaf(&self, now: Moment) -> bool {
        self.leaf.as_ref().is_some_and(|leaf| leaf.is_valid(now))
    }

    /// Since when every configuration was seen with this CA, without a gap.
    #[must_use]
    pub fn everywhere_since(&self, id: CaId) -> Option<Moment> {
        let since = |configuration: &Configuration| configuration.bundle.get(&id).copied();
        self.configurations.iter().map(since).try_fold(Moment(0), |latest, since| Some(latest.max(since?)))
    }
}

impl Configuration {
    /// Whether reading it is forbidden, and it was never read or may have changed since.
    pub(super) fn is_hidden(&self) -> bool {
        self.denied && self.read == Moment(0)
    }

    /// Whether the object exists and does not hold exactly the ring's bundle and mark.
    #[must_use]
    pub fn differs(&self, facts: &Facts) -> bool {
        self.changed.is_some()
            && (self.untidy
                || self.mark.or(self.stripped) != Some(facts.mark())
                || !self.trusted().eq(facts.bundle_over(|id| self.bundle.contains_key(&id))))
    }

    /// The names in its bundle.
    pub fn trusted(&self) -> impl Iterator<Item = CaId> {
        self.bundle.keys().copied()
    }
}
