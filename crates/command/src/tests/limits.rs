//! The page about limits, against the flags and the settings.

use std::collections::BTreeSet;
use std::fmt::Write;

use clap::{CommandFactory, Parser};
use vestibule_admission::FaultKind;
use vestibule_server::{CloseReason, Refusal, Settings, Usage};

use super::{assert_page, defaults_in_the_help, help_and_default};
use crate::limit_arguments::LimitArguments;

const BEGIN: &str =
    "<!-- From here on: VESTIBULE_UPDATE_GOLDEN=1 cargo test -p vestibule-command --lib limits -->\n";
const END: &str = "<!-- To here. -->\n";

/// The metric of a limit.
enum Seen {
    /// `vestibule_server_held{what}` beside `vestibule_server_limit{what}`.
    Held(&'static str),
    Closed(CloseReason),
    Refused(Refusal),
    Undecided(FaultKind),
    Threads,
}

use Seen::{Closed, Held, Refused, Threads, Undecided};

/// By flag: its metric, and the effect on a caller beyond the limit.
const BEYOND: [(&str, &[Seen], &str); 17] = [
    (
        "max-connections",
        &[Held("connections"), Closed(CloseReason::Idle)],
        "replaces the oldest connection without a request, which is closed as idle; if every connection has sent a request, it waits in the backlog of the system, unaccepted",
    ),
    (
        "max-handshakes",
        &[Held("handshakes"), Closed(CloseReason::SlowHandshake)],
        "is accepted, and the connection that has been silent longest is closed; if few are silent, the oldest that sent its first byte",
    ),
    ("handshake-timeout", &[Closed(CloseReason::SlowHandshake)], "is closed"),
    ("head-timeout", &[Closed(CloseReason::SlowHead)], "is closed"),
    (
        "body-timeout",
        &[Refused(Refusal::SlowBody), Closed(CloseReason::SlowBody), Closed(CloseReason::SlowRead)],
        "gets 408 and is closed; so does a caller that sends less than 64 KiB in a second while other bodies wait for memory",
    ),
    ("idle-timeout", &[Closed(CloseReason::Idle)], "is closed"),
    (
        "connection-age",
        &[Closed(CloseReason::Age)],
        "gets one more answer, which says `Connection: close`, and connects anew",
    ),
    ("max-head", &[Closed(CloseReason::Malformed)], "gets 431 and is closed"),
    ("max-headers", &[Closed(CloseReason::Malformed)], "gets 431 and is closed"),
    (
        "max-body",
        &[Refused(Refusal::TooLarge), Closed(CloseReason::Refused)],
        "gets 413 and is closed; by a declared length before a byte of the body is read",
    ),
    ("max-conversion-body", &[Refused(Refusal::TooLarge), Closed(CloseReason::Refused)], "the same"),
    (
        "max-depth",
        &[Undecided(FaultKind::Undecodable)],
        "gets a fault, and the `failurePolicy` decides; with `on_fault(Deny)` the hook denies",
    ),
    (
        "max-bodies",
        &[Held("body_bytes"), Refused(Refusal::BytesInFlight)],
        "waits unread until half of its time is over, then gets 429 with `Retry-After: 1` and is closed; at once if 64 bodies wait",
    ),
    ("max-running", &[Held("running")], "waits in the queue"),
    ("max-computing", &[Held("computing")], "waits for a CPU permit"),
    (
        "max-waiting",
        &[Held("waiting"), Refused(Refusal::QueueFull)],
        "gets 429 with `Retry-After: 1` at once; the connection stays",
    ),
    (
        "latency-budget",
        &[Held("waiting"), Refused(Refusal::QueueFull), Refused(Refusal::DeadlinePassed)],
        "the same; so does a call whose deadline passes in the queue",
    ),
];

/// Limits without a flag of the framework: limit, flag, default, metric, and the effect on a caller beyond the limit.
const OTHERS: [(&str, &str, &str, &[Seen], &str); 1] = [(
    "Threads of the runtime; large bodies have others while they are worked on",
    "`--worker-threads`, `VESTIBULE_WORKER_THREADS`, of the injector",
    "one for each CPU that mask and quota leave",
    &[Threads],
    "waits for one of them",
)];

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    limits: LimitArguments,
}

