//! The page of the certificate flags, compared with `serve --help`.

use std::collections::BTreeMap;

use crate::fixture::Folder;

const PAGE: &str = include_str!("../../../../docs/reference/certificate-flags.md");

/// Flags of `serve` that have nothing to do with certificates.
const OTHERS: [&str; 8] = [
    "--rules",
    "--lagging-pods",
    "--namespace-labels",
    "--listen",
    "--path",
    "--port",
    "--metrics-listen",
    "--help",
];
const OF_OTHER_KINDS: [&str; 8] =
    ["--client-", "--any-client", "--token-", "--log-", "--drain-", "--trace-", "--otlp-", "--worker-"];
const LIMITS: &str = include_str!("../../../../docs/reference/limits.md");

/// A flag's variable and default.
type Flags = BTreeMap<String, (String, Option<String>)>;

/// Reads lines such as `  -n, --name <VALUE>  Words [default: a] [env: B=]`, also wrapped ones.
fn of_help(help: &str) -> Flags {
    let mut flags = Flags::new();
    let options = help.split_once("Options:").unwrap().1;
    let mut flag = None;
    let mut texts = BTreeMap::<String, String>::new();
    for line in options.lines().map(str::trim) {
        let named = line.strip_prefix("-n, ").or(line.strip_prefix("-h, ")).unwrap_or(line);
        if named.starts_with("--") {
            flag = named.split_whitespace().next().map(str::to_owned);
        }
        if let Some(flag) = &flag {
            *texts.entry(flag.clone()).or_default() += line;
        }
    }
    for (flag, text) in texts {
        let bracketed = |what| Some(text.split_once(what)?.1.split_once(']')?.0.to_owned());
        let variable = bracketed("[env: ").map(|text| text.split('=').next().unwrap().to_owned());
        flags.insert(flag, (variable.unwrap_or_default(), bracketed("[default: ")));
    }
    flags
}

/// Reads rows such as ``| `--name` | `VARIABLE` | `default` | ... |``.
fn of_page() -> Flags {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `--"));
    let cells = rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>());
    cells
        .map(|cells| {
            let [flag, variable, default, bounds] = cells[..] else { panic!("four cells: {cells:?}") };
            assert!(!bounds.is_empty(), "{flag}");
            let bare = |text: &str| text.trim_matches('`').to_owned();
            let is_value =
                default.starts_with('`') && default.matches('`').count() == 2 && default.ends_with('`');
            (bare(flag), (bare(variable), is_value.then(|| bare(default))))
        })
        .collect()
}

#[test]
fn each_certificate_flag_is_on_the_page_as_it_is() {
    let mut offered = of_help(&Folder::with(&[]).run("serve --help").stdout());
    let is_other = |flag: &str| {
        OTHERS.contains(&flag)
            || OF_OTHER_KINDS.iter().any(|kind| flag.starts_with(kind))
            || LIMITS.contains(&format!("`{flag}`"))
    };
    offered.retain(|flag, _| !is_other(flag));
    // The page describes this default in words.
    offered.get_mut("--quarantine").unwrap().1 = None;
    assert_eq!(of_page(), offered);
}

/// Each row: flags that must be refused, and the flag that the refusal names.
#[test]
fn the_floors_on_the_page_are_the_programs() {
    let folder = Folder::with(&[("rules.yaml", crate::fixture::TARGET)]);
    let refused = |flags: &str| {
        let done = folder.run(&format!(
            "serve --rules rules.yaml --identity self --service demo/hooks --kubeconfig nowhere {flags}"
        ));
        done.exits(2);
        done.err
    };
    for (row, below, least) in [
        ("--leaf-life", "--leaf-life 59m", "--leaf-life 1h"),
        ("--ca-life", "--ca-life 29d --leaf-life 1h", "--ca-life 30d --leaf-life 1h"),
        ("--ca-life", "--ca-life 168d", "--ca-life 169d"),
        ("--hold", "--hold 29s", "--hold 30s"),
        ("--hold", "--hold 122d", "--hold 121d"),
        ("--hold-cold", "--hold-cold 9s", "--hold-cold 10s"),
        ("--quarantine", "--quarantine 6d", "--quarantine 7d"),
        (
            "--ca-organisation",
            "--ca-organisation aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "--ca-organisation a",
        ),
    ] {
        let (why, fine) = (refused(below), refused(least));
        assert!(why.contains(row) && !why.contains("nowhere"), "{below}: {why}");
        // The flags are taken; the error is about the missing kubeconfig.
        assert!(fine.contains("nowhere"), "{least}: {fine}");
    }
    let bounds = |flag: &str| PAGE.lines().find(|line| line.starts_with(&format!("| `{flag}`"))).unwrap();
    for (flag, least) in
        [("--leaf-life", "`1h`"), ("--ca-life", "`30d`"), ("--ca-life", "`169d`"), ("--hold-cold", "`10s`")]
    {
        assert!(bounds(flag).contains(least), "{flag}");
    }
}
