//! Every public item that a new author meets first has an example in its documentation, which the tests compile or run.

use std::fs;

/// Files below `crates`, and items that they declare.
const ITEMS: &[(&str, &[&str])] = &[
    ("vestibule/src/app.rs", &["struct App", "fn new", "fn ready_when", "fn metrics"]),
    ("vestibule/src/app/check.rs", &["fn check"]),
    ("vestibule/src/app/hooks.rs", &["fn mutate<", "fn validate<", "fn mutate_raw", "fn validate_raw"]),
    ("vestibule/src/app/lookups.rs", &["fn watch<", "fn read<", "fn lookups_from"]),
    ("vestibule/src/handler/change.rs", &["enum Change"]),
    ("command/src/lib.rs", &["async fn run"]),
    ("vestibule/src/handler/context.rs", &["struct Context"]),
    ("vestibule/src/conversion.rs", &["fn through", "fn raw"]),
    ("vestibule/src/app/defaults.rs", &["fn rights"]),
    (
        "vestibule/src/handler.rs",
        &["trait Mutate", "fn then<Next: Mutate", "trait Validate", "fn then<Next: Validate"],
    ),
    ("vestibule/src/lookup.rs", &["struct Lookup", "async fn get"]),
    ("vestibule/src/lookup/test_objects.rs", &["struct Objects"]),
    ("vestibule/src/lookup/watch.rs", &["struct Watch"]),
    ("manifests/src/lib.rs", &["fn manifests"]),
    ("vestibule/src/handler/mutation.rs", &["enum Mutation"]),
    ("vestibule/src/registration/on.rs", &["struct On", "fn on<", "fn on_rules<", "fn on_raw"]),
    ("vestibule/src/registration/on/choices.rs", &["enum FailurePolicy"]),
    ("vestibule/src/handler/raw_object.rs", &["struct RawObject"]),
    ("manifests/src/registration_mode.rs", &["enum RegistrationMode"]),
    (
        "vestibule/src/handler/reject.rs",
        &["struct Reject", "fn deny", "fn too_many_requests", "fn cause", "fn fault"],
    ),
    ("vestibule/src/registration/rule.rs", &["struct Rule"]),
    ("vestibule/src/serve/options.rs", &["struct Options", "fn self_managed"]),
    ("vestibule/src/registration/target.rs", &["enum Target"]),
    ("test/src/call.rs", &["fn call"]),
    ("test/src/cluster.rs", &["struct Cluster"]),
    ("test/src/cluster/breakage.rs", &["enum Breakage"]),
    ("test/src/golden.rs", &["async fn golden"]),
    ("test/src/outcome.rs", &["struct Outcome"]),
    ("vestibule/src/app/background.rs", &["fn background"]),
    ("admission/src/fault.rs", &["enum OnFault"]),
    ("admission/src/operation.rs", &["enum Operation"]),
];

#[test]
fn items_that_a_new_author_meets_have_an_example() {
    let crates = crate::cargo::workspace().join("crates");
    let mut without = Vec::new();
    for (file, items) in ITEMS {
        let text = fs::read_to_string(crates.join(file)).unwrap();
        let lines: Vec<_> = text.lines().map(str::trim_start).collect();
        for item in *items {
            let declared = |line: &&str| line.strip_prefix("pub ").unwrap_or(line).starts_with(item);
            let at = lines.iter().position(declared);
            let at = at.unwrap_or_else(|| panic!("{file} declares no `{item}`"));
            // Attributes may stand between the two.
            let above = lines[..at].iter().rev().take_while(|line| !line.is_empty() && **line != "}");
            let example =
                above.into_iter().any(|line| line.starts_with("/// ```") && !line.contains("ignore"));
            if !example {
                without.push(format!("{file}: {item}"));
            }
        }
    }
    assert!(without.is_empty(), "without an example: {without:#?}");
}
