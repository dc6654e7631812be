//! Planned changes in the second before they are due, and in the first one after it (rules P1, D1, C1, L1).

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: u64 = 3_600;

/// The moment at which the active CA has exactly [`Policy::last_call`] left.
fn limit(cluster: &Cluster) -> Moment {
    cluster.facts().active().unwrap().not_after.minus(cluster.policy.last_call())
}

#[test]
fn a_last_call_begins_when_less_than_its_span_is_left() {
    let mut cluster = Cluster::settled();
    cluster.change(|facts| facts.authorities[1].held = None);
    cluster.seen.configurations[0].bundle.remove(&CaId(2));
    for (now, expected) in [(limit(&cluster), false), (limit(&cluster).plus(SECOND), true)] {
        cluster.now = now;
        assert_eq!(cluster.steps().contains(&Action::WriteRing(Change::Promote)), expected);
    }
}

#[test]
fn a_promotion_needs_a_next_ca_that_is_held_and_in_every_configuration_now() {
    let settled = Cluster::settled();
    for (held, everywhere) in [(true, true), (true, false), (false, true)] {
        let Cluster { ring, seen, policy, now, .. } = &settled;
        let (mut ring, mut seen) = (ring.clone(), seen.clone());
        let RingFacts::Known(facts) = &mut ring else { panic!("there is no ring") };
        facts.rotation.asked = 5;
        facts.authorities[1].held = held.then_some(*now);
        // Seen just now, so that the hold is not over.
        seen.configurations[0].bundle.insert(CaId(2), *now);
        seen.configurations[0].bundle.retain(|id, _| everywhere || *id != CaId(2));
        let actions = step(&ring, &seen, *now, policy);
        let promotes = actions.contains(&Action::WriteRing(Change::Promote));
        let waits = actions.contains(&Action::Report(Blocked::Hold(CaId(2))));
        assert_eq!((promotes, waits), (held && everywhere, !held || !everywhere), "{actions:?}");
    }
}

#[test]
fn a_look_at_a_configuration_is_recent_for_the_span_of_recheck() {
    let mut cluster = Cluster::settled();
    cluster.change(|facts| facts.rotation.asked = 5);
    cluster.now = cluster.seen.configurations[0].read.plus(cluster.policy.recheck);
    assert_eq!(cluster.steps(), [Action::WriteRing(Change::Promote)]);
    cluster.now = cluster.now.plus(SECOND);
    assert_eq!(cluster.steps(), [Action::ReadConfiguration(0)]);
}

/// The clocks are more than `skew` apart. Only a last call removes a retired CA then, because it waits for its
/// removal, and only if both clocks show the last call and the end of the retired CA.
#[test]
fn a_wrong_clock_removes_a_retired_ca_only_for_a_last_call() {
    let mut cluster = Cluster::settled();
    let limit = limit(&cluster).0;
    let retired = AuthorityFacts { id: CaId(3), held: None, ..cluster.facts().authorities[1].clone() };
    let remove = Action::WriteRing(Change::Remove(BTreeSet::from([retired.id])));
    let (early, late) = (limit - 10 * DAY, limit + DAY);
    for (own, server, until, expected) in [
        (late, late + HOUR, limit, true),
        (late, late + HOUR, late, true),
        (late, late + HOUR, late + 1, false),
        (early, early + HOUR, early - DAY, false),
        (limit + HOUR, limit, early, false),
        (limit + HOUR, limit + 1, early, true),
        (limit, limit + HOUR, early, false),
        (limit + 1, limit + HOUR, early, true),
    ] {
        cluster.change(|facts| {
            let state = AuthorityState::Retired { until: Moment(until) };
            facts.authorities.truncate(2);
            facts.authorities.push(AuthorityFacts { state, ..retired.clone() });
        });
        (cluster.now, cluster.seen.offset) = (Moment(own), server.cast_signed() - own.cast_signed());
        let actions = cluster.steps();
        let blocked = actions.contains(&Action::Report(Blocked::Clock));
        assert_eq!((actions.contains(&remove), blocked), (expected, !expected), "{own} {server} {until}");
    }
}
