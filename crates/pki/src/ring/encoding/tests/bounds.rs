//! The limits of fields and dates, and the kinds of a reading.

use super::*;

#[test]
fn a_field_may_have_256_kib() {
    let mut data = data(&created());
    let mut text = data["ring.json"].clone();
    text.resize(256 * 1024, b' ');
    data.insert("ring.json".to_owned(), text.clone());
    assert!(read(&data).is_ok());
    text.push(b' ');
    data.insert("ring.json".to_owned(), text);
    assert_eq!(problem(&data), ("ring.json".to_owned(), Problem::TooLarge));
}

#[test]
fn the_active_ca_is_valid_and_the_next_one_may_be_of_the_future() {
    let later = NOW.plus(Duration::from_secs(10 * 86_400));
    let ring = carry_out(&Change::Promote, Some(created()), &mut keys(), later, &Policy::default()).unwrap();
    let (active, next) = (ring.facts().active().unwrap(), ring.facts().next().unwrap());
    assert!(active.not_before < next.not_before);
    let read = |now| Ring::decode(&data(&ring), (0, 0), now).err();
    assert_eq!(read(active.not_before), None);
    let field = format!("ca-{}.crt", active.id);
    let before = active.not_before.minus(Duration::from_secs(1));
    assert_eq!(read(before), Some(RingError::field(field, Problem::NotYetValid)));
}

#[test]
fn a_ring_is_read_with_the_requests_of_the_annotations() {
    let mut data = data(&created());
    let reading = Ring::read(Some(&data), (3, 4), NOW);
    let RingFacts::Known(facts) = reading.facts() else { panic!("it is a ring of this version") };
    assert_eq!((facts.rotation.asked, facts.revocation.asked), (3, 4));
    assert_eq!(reading.ring().unwrap().facts(), &facts);
    data.retain(|field, _| field == "ring.json");
    let reading = Ring::read(Some(&data), (3, 4), NOW);
    assert!(matches!(reading, Reading::Unreadable(RingError::Field { problem: Problem::Missing, .. })));
}
