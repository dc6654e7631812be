//! `ring.json`: what the certificates do not say themselves.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ring::{
    AuthorityFacts, AuthorityState, Bridge, CaId, Facts, Lineage, Moment, Problem, Request, RingError,
};

const SCHEMA: u64 = 1;

/// The number comes first, alone: the rest is read only if it is understood.
#[derive(Deserialize)]
struct Schema {
    schema: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Description {
    schema: u64,
    lineage: String,
    generation: u64,
    due: u64,
    rotation_answered: u64,
    revocation_answered: u64,
    authorities: Vec<Entry>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Entry {
    id: String,
    state: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crossed_by: Option<String>,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum State {
    Next,
    Active,
    Retired,
    Foreign,
}

impl Description {
    pub(super) fn of(facts: &Facts) -> Self {
        Self {
            schema: SCHEMA,
            lineage: CaId(facts.lineage.0).to_string(),
            generation: facts.generation,
            due: facts.due.0,
            rotation_answered: facts.rotation.answered,
            revocation_answered: facts.revocation.answered,
            authorities: facts.authorities.iter().map(Entry::of).collect(),
        }
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Ends of validity are left at zero: certificates tell them.
    pub(super) fn read(text: &str, field: &str) -> Result<Facts, RingError> {
        let unreadable = || RingError::field(field, Problem::Json);
        let Schema { schema } = serde_json::from_str(text).map_err(|_| unreadable())?;
        if schema > SCHEMA {
            return Err(RingError::Newer { schema });
        }
        let description: Self = serde_json::from_str(text).map_err(|_| unreadable())?;
        let facts = description.facts().ok_or_else(unreadable)?;
        if is_sound(&facts) { Ok(facts) } else { Err(RingError::field(field, Problem::States)) }
    }

    fn facts(&self) -> Option<Facts> {
        Some(Facts {
            lineage: Lineage(hexadecimal(&self.lineage)?),
            generation: self.generation,
            due: Moment(self.due),
            rotation: Request { asked: 0, answered: self.rotation_answered },
            revocation: Request { asked: 0, answered: self.revocation_answered },
            authorities: self.authorities.iter().map(Entry::facts).collect::<Option<_>>()?,
        })
    }
}

impl Entry {
    fn of(ca: &AuthorityFacts) -> Self {
        let (state, until) = match ca.state {
            AuthorityState::Next => (State::Next, None),
            AuthorityState::Active => (State::Active, None),
            AuthorityState::Retired { until } => (State::Retired, Some(until.0)),
            AuthorityState::Foreign { until } => (State::Foreign, Some(until.0)),
        };
        let held = ca.held.map(|held| held.0);
        Self {
            id: ca.id.to_string(),
            state,
            until,
            held,
            crossed_by: ca.bridge.map(|bridge| bridge.issuer.to_string()),
        }
    }

    fn facts(&self) -> Option<AuthorityFacts> {
        let state = match (self.state, self.until.map(Moment)) {
            (State::Next, None) => AuthorityState::Next,
            (State::Active, None) => AuthorityState::Active,
            (State::Retired, Some(until)) => AuthorityState::Retired { until },
            (State::Foreign, Some(until)) => AuthorityState::Foreign { until },
            _ => return None,
        };
        let crossed_by = match &self.crossed_by {
            Some(id) => Some(Bridge { issuer: CaId(hexadecimal(id)?), not_after: Moment(0) }),
            None => None,
        };
        let id = CaId(hexadecimal(&self.id)?);
        Some(AuthorityFacts {
            id,
            state,
            not_after: Moment(0),
            held: self.held.map(Moment),
            bridge: crossed_by,
        })
    }
}

/// Invariant I2, and an order that is kept.
fn is_sound(facts: &Facts) -> bool {
    let count = |state| facts.authorities.iter().filter(|ca| ca.state == state).count();
    let ids: BTreeSet<_> = facts.trusted();
    let ordered = facts.authorities.iter().map(|ca| ca.id).eq(ids);
    count(AuthorityState::Active) == 1 && count(AuthorityState::Next) == 1 && ordered
}

fn hexadecimal(text: &str) -> Option<u64> {
    (text.len() == 16).then(|| u64::from_str_radix(text, 16).ok()).flatten()
}
