//! The planned rotation: hold, promote, remove, revoke (rules H1, P1, D1, C1, L1).

use std::collections::BTreeSet;

use super::StepContext;
use crate::ring::{
    Action, AuthorityFacts, AuthorityState, Blocked, CaId, Change, Configuration, Facts, Moment, Rule,
};

impl StepContext<'_> {
    pub(super) fn plan(&self, facts: &Facts) -> Option<Action> {
        if facts.revocation.is_open() {
            return Some(Action::WriteRing(Change::Revoke));
        }
        self.hold(facts).or_else(|| self.promote(facts)).or_else(|| self.remove(facts))
    }

    /// Rule H1 for the next CA, and for the first active CA of a ring. The active CA is held even if the clock is off, so that
    /// a replica can start with a wrong clock. While a configuration may not be read, nothing shows that the next CA is known there.
    /// While none may be read, the active CA is held after a while, so that missing rights do not stop a revocation.
    fn hold(&self, facts: &Facts) -> Option<Action> {
        let unheld = facts.authorities.iter().filter(|ca| ca.held.is_none());
        let held = unheld.filter_map(|ca| {
            let wait = match ca.state {
                AuthorityState::Next if self.is_clock_right() && !self.is_any_hidden() => self.policy.hold,
                AuthorityState::Active if !self.is_blind(facts) || self.has_watched() => {
                    self.policy.hold_cold
                }
                _ => return None,
            };
            let since = self.everywhere_since(ca.id, facts)?;
            let waited = !self.policy.enforces(Rule::H1) || self.now.since(since) >= wait;
            waited.then_some(ca.id)
        });
        let id = held.min()?;
        self.reread_configurations().or(Some(Action::WriteRing(Change::Hold(id))))
    }

    fn promote(&self, facts: &Facts) -> Option<Action> {
        let (active, next) = (facts.active()?, facts.next()?);
        let last_call =
            self.policy.enforces(Rule::L1) && active.not_after.since(self.now) < self.policy.last_call();
        let due = last_call || self.now >= facts.due || facts.rotation.is_open();
        // A chain has one cross-signed certificate, so the last rotation must be over.
        if !due || facts.is_overlapping() {
            return None;
        }
        if next.not_before > self.now {
            return Some(Action::Report(Blocked::Hold(next.id)));
        }
        let by_clock = self.is_clock_right() || last_call && self.is_last_call_by_own_clock(active);
        if !by_clock {
            return Some(Action::Report(Blocked::Clock));
        }
        if self.policy.enforces(Rule::P1) && !last_call {
            let everywhere = !self.is_any_hidden() && self.everywhere_since(next.id, facts).is_some();
            if next.held.is_none() || !everywhere {
                return Some(Action::Report(Blocked::Hold(next.id)));
            }
            if let Some(look) = self.reread_configurations() {
                return Some(look);
            }
        }
        Some(Action::WriteRing(Change::Promote))
    }

    /// Whether rule L2 waits for no configuration, and one may not be read. Nothing shows then that a CA is known anywhere: an API
    /// server that has just started refuses every read until it knows the roles.
    fn is_blind(&self, facts: &Facts) -> bool {
        self.is_any_hidden() && self.reachable(facts).next().is_none()
    }

    fn is_any_hidden(&self) -> bool {
        self.seen.configurations.iter().any(Configuration::is_hidden)
    }

    /// Rule C1 keeps a wrong clock from retiring a CA early. If the machine's own clock also shows that the CA is near its end,
    /// the promotion does not wait for the clock to be corrected.
    fn is_last_call_by_own_clock(&self, active: &AuthorityFacts) -> bool {
        let last_call = self.policy.last_call();
        active.not_after.since(self.now) < last_call
            && active.not_after.since(self.own_clock().max(active.not_before)) < last_call
    }

    /// Rule D1.
    fn remove(&self, facts: &Facts) -> Option<Action> {
        let active_known =
            facts.active()?.held.is_some_and(|held| self.now.since(held) >= self.policy.switch_wait);
        // A foreign CA stays until its successor is known everywhere, but no longer than its leaves can live: a configuration
        // that cannot be written may never learn of the successor.
        let last_leaf = self.policy.leaf_life.saturating_add(self.policy.skew);
        let is_over = |ca: &&AuthorityFacts| {
            let ended = |until| self.now >= until || !self.policy.enforces(Rule::D1);
            match ca.state {
                AuthorityState::Retired { until } => ended(until),
                AuthorityState::Foreign { until } if active_known => ended(until),
                AuthorityState::Foreign { until } => ended(until.plus(last_leaf)),
                _ => false,
            }
        };
        let over: BTreeSet<CaId> = facts.authorities.iter().filter(is_over).map(|ca| ca.id).collect();
        if over.is_empty() {
            None
        } else if self.is_clock_right() || self.must_make_room(facts, &over) {
            Some(Action::WriteRing(Change::Remove(over)))
        } else {
            Some(Action::Report(Blocked::Clock))
        }
    }

    /// Whether a last promotion waits for the end of the previous rotation, and the machine's own clock agrees.
    fn must_make_room(&self, facts: &Facts, over: &BTreeSet<CaId>) -> bool {
        let own = self.own_clock();
        let is_over = |ca: &AuthorityFacts| match ca.state {
            AuthorityState::Retired { until } | AuthorityState::Foreign { until } => own >= until,
            _ => false,
        };
        let ended = facts.authorities.iter().filter(|ca| over.contains(&ca.id)).all(is_over);
        ended && facts.active().is_some_and(|active| self.is_last_call_by_own_clock(active))
    }

    fn own_clock(&self) -> Moment {
        self.now.corrected(self.seen.offset.saturating_neg())
    }

    /// Rule C1.
    fn is_clock_right(&self) -> bool {
        self.seen.offset.unsigned_abs() <= self.policy.skew.as_secs() || !self.policy.enforces(Rule::C1)
    }

    /// The read of a configuration that was seen too long ago.
    pub(super) fn reread_configurations(&self) -> Option<Action> {
        let configurations = &self.seen.configurations;
        // Reading all of them takes time, and the first must still be recent when the last is read.
        let count = u32::try_from(configurations.len()).unwrap_or(u32::MAX);
        let limit = self.policy.recheck.saturating_mul(count);
        let is_old = |seen: &Configuration| self.now.since(seen.read) > limit && !seen.is_hidden();
        configurations.iter().position(is_old).map(Action::ReadConfiguration)
    }
}
