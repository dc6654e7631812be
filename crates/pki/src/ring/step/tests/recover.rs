//! Rings and configurations that do not continue the known ring, and the CAs that are added to it (rules G1, G2, W3).

use super::*;

const OTHER: Lineage = Lineage(99);
const UNKNOWN_CA: CaId = CaId(4711);

/// The graft that the replica writes now, if any: its own CAs, the imported ones, and its generation.
fn graft(cluster: &Cluster, seen: &Observations) -> Option<(Vec<u64>, Vec<u64>, u64)> {
    let ids = |ids: BTreeSet<CaId>| ids.into_iter().map(|id| id.0).collect();
    step(&cluster.ring, seen, cluster.now, &cluster.policy).into_iter().find_map(|action| match action {
        Action::WriteRing(Change::Graft { trust, imported, generation }) => {
            Some((ids(trust), ids(imported), generation))
        }
        _ => None,
    })
}

fn foreign(id: CaId, like: &AuthorityFacts) -> AuthorityFacts {
    AuthorityFacts { id, state: AuthorityState::Foreign { until: like.not_after }, ..like.clone() }
}

/// In one lineage, a later generation continues an earlier one. Generations of two lineages do not compare: a ring
/// of another lineage continues the remembered one if it knows every CA of it.
#[test]
fn a_ring_that_does_not_continue_the_remembered_one_is_grafted_onto() {
    let mut cluster = Cluster::settled();
    cluster.change(|facts| facts.generation = 5);
    let own = cluster.facts().lineage;
    for (lineage, generation, ca, expected) in [
        (own, 4, Some(UNKNOWN_CA), None),
        (own, 5, None, None),
        (own, 6, None, Some(7)),
        (OTHER, 80, None, None),
        (OTHER, 80, Some(UNKNOWN_CA), Some(6)),
    ] {
        let mut memory = Facts { lineage, generation, ..cluster.facts().clone() };
        let ca = ca.map(|id| foreign(id, &memory.authorities[0]));
        memory.authorities.extend(ca);
        let mut seen = Observations::new(0);
        seen.memory = Some(memory);
        let generation = graft(&cluster, &seen).map(|(_, _, generation)| generation);
        assert_eq!(generation, expected, "{:?}", seen.memory);
        // A ring that continues the remembered one is remembered in its place.
        seen.ring_read(&cluster.ring, cluster.now, &cluster.policy);
        assert_eq!(seen.memory.as_ref() == Some(cluster.facts()), expected.is_none());
    }
}

#[test]
fn a_ring_without_the_issuer_of_the_leaf_or_behind_a_configuration_is_not_remembered() {
    let cluster = Cluster::settled();
    let breaks: [fn(&mut Observations); 3] = [
        |_| {},
        |seen| seen.leaf.as_mut().unwrap().issuer = UNKNOWN_CA,
        |seen| seen.configurations[0].mark.as_mut().unwrap().generation += 1,
    ];
    let remembered = breaks.map(|change| {
        let mut seen = cluster.seen.clone();
        seen.memory.as_mut().unwrap().generation = 0;
        change(&mut seen);
        seen.ring_read(&cluster.ring, cluster.now, &cluster.policy);
        seen.memory.as_ref() == Some(cluster.facts())
    });
    assert_eq!(remembered, [true, false, false]);
}

/// A configuration breaks with the ring if it shows a later generation of the ring's own lineage, or a CA of
/// another lineage that the ring does not know. A generation that is more than 2^32 ahead is forged.
#[test]
fn a_configuration_that_does_not_fit_the_ring_leads_to_a_graft_of_a_later_generation() {
    let mut cluster = Cluster::settled();
    cluster.policy.unknown_authorities = UnknownAuthorities::Keep;
    cluster.change(|facts| facts.generation = 5);
    let own = cluster.facts().lineage;
    for (lineage, generation, ca, expected) in [
        (own, 5, Some(UNKNOWN_CA), None),
        (own, 6, None, Some(7)),
        (own, 5 + (1 << 32), None, Some(6 + (1 << 32))),
        (own, 6 + (1 << 32), None, None),
        (OTHER, 1, Some(UNKNOWN_CA), Some(6)),
        (OTHER, 9, Some(UNKNOWN_CA), Some(6)),
        (OTHER, 9, None, None),
    ] {
        let mut seen = cluster.seen.clone();
        seen.memory = None;
        let configuration = &mut seen.configurations[0];
        configuration.mark = Some(BundleMark { lineage, generation });
        configuration.bundle.extend(ca.map(|id| (id, cluster.now)));
        (configuration.read, configuration.ring_read_since) = (cluster.now, true);
        let generation = graft(&cluster, &seen).map(|(_, _, generation)| generation);
        assert_eq!(generation, expected, "{:?}", seen.configurations);
    }
}

#[test]
fn a_graft_names_own_and_imported_cas_apart() {
    let cluster = Cluster::settled();
    let mut memory = cluster.facts().clone();
    memory.generation += 1;
    let imported = foreign(UNKNOWN_CA, &memory.authorities[0]);
    memory.authorities.push(imported);
    let mut seen = Observations::new(0);
    seen.memory = Some(memory);
    let expected = (vec![1, 2], vec![UNKNOWN_CA.0], cluster.facts().generation + 2);
    assert_eq!(graft(&cluster, &seen), Some(expected));
}

#[test]
fn a_ca_that_a_change_names_as_own_and_as_imported_is_own() {
    let mut cluster = Cluster::settled();
    let ids = || BTreeSet::from([UNKNOWN_CA]);
    cluster.carry_out(Action::WriteRing(Change::Graft { trust: ids(), imported: ids(), generation: 9 }));
    let ca = cluster.facts().authority(UNKNOWN_CA).unwrap();
    assert!(ca.is_foreign() && !cluster.facts().is_imported(ca));
}

#[test]
fn a_restored_ring_is_rotated_at_most_once_in_the_pause() {
    let cluster = Cluster::settled();
    let pause = cluster.policy.restore_pause;
    let begun = cluster.now.minus(pause);
    let second = Duration::from_secs(1);
    for (restored, expected) in [(None, true), (Some(begun), true), (Some(begun.plus(second)), false)] {
        let mut seen = Observations::new(0);
        seen.memory = Some(Facts { restored, ..cluster.facts().clone() });
        let actions = step(&RingFacts::Absent, &seen, cluster.now, &cluster.policy);
        let [Action::WriteRing(Change::Restore { rotate, .. })] = actions[..] else { panic!("{actions:?}") };
        assert_eq!(rotate, expected);
    }
}

#[test]
fn under_a_newer_ring_a_bundle_of_a_later_generation_is_left_alone() {
    let mut cluster = Cluster::settled();
    cluster.change(|facts| facts.generation = 5);
    let own = cluster.facts().lineage;
    let newer = RingFacts::Newer(cluster.ring.facts().cloned());
    for (lineage, generation, expected) in [(own, 5, true), (own, 6, false), (OTHER, 9, true)] {
        let configuration = &mut cluster.seen.configurations[0];
        configuration.bundle.clear();
        (configuration.mark, configuration.ring_read_since) =
            (Some(BundleMark { lineage, generation }), true);
        let actions = step(&newer, &cluster.seen, cluster.now, &cluster.policy);
        assert_eq!(actions.contains(&Action::PublishBundle(0)), expected, "{actions:?}");
    }
}
