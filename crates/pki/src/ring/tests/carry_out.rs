//! New CAs, and rings that clients would refuse.

use super::*;

const DAY: Duration = Duration::from_secs(86_400);

fn change(change: &Change, ring: Ring, now: Moment) -> Result<Ring, RingError> {
    carry_out(change, Some(ring), &mut keys(Algorithm::P256), now, &Policy::default())
}

#[test]
fn serial_numbers_are_positive_and_have_sixteen_bytes() {
    for _ in 0..20 {
        for certificate in begin(&mut keys(Algorithm::P256)).certificates.values() {
            let serial = crate::describe(certificate).unwrap().serial;
            assert!(serial.len() == 32 && ('4'..='7').contains(&serial.chars().next().unwrap()), "{serial}");
        }
    }
}

#[test]
fn a_ring_whose_active_ca_has_ended_is_not_written() {
    let ring = begin(&mut keys(Algorithm::P256));
    let active = ring.facts().active().unwrap().clone();
    let error = change(&Change::Hold(active.id), ring, active.not_after.plus(DAY)).err();
    assert!(matches!(error, Some(RingError::Authority(_))), "{error:?}");
}

#[test]
fn a_ring_whose_cross_signed_certificate_does_not_lead_to_the_predecessor_is_not_written() {
    let mut ring = change(&Change::Promote, begin(&mut keys(Algorithm::P256)), NOW).unwrap();
    let active = ring.facts().active().unwrap().id;
    let own = ring.certificates[&active].clone();
    ring.crosses.insert(active, own);
    let error = change(&Change::Hold(active), ring, NOW).err();
    assert!(matches!(error, Some(RingError::Refused(_))), "{error:?}");
}

#[test]
fn the_end_of_a_cross_signed_certificate_does_not_stop_a_ring() {
    // The first two CAs end together, the third a day later: its cross-signed certificate ends before it.
    let mut ring = begin(&mut keys(Algorithm::P256));
    for day in 1..=2 {
        ring = change(&Change::Promote, ring, NOW.plus(DAY * day)).unwrap();
    }
    let active = ring.facts().active().unwrap().clone();
    let end = active.cross_signature.unwrap().not_after;
    assert!(end < active.not_after);
    assert!(change(&Change::Hold(active.id), ring, end.plus(DAY / 2)).is_ok());
}
