//! What one replica has seen: everything that `step` knows besides the ring itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::ring::{CaId, Facts, Lineage, Moment, Policy, RingFacts, step};

/// What one replica has seen and holds. Moments are corrected by [`offset`](Self::offset).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// Since when a configuration shows a ring and CAs of which neither the stored ring nor this replica knows anything: for
    /// a while, replicas that know them may say so.
    pub contested: Option<Moment>,
    /// Seconds to add to the local clock, by the `Date` of the API server's answers.
    pub offset: i64,
}

/// One object that holds our `caBundle`, as last seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Configuration {
    /// The CAs of its bundle, each with the moment since which it was seen there without a gap.
    pub bundle: BTreeMap<CaId, Moment>,
    /// The ring that its annotations name.
    pub mark: Option<Mark>,
    /// When its mark last changed, by the API server's clock. [`None`] if the object was not found.
    pub changed: Option<Moment>,
    /// Since when this replica has seen without a gap that there is no such object.
    pub absent: Option<Moment>,
    /// The mark that our last write brought and that the stored object did not show: an admission policy removes it.
    pub stripped: Option<Mark>,
    /// Whether its entries differ from each other, or hold more than the canonical PEM of their certificates.
    pub untidy: bool,
    /// When it was last read, or the watch last said that nothing changed.
    pub read: Moment,
    /// Whether the ring was read after that (rule W2).
    pub ring_read_since: bool,
    /// Whether our last attempt to write it, or to read it, was refused for good. If it may not be read any more, say
    /// [`configuration_missed`](Observations::configuration_missed) too: then nothing waits for a look at it.
    pub denied: bool,
}

/// One look at a configuration.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The CAs that every one of its entries trusts.
    pub bundle: &'a BTreeSet<CaId>,
    /// The ring that its annotations name.
    pub mark: Option<Mark>,
    /// When its mark last changed, by the API server's clock. [`None`] if the object was not found.
    pub changed: Option<Moment>,
    /// Whether its entries differ from each other, or hold more than the canonical PEM of their certificates.
    pub untidy: bool,
}

/// The ring whose bundle a configuration holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Annotation `ca-lineage`.
    pub lineage: Lineage,
    /// Annotation `ca-generation`.
    pub generation: u64,
}

/// A replica's own leaf.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeafFacts {
    /// Who signed it.
    pub issuer: CaId,
    /// Who signed the cross certificate that is presented with it.
    pub cross_signature: Option<CaId>,
    /// When to make the next one.
    pub renew: Moment,
    /// The first second of its validity.
    pub not_before: Moment,
    /// The last second of its validity.
    pub not_after: Moment,
}

impl Observations {
    /// A replica that has seen nothing of its registered configurations yet.
    #[must_use]
    pub fn new(configurations: usize) -> Self {
        Self {
            configurations: vec![Configuration::unseen(); configurations],
            memory: None,
            leaf: None,
            confirmed: None,
            begun: None,
            contested: None,
            offset: 0,
        }
    }

    /// The ring was read at quorum. It is remembered unless it breaks with what is known: then memory waits for `step`.
    pub fn ring_read(&mut self, ring: &RingFacts, now: Moment, policy: &Policy) {
        let now = self.corrected(now, policy);
        self.confirmed = Some(now);
        for configuration in &mut self.configurations {
            configuration.ring_read_since = true;
        }
        if let Some(facts) = ring.facts()
            && !step::breaks(facts, self, now, policy)
        {
            self.memory = Some(facts.clone());
        }
        let is_known = |seen: &Configuration| seen.read > Moment(0) || seen.is_hidden();
        if self.begun.is_none() && self.configurations.iter().all(is_known) {
            self.begun = Some(now);
        }
        let is_contested = step::is_contested(ring, self, now, policy);
        self.contested = is_contested.then(|| self.contested.unwrap_or(now));
    }

    /// This replica wrote the ring.
    pub fn ring_written(&mut self, facts: &Facts, now: Moment, policy: &Policy) {
        self.confirmed = Some(self.corrected(now, policy));
        self.memory = Some(facts.clone());
    }

    /// A configuration was read, or an event of its watch came.
    pub fn configuration_seen(&mut self, position: usize, seen: Seen<'_>, now: Moment, policy: &Policy) {
        let now = self.corrected(now, policy);
        if let Some(configuration) = self.configurations.get_mut(position) {
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

    /// The configuration itself proves that its bundle has been what was last seen of it since then: all of it is owned by
    /// our field manager, whose last change was at that moment by the API server's clock. So holds (rule H1) survive
    /// replicas that live shorter than them.
    pub fn configuration_unchanged_since(&mut self, position: usize, since: Moment) {
        if let Some(configuration) = self.configurations.get_mut(position) {
            configuration.bundle.values_mut().for_each(|seen| *seen = since.min(*seen));
        }
    }

    /// A write of ours that brought this mark was accepted, and the object that it left was seen.
    pub fn configuration_written(&mut self, position: usize, mark: Mark) {
        if let Some(configuration) = self.configurations.get_mut(position) {
            configuration.stripped = configuration.mark.is_none().then_some(mark);
        }
    }

    /// Events of a configuration may have been missed: its watch broke, or it was listed anew. What it holds now says
    /// nothing of the time between, so every hold begins again with the next sight of it (rule H1).
    pub fn configuration_missed(&mut self, position: usize) {
        if let Some(configuration) = self.configurations.get_mut(position) {
            configuration.bundle.clear();
            (configuration.read, configuration.absent) = (Moment(0), None);
            self.begun = None;
        }
    }

    /// The local clock, corrected (rule C1).
    #[must_use]
    pub fn corrected(&self, now: Moment, policy: &Policy) -> Moment {
        if policy.enforces(super::Rule::C1) { now.corrected(self.offset) } else { now }
    }

    /// Whether there is a leaf that is valid now: all that readiness asks for once it was reached (rule E1).
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

impl LeafFacts {
    /// Whether clients with this clock accept its dates.
    #[must_use]
    pub fn is_valid(&self, now: Moment) -> bool {
        self.not_before <= now && now <= self.not_after
    }
}

impl Configuration {
    fn unseen() -> Self {
        Self {
            bundle: BTreeMap::new(),
            mark: None,
            changed: None,
            absent: None,
            stripped: None,
            untidy: false,
            read: Moment(0),
            ring_read_since: false,
            denied: false,
        }
    }

    /// Whether it may not even be read, and never was.
    pub(super) fn is_hidden(&self) -> bool {
        self.denied && self.read == Moment(0)
    }

    /// The names in its bundle.
    pub fn trusted(&self) -> impl Iterator<Item = CaId> {
        self.bundle.keys().copied()
    }
}
