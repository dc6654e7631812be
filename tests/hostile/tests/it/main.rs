//! The invariants for every saved input and for mutations of it. `cargo test -p hostile --release -- --ignored` runs more
//! mutations, in two minutes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod served;

use std::collections::BTreeMap;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::time::{Duration, Instant};

use hostile::{Mutations, TARGETS, corpus};
use rustls_pki_types::UnixTime;
use vestibule_pki::Authority;
use zeroize::Zeroizing;

/// The number of mutations of a target, so that all targets take a second or two in an unoptimized build;
/// `VESTIBULE_MUTATIONS` overrides it.
fn how_many(name: &str) -> usize {
    let asked = std::env::var("VESTIBULE_MUTATIONS").ok().and_then(|count| count.parse().ok());
    // Rules are parsed, evaluated twice and explained; each input of `http` needs a TLS handshake.
    let fitting = match name {
        "http" | "rules" => 300,
        "selector" | "secret" | "yaml" => 1_000,
        _ => 4_000,
    };
    asked.unwrap_or(fitting)
}

#[test]
fn every_saved_input_satisfies_the_invariants() {
    for (name, target) in TARGETS {
        let inputs = corpus(name);
        assert!(inputs.len() > 4, "{name} has {} inputs", inputs.len());
        for (path, input) in inputs {
            assert!(
                catch_unwind(|| target(&input)).is_ok(),
                "{name} violates an invariant on {}",
                path.display()
            );
        }
    }
}

#[test]
fn mutations_of_saved_inputs_satisfy_the_invariants() {
    for (name, target) in TARGETS {
        for input in mutations(name, 0).take(how_many(name)) {
            run(name, target, &input);
        }
    }
}

#[test]
#[ignore = "it takes two minutes"]
fn many_mutations_of_saved_inputs_satisfy_the_invariants() {
    for (name, target) in TARGETS {
        let (began, mut runs) = (Instant::now(), 0_u64);
        let mut mutations = mutations(name, std::process::id().into());
        while began.elapsed() < Duration::from_secs(30) {
            run(name, target, &mutations.next().unwrap());
            runs += 1;
        }
        println!("{name}: {runs} mutations");
    }
}

#[test]
#[ignore = "it writes saved inputs anew: throw-away keys, of nothing"]
fn secrets_are_written() {
    use std::collections::BTreeSet;

    use vestibule_pki::ring::{Algorithm, Change, KeySource, Moment, Policy, carry_out};

    let now = Moment(1_800_000_000);
    let mut keys = KeySource::new("hostile", &["demo.svc"], Algorithm::P256);
    let create = Change::Create { trust: BTreeSet::new(), imported: BTreeSet::new() };
    let ring = carry_out(&create, None, &mut keys, now, &Policy::default()).unwrap();
    let authority = Authority::new("hostile", time(now.0), Duration::from_secs(1 << 20)).unwrap();
    let leaf = authority.issue(&["hook.demo.svc"], time(now.0), Duration::MAX).unwrap();
    let field = |name: &str, value: &str| format!("@{name}\n{value}");
    let text = |fields: &BTreeMap<String, Zeroizing<Vec<u8>>>| -> String {
        fields.iter().map(|(name, value)| field(name, &String::from_utf8_lossy(value)) + "\n").collect()
    };
    let created = text(&ring.encode());
    let promoted = carry_out(&Change::Promote, Some(ring), &mut keys, now, &Policy::default()).unwrap();
    let pair = field("tls.crt", &leaf.chain_pem()) + &field("tls.key", &leaf.key_pem());
    let own = field("ca.crt", authority.certificate_pem()) + &field("ca.key", &authority.key_pem());
    let saved = [
        ("created", created),
        ("promoted", text(&promoted.encode())),
        ("pair", pair.clone()),
        ("torn", field("tls.crt", &leaf.chain_pem()) + &field("tls.key", &authority.key_pem())),
        ("swapped", field("tls.crt", &leaf.key_pem()) + &field("tls.key", &leaf.chain_pem())),
        ("both", pair + &own),
        ("joined", own.replace("-----\n-----", "----------").replace("@ca.key\n", "")),
        ("rubbish", field("ring.json", "{}") + "\n" + &field("tls.crt", "rubbish")),
    ];
    for (name, text) in saved {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/secret").join(name), text)
            .unwrap();
    }
}

fn time(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn run(name: &str, target: fn(&[u8]), input: &[u8]) {
    let kept = catch_unwind(|| target(input)).is_ok();
    assert!(
        kept,
        "{name} violates an invariant; save this in fuzz/corpus/{name}: {:?}",
        String::from_utf8_lossy(input)
    );
}

fn mutations(name: &str, seed: u64) -> Mutations {
    Mutations::new(corpus(name).into_iter().map(|(_, input)| input).collect(), seed)
}
