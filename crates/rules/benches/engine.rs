//! The cost of the engine as ratios within one run: `cargo bench -p vestibule-rules`.
//!
//! All contenders run in turns on one object, and the shortest call of each counts, because other work on the machine
//! only adds time. The unit is the time in which `serde_json` skips the same bytes (`IgnoredAny`), the lower limit
//! for any reader of the object. The engine's time includes evaluation, the self-check that applies the patch, and
//! serialization.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod pods;

use std::hint::black_box;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Container, EnvVar, Pod, Volume, VolumeMount};
use k8s_openapi::serde::de::IgnoredAny;
use vestibule_patch::Document;
use vestibule_rules::{Resource, RuleSet, Subject, Verb};

const TURNS: usize = 60;
/// The time of one contender in one turn.
const TURN: Duration = Duration::from_millis(4);

/// The allocator of the injector.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A name and a function that works on one object.
type Contender<'w> = (String, Box<dyn Fn() -> usize + 'w>);

fn main() {
    println!("times the skip of the same bytes (the shortest calls of {TURNS} turns)\n");
    println!("{:<40}{:>10}{:>10}{:>10}", "", "8 KB", "92 KB", "1.4 MB");
    let objects = [8 << 10, 92 << 10, 1_400_000].map(pods::pod);
    let injects = rules(&pods::sidecar());
    let others: Vec<(String, RuleSet)> = [1, 10, 100]
        .into_iter()
        .map(|count| (format!("untouched by {count} rules"), rules(&pods::for_others(count))))
        .collect();
    let mut rows: Vec<(String, Vec<f64>)> = Vec::new();
    for object in &objects {
        let mut contenders: Vec<Contender<'_>> = vec![("skip".to_owned(), Box::new(|| skip(object)))];
        for (name, set) in &others {
            contenders.push((name.clone(), Box::new(|| engine(set, object))));
        }
        contenders.push(("sidecar + volume + 3 env".to_owned(), Box::new(|| engine(&injects, object))));
        contenders.push(("the same, typed Pod + json_patch::diff".to_owned(), Box::new(|| typed(object))));
        let ratios = compare(&contenders);
        for ((name, _), ratio) in contenders.iter().zip(ratios) {
            match rows.iter_mut().find(|(row, _)| row == name) {
                Some((_, cells)) => cells.push(ratio),
                None => rows.push((name.clone(), vec![ratio])),
            }
        }
    }
    for (name, cells) in rows {
        let cells: String = cells.iter().map(|cell| format!("{cell:>10.2}")).collect();
        println!("{name:<40}{cells}");
    }
    let large = pods::variables(10_000);
    let milliseconds =
        |work: &dyn Fn() -> usize| (0..TURNS).map(|_| best(work) * 1e3).fold(f64::MAX, f64::min);
    let (took, skipped) = (milliseconds(&|| engine(&injects, &large)), milliseconds(&|| skip(&large)));
    println!("\n10,000 variables, the same rule: {took:.2} ms, the skip {skipped:.2} ms");
    for count in [10, 100, 1_000] {
        let acting = rules(&pods::acting(count));
        let took = milliseconds(&|| engine(&acting, &objects[0]));
        println!("{count} rules that act: {took:.2} ms, {:.1} us a rule", took * 1e3 / count as f64);
    }
    let skips: Vec<String> = objects
        .iter()
        .map(|object| format!("{} bytes {:.4} ms", object.len(), milliseconds(&|| skip(object))))
        .collect();
    println!("the skips: {}", skips.join(", "));
}

/// The ratio of every contender's shortest call to that of the first.
fn compare(contenders: &[Contender<'_>]) -> Vec<f64> {
    let mut least = vec![f64::MAX; contenders.len()];
    for _ in 0..TURNS {
        for ((_, work), least) in contenders.iter().zip(&mut least) {
            *least = least.min(best(work));
        }
    }
    least.iter().map(|time| time / least[0]).collect()
}

/// The shortest call in one turn, in seconds.
fn best(work: &dyn Fn() -> usize) -> f64 {
    let (start, mut least) = (Instant::now(), f64::MAX);
    while least == f64::MAX || start.elapsed() < TURN {
        let call = Instant::now();
        black_box(work());
        least = least.min(call.elapsed().as_secs_f64());
    }
    least
}

fn skip(object: &str) -> usize {
    let IgnoredAny = serde_json::from_str(black_box(object)).unwrap();
    object.len()
}

fn engine(rules: &RuleSet, object: &str) -> usize {
    let object = black_box(object);
    let document = Document::parse(object).unwrap();
    let subject = Subject::new(object, Resource::Pods, Verb::Create, "shop").document(&document);
    let decision = rules.evaluate(&subject).unwrap();
    if decision.patch().is_empty() {
        return 0;
    }
    // `admission` makes this check for every patch.
    assert!(decision.patch().was_carried_out_on(&document));
    decision.patch().to_json().len()
}

/// A webhook that decodes a typed pod, changes it and computes the difference.
fn typed(object: &str) -> usize {
    let mut pod: Pod = serde_json::from_str(black_box(object)).unwrap();
    let before = serde_json::to_value(&pod).unwrap();
    let spec = pod.spec.as_mut().unwrap();
    spec.volumes.get_or_insert_default().push(Volume {
        name: "agent".to_owned(),
        empty_dir: Some(Default::default()),
        ..Volume::default()
    });
    let mount =
        VolumeMount { name: "agent".to_owned(), mount_path: "/agent".to_owned(), ..Default::default() };
    let sidecar = Container {
        name: "agent".to_owned(),
        image: Some("registry.example.com/agent:1.4".to_owned()),
        restart_policy: Some("Always".to_owned()),
        volume_mounts: Some(vec![mount]),
        ..Container::default()
    };
    spec.init_containers.get_or_insert_default().insert(0, sidecar);
    for container in &mut spec.containers {
        let variables = ["ONE", "TWO", "THREE"].map(|name| EnvVar {
            name: format!("AGENT_{name}"),
            value: Some("value".to_owned()),
            ..EnvVar::default()
        });
        container.env.get_or_insert_default().splice(0..0, variables);
    }
    let after = serde_json::to_value(&pod).unwrap();
    serde_json::to_string(&json_patch::diff(&before, &after)).unwrap().len()
}

fn rules(text: &str) -> RuleSet {
    RuleSet::load([("bench.yaml", text)], vestibule_admission::keys::schema("", "v1", "Pod")).unwrap()
}