impl Seen {
    fn metric(&self) -> String {
        match self {
            Held(what) => {
                assert!(Usage::WHAT.contains(what), "{what}");
                format!("`vestibule_server_held{{what=\"{what}\"}}`")
            }
            Closed(reason) => {
                format!("`vestibule_connections_closed_total{{reason=\"{}\"}}`", reason.as_str())
            }
            Refused(reason) => {
                format!("`vestibule_admission_refused_total{{reason=\"{}\"}}`", reason.as_str())
            }
            Undecided(kind) => {
                format!("`vestibule_admission_undecided_total{{reason=\"{}\"}}`", kind.as_str())
            }
            Threads => "`vestibule_worker_threads`".to_owned(),
        }
    }
}

fn tables() -> String {
    let command = Command::command();
    let mut table =
        "| Limit | Flag, variable | Default | A caller beyond it | Seen as |\n|---|---|---|---|---|\n"
            .to_owned();
    for (flag, seen, beyond) in BEYOND {
        let argument = command.get_arguments().find(|argument| argument.get_long() == Some(flag));
        let argument = argument.unwrap_or_else(|| panic!("no flag --{flag}"));
        let (help, default) = help_and_default(argument);
        let default = default.as_deref().map(|default| (&*help, default));
        let default = default.or_else(|| help.trim_end_matches('.').split_once(". Default: "));
        let (about, default) = default.unwrap_or_else(|| panic!("--{flag} has no default"));
        let variable = argument.get_env().unwrap().to_string_lossy();
        let flag = format!("`--{flag}`, `{variable}`");
        writeln!(table, "| {about} | {flag} | {default} | {beyond} | {} |", metrics(seen)).unwrap();
    }
    for (about, flag, default, seen, beyond) in OTHERS {
        writeln!(table, "| {about} | {flag} | {default} | {beyond} | {} |", metrics(seen)).unwrap();
    }
    table
}

fn metrics(seen: &[Seen]) -> String {
    assert!(!seen.is_empty(), "a limit without a metric");
    seen.iter().map(Seen::metric).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_page_lists_the_limit_flags() {
    assert_page("limits.md", (BEGIN, END), &tables());
}

#[test]
fn each_limit_is_on_the_page() {
    let command = Command::command();
    let flags: BTreeSet<_> = command.get_arguments().filter_map(|argument| argument.get_long()).collect();
    let told: BTreeSet<_> = BEYOND.iter().map(|(flag, ..)| *flag).collect();
    assert_eq!(flags, told);
}

#[test]
fn the_defaults_in_the_help_are_the_defaults() {
    let told = defaults_in_the_help(&Command::command());
    // All but two have one.
    assert_eq!(told.len(), 2 * (BEYOND.len() - 2), "{told:?}");
    let given = Command::parse_from(std::iter::once("serve".to_owned()).chain(told));
    let (mut settings, defaults) = (Settings::default(), Settings::default());
    // A setting that no flag changes would keep this value.
    (settings.max_connections, settings.max_bodies, settings.max_waiting) = (1, 1, 1);
    (settings.max_handshakes, settings.max_body, settings.max_running) = (1, 1, 1);
    (settings.max_head, settings.max_headers, settings.max_conversion_body) = (1, 1, 1);
    let none = std::time::Duration::ZERO;
    (settings.handshake_timeout, settings.head_timeout, settings.body_timeout) = (none, none, none);
    (settings.idle_timeout, settings.latency_budget) = (none, none);
    settings.connection_age = None;
    given.limits.apply(&mut settings);
    assert_eq!(format!("{settings:?}"), format!("{defaults:?}"));
}
