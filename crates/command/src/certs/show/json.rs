//! The report for scripts.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde_json::{Value, json};
use vestibule_identity::{
    AuthorityReport, EntryReport, InspectReport, Probed, RegistrationReport, RingReport, RingState,
};

pub(super) fn write(report: &InspectReport, leaf: Option<&Probed>, is_in_sync: bool) -> String {
    let (state, reason) = match &report.ring {
        RingState::Known(_) => ("known", None),
        RingState::Newer(_) => ("newer", None),
        RingState::Unreadable(reason) => ("unreadable", Some(reason)),
        _ => ("absent", None),
    };
    let document = json!({
        "secret": report.secret.to_string(),
        "inSync": is_in_sync,
        "state": state,
        "reason": reason,
        "ring": report.ring.report().map(ring),
        "registrations": report.registrations.iter().map(registration).collect::<Vec<_>>(),
        "leaf": leaf.map(presented),
        "notes": report.notes,
    });
    format!("{document:#}\n")
}

fn ring(ring: &RingReport) -> Value {
    json!({
        "generation": ring.generation,
        "lineage": ring.lineage,
        "due": time(ring.due),
        "rotationAsked": ring.rotation_asked,
        "revocationAsked": ring.revocation_asked,
        "authorities": ring.authorities.iter().map(authority).collect::<Vec<_>>(),
    })
}

fn authority(ca: &AuthorityReport) -> Value {
    json!({
        "id": ca.id,
        "role": ca.role.as_str(),
        "subject": ca.subject,
        "notAfter": time(ca.not_after),
        "heldSince": ca.held_since.map(time),
        "trustedUntil": ca.trusted_until.map(time),
        "crossedBy": ca.crossed_by,
    })
}

fn registration(registration: &RegistrationReport) -> Value {
    json!({
        "name": registration.registration.to_string(),
        "inSync": registration.differences.is_empty(),
        "generation": registration.generation,
        "writtenBy": registration.written_by,
        "entries": registration.entries.iter().map(entry).collect::<Vec<_>>(),
        "differences": registration.differences,
    })
}

fn entry(entry: &EntryReport) -> Value {
    json!({ "name": entry.name, "target": entry.target, "authorities": entry.authorities })
}

fn presented(probed: &Probed) -> Value {
    let leaf = probed.chain.first();
    json!({
        "address": probed.peer.to_string(),
        "names": leaf.map(|leaf| &leaf.names),
        "issuer": leaf.map(|leaf| &leaf.issuer),
        "notAfter": leaf.map(|leaf| time(SystemTime::UNIX_EPOCH + Duration::from_secs(leaf.not_after.as_secs()))),
        "refusals": probed.refusals.iter().map(|refusal| json!({
            "cause": refusal.cause.as_str(), "message": refusal.message, "go": refusal.go, "advice": refusal.advice,
        })).collect::<Vec<_>>(),
    })
}

fn time(time: SystemTime) -> String {
    Timestamp::try_from(time).map_or_else(|_| "?".to_owned(), |time| time.to_string())
}
