//! `ring.json`: what the certificates do not say themselves.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ring::{
    AuthorityFacts, AuthorityState, CaId, CrossSignature, Facts, Lineage, Moment, Problem, Request, RingError,
};

/// The schema that this version writes.
const SCHEMA: u64 = 2;
/// Readers of this schema or a newer one understand enough of the JSON to sign leaves with the ring.
const READABLE: u64 = 1;
/// Larger than any real generation; the upper half is left for marks that are ahead.
const MOST_GENERATIONS: u64 = u64::MAX / 2;

/// The schema numbers, which are read before the rest of the JSON.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Schema {
    schema: u64,
    readable: u64,
}

impl Schema {
    pub(super) fn read(text: &str, field: &str) -> Result<Self, RingError> {
        serde_json::from_str(text).map_err(|_| RingError::field(field, Problem::Json))
    }

    /// The error for a caller that must understand the whole ring.
    pub(super) fn newer(self) -> Option<RingError> {
        (self.schema > SCHEMA).then_some(RingError::Newer { schema: self.schema })
    }

    /// Whether this version can sign leaves with the ring.
    pub(super) fn is_readable(self) -> bool {
        self.readable <= SCHEMA
    }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Description {
    schema: u64,
    readable: u64,
    lineage: String,
    generation: u64,
    due: u64,
    rotation_answered: u64,
    revocation_answered: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    restored: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    revoked: Vec<String>,
    /// Since schema 2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    made: Vec<String>,
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

const FIELDS: [&str; 11] = [
    "schema",
    "readable",
    "lineage",
    "generation",
    "due",
    "rotationAnswered",
    "revocationAnswered",
    "restored",
    "revoked",
    "made",
    "authorities",
];
const ENTRY_FIELDS: [&str; 5] = ["id", "state", "until", "held", "crossedBy"];

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
            readable: READABLE,
            lineage: CaId(facts.lineage.0).to_string(),
            generation: facts.generation,
            due: facts.due.0,
            rotation_answered: facts.rotation.answered,
            revocation_answered: facts.revocation.answered,
            restored: facts.restored.map(|restored| restored.0),
            revoked: facts.revoked.iter().map(CaId::to_string).collect(),
            made: facts.made.iter().map(CaId::to_string).collect(),
            authorities: facts.authorities.iter().map(Entry::of).collect(),
        }
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Ends of validity are left at zero: certificates tell them.
    pub(super) fn read(text: &str, schema: Schema, field: &str) -> Result<Facts, RingError> {
        let unreadable = || RingError::field(field, Problem::Json);
        let description: Option<Self> =
            if schema.newer().is_some() { understood(text) } else { serde_json::from_str(text).ok() };
        let description = description.ok_or_else(unreadable)?;
        let facts = description.facts().ok_or_else(unreadable)?;
        if is_sound(&facts) { Ok(facts) } else { Err(RingError::field(field, Problem::States)) }
    }

    fn facts(&self) -> Option<Facts> {
        let ids = |names: &[String]| -> Option<Vec<CaId>> {
            names.iter().map(|id| hexadecimal(id).map(CaId)).collect()
        };
        let mut facts = Facts {
            lineage: Lineage(hexadecimal(&self.lineage)?),
            generation: self.generation,
            due: Moment(self.due),
            rotation: Request { asked: 0, answered: self.rotation_answered },
            revocation: Request { asked: 0, answered: self.revocation_answered },
            restored: self.restored.map(Moment),
            revoked: ids(&self.revoked)?.into_iter().collect(),
            made: ids(&self.made)?,
            authorities: self.authorities.iter().map(Entry::facts).collect::<Option<_>>()?,
        };
        // A ring of schema 1 does not say what it made.
        let made: Vec<_> = facts.authorities.iter().filter(|ca| !ca.is_foreign()).map(|ca| ca.id).collect();
        made.into_iter().for_each(|id| facts.remember(id));
        Some(facts)
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
            crossed_by: ca.cross_signature.map(|cross_signature| cross_signature.issuer.to_string()),
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
            Some(id) => Some(CrossSignature { issuer: CaId(hexadecimal(id)?), not_after: Moment(0) }),
            None => None,
        };
        let id = CaId(hexadecimal(&self.id)?);
        Some(AuthorityFacts {
            id,
            state,
            not_before: Moment(0),
            not_after: Moment(0),
            held: self.held.map(Moment),
            cross_signature: crossed_by,
        })
    }
}

/// A newer description without what is new in it.
fn understood(text: &str) -> Option<Description> {
    let mut description: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    description.retain(|name, _| FIELDS.contains(&name.as_str()));
    for entry in description.get_mut("authorities")?.as_array_mut()? {
        entry.as_object_mut()?.retain(|name, _| ENTRY_FIELDS.contains(&name.as_str()));
    }
    serde_json::from_value(description.into()).ok()
}

/// Invariant I2, and an order that is kept.
fn is_sound(facts: &Facts) -> bool {
    let count = |state| facts.authorities.iter().filter(|ca| ca.state == state).count();
    let ids: BTreeSet<_> = facts.trusted();
    let ordered = facts.authorities.iter().map(|ca| ca.id).eq(ids);
    let revoked = |ca: Option<&AuthorityFacts>| ca.is_some_and(|ca| facts.revoked.contains(&ca.id));
    count(AuthorityState::Active) == 1
        && count(AuthorityState::Next) == 1
        && ordered
        && facts.generation <= MOST_GENERATIONS
        && !revoked(facts.active())
        && !revoked(facts.next())
}

fn hexadecimal(text: &str) -> Option<u64> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_one = text.len() == 16 && text.bytes().all(is_digit);
    is_one.then(|| u64::from_str_radix(text, 16).ok()).flatten()
}
