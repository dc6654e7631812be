//! The report for scripts.

use serde_json::{Value, json};
use vestibule_pki::ring::{AuthorityFacts, Facts, RingFacts};

use super::ring_report::{EntryReport, RegistrationReport, RingReport};
use crate::certs::probe::Probed;
use crate::certs::time::{moment_time, rfc3339, system_time};

pub(super) fn write(report: &RingReport, leaf: Option<&Probed>, is_in_sync: bool) -> String {
    let state = match &report.ring {
        RingFacts::Known(_) => "known",
        RingFacts::Newer(_) => "newer",
        RingFacts::Unreadable => "unreadable",
        RingFacts::Absent => "absent",
    };
    let document = json!({
        "secret": report.secret.to_string(),
        "inSync": is_in_sync,
        "state": state,
        "reason": report.problem,
        "ring": report.ring.facts().map(|facts| ring(facts, report)),
        "registrations": report.registrations.iter().map(registration).collect::<Vec<_>>(),
        "leaf": leaf.map(presented),
        "notes": report.notes,
    });
    format!("{document:#}\n")
}

fn ring(ring: &Facts, report: &RingReport) -> Value {
    json!({
        "generation": ring.generation,
        "lineage": ring.lineage.to_string(),
        "due": rfc3339(moment_time(ring.due)),
        "rotationAsked": ring.rotation.is_open(),
        "revocationAsked": ring.revocation.is_open(),
        "authorities": ring.authorities.iter().map(|ca| authority(ca, report)).collect::<Vec<_>>(),
    })
}

fn authority(ca: &AuthorityFacts, report: &RingReport) -> Value {
    let (role, until) = ca.state.role();
    json!({
        "id": ca.id.to_string(),
        "role": role.as_str(),
        "subject": report.subjects.get(&ca.id),
        "notAfter": rfc3339(moment_time(ca.not_after)),
        "heldSince": ca.held.map(|held| rfc3339(moment_time(held))),
        "trustedUntil": until.map(|until| rfc3339(moment_time(until))),
        "crossedBy": ca.cross_signature.map(|cross_signature| cross_signature.issuer.to_string()),
    })
}

fn registration(registration: &RegistrationReport) -> Value {
    json!({
        "name": registration.name.to_string(),
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
        "notAfter": leaf.map(|leaf| rfc3339(system_time(leaf.not_after))),
        "refusals": probed.refusals.iter().map(|refusal| json!({
            "cause": refusal.cause, "message": refusal.message, "go": refusal.go, "advice": refusal.advice,
        })).collect::<Vec<_>>(),
    })
}
