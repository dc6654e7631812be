//! `ring.json`: the states, dates and requests of a ring, which are not in its certificates.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::ring::{
    AuthorityFacts, AuthorityState, CaId, CrossSignature, Facts, Lineage, Moment, Problem, Request,
    RingError, Role,
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
#[serde(rename_all = "camelCase")]
pub(super) struct Description {
    schema: u64,
    readable: u64,
    lineage: Hexadecimal,
    generation: u64,
    due: u64,
    rotation_answered: u64,
    revocation_answered: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    restored: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    revoked: Vec<Hexadecimal>,
    /// Since schema 2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    made: Vec<Hexadecimal>,
    authorities: Vec<Entry>,
    #[serde(flatten, skip_serializing)]
    unknown: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    id: Hexadecimal,
    state: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crossed_by: Option<Hexadecimal>,
    #[serde(flatten, skip_serializing)]
    unknown: BTreeMap<String, IgnoredAny>,
}

/// Sixteen hexadecimal digits in lower case.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
struct Hexadecimal(u64);

impl Description {
    pub(super) fn of(facts: &Facts) -> Self {
        let names = |ids: &mut dyn Iterator<Item = &CaId>| ids.map(|id| Hexadecimal(id.0)).collect();
        Self {
            schema: SCHEMA,
            readable: READABLE,
            lineage: Hexadecimal(facts.lineage.0),
            generation: facts.generation,
            due: facts.due.0,
            rotation_answered: facts.rotation.answered,
            revocation_answered: facts.revocation.answered,
            restored: facts.restored.map(|restored| restored.0),
            revoked: names(&mut facts.revoked.iter()),
            made: names(&mut facts.made.iter()),
            authorities: facts.authorities.iter().map(Entry::of).collect(),
            unknown: BTreeMap::new(),
        }
    }

    /// Ends of validity are left at zero: certificates tell them. Unknown members belong to a newer schema only.
    pub(super) fn read(text: &str, schema: Schema, field: &str) -> Result<Facts, RingError> {
        let unreadable = || RingError::field(field, Problem::Json);
        let description: Self = serde_json::from_str(text).map_err(|_| unreadable())?;
        if schema.newer().is_none() && description.has_unknown() {
            return Err(unreadable());
        }
        let facts = description.facts().ok_or_else(unreadable)?;
        if is_sound(&facts) { Ok(facts) } else { Err(RingError::field(field, Problem::States)) }
    }

    fn has_unknown(&self) -> bool {
        !self.unknown.is_empty() || self.authorities.iter().any(|entry| !entry.unknown.is_empty())
    }

    fn facts(&self) -> Option<Facts> {
        let mut facts = Facts {
            lineage: Lineage(self.lineage.0),
            generation: self.generation,
            due: Moment(self.due),
            rotation: Request { asked: 0, answered: self.rotation_answered },
            revocation: Request { asked: 0, answered: self.revocation_answered },
            restored: self.restored.map(Moment),
            revoked: self.revoked.iter().map(|id| CaId(id.0)).collect(),
            made: self.made.iter().map(|id| CaId(id.0)).collect(),
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
        let (state, until) = ca.state.role();
        Self {
            id: Hexadecimal(ca.id.0),
            state,
            until: until.map(|until| until.0),
            held: ca.held.map(|held| held.0),
            crossed_by: ca.cross_signature.map(|cross_signature| Hexadecimal(cross_signature.issuer.0)),
            unknown: BTreeMap::new(),
        }
    }

    fn facts(&self) -> Option<AuthorityFacts> {
        let state = match (self.state, self.until.map(Moment)) {
            (Role::Next, None) => AuthorityState::Next,
            (Role::Active, None) => AuthorityState::Active,
            (Role::Retired, Some(until)) => AuthorityState::Retired { until },
            (Role::Foreign, Some(until)) => AuthorityState::Foreign { until },
            _ => return None,
        };
        let crossed_by = |id: Hexadecimal| CrossSignature { issuer: CaId(id.0), not_after: Moment(0) };
        Some(AuthorityFacts {
            id: CaId(self.id.0),
            state,
            not_before: Moment(0),
            not_after: Moment(0),
            held: self.held.map(Moment),
            cross_signature: self.crossed_by.map(crossed_by),
        })
    }
}

impl From<Hexadecimal> for String {
    fn from(number: Hexadecimal) -> Self {
        format!("{:016x}", number.0)
    }
}

impl TryFrom<String> for Hexadecimal {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let number = u64::from_str_radix(&text, 16).ok();
        let number = number.filter(|_| text.len() == 16 && text.bytes().all(is_digit));
        number.map(Self).ok_or("not sixteen hexadecimal digits")
    }
}

/// Invariant I2, and an order that is kept.
fn is_sound(facts: &Facts) -> bool {
    let count = |state| facts.authorities.iter().filter(|ca| ca.state == state).count();
    let ids: BTreeSet<_> = facts.trusted();
    let ordered = facts.authorities.iter().map(|ca| ca.id).eq(ids);
    count(AuthorityState::Active) == 1
        && count(AuthorityState::Next) == 1
        && ordered
        && facts.generation <= MOST_GENERATIONS
        && !facts.signing().any(|ca| facts.revoked.contains(&ca.id))
}
