use std::collections::BTreeMap;

use super::*;

fn base(flag: Option<&str>, variable: Option<&str>) -> Base {
    let flag: Option<Levels> = flag.map(|text| text.parse().unwrap());
    Base::new(flag.as_ref(), variable).0
}

#[test]
fn the_flag_counts_before_the_variable_and_the_variable_before_the_default() {
    assert_eq!(base(Some("warn"), Some("debug")).description, "warn (--log-level)");
    assert_eq!(base(None, Some("debug,hyper=off")).description, "debug,hyper=off (RUST_LOG)");
    assert_eq!(base(None, None).description, "info (the default)");
    assert_eq!(base(None, Some(" ")), base(None, None));
    let (usual, trouble) = Base::new(None, Some("a=loud"));
    assert_eq!(usual, base(None, None));
    assert!(trouble.is_some());
}

/// Which lines a filter lets pass, by asking it for lines.
fn hears(directives: &str) -> BTreeMap<&'static str, bool> {
    use tracing::{Level, event_enabled};

    let filter = tracing_subscriber::registry().with(EnvFilter::builder().parse(directives).unwrap());
    let _guard = filter.set_default();
    BTreeMap::from([
        ("app", event_enabled!(target: "my_app::pods", Level::DEBUG)),
        ("identity", event_enabled!(target: "vestibule_identity::ring", Level::DEBUG)),
        ("admission", event_enabled!(target: "vestibule::admission", Level::DEBUG)),
        ("hyper", event_enabled!(target: "hyper_util::client", Level::DEBUG)),
        ("client", event_enabled!(target: "kube_client::client::builder", Level::ERROR)),
    ])
}

fn heard(base: &Base, over: &str) -> Vec<&'static str> {
    let over = if over.is_empty() { Levels::default() } else { over.parse().unwrap() };
    hears(&over.directives(&base.directives))
        .into_iter()
        .filter(|(_, is)| *is)
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn a_level_for_everything_does_not_change_libraries() {
    let usual = base(None, None);
    assert_eq!(heard(&usual, ""), Vec::<&str>::new());
    assert_eq!(heard(&usual, "identity=debug"), ["identity"]);
    assert_eq!(heard(&usual, "app=debug"), ["app"]);
    assert_eq!(heard(&usual, "debug"), ["admission", "app", "identity"]);
    assert_eq!(heard(&usual, "debug,identity=warn"), ["admission", "app"]);
    assert_eq!(heard(&usual, "identity=warn,vestibule_identity=debug"), ["identity"]);
    assert_eq!(heard(&usual, "vestibule_identity=debug,identity=warn"), [""; 0]);
    assert_eq!(heard(&base(Some("identity=warn"), None), "debug"), ["admission", "app", "identity"]);
    assert_eq!(heard(&usual, "dependencies=debug"), ["client", "hyper"]);
    let loud = base(None, Some("debug"));
    assert_eq!(heard(&loud, ""), ["admission", "app", "client", "hyper", "identity"]);
    assert_eq!(heard(&loud, "identity=warn"), ["admission", "app", "client", "hyper"]);
    assert_eq!(heard(&loud, "app=warn"), ["admission", "client", "hyper", "identity"]);
    assert_eq!(heard(&loud, "warn"), ["client", "hyper"]);
}

#[test]
fn the_flag_knows_components_and_leaves_the_rest_as_it_is() {
    let flag = |text| base(Some(text), None);
    assert_eq!(flag("identity=debug").description, "identity=debug (--log-level)");
    assert_eq!(heard(&flag("identity=debug"), ""), ["identity"]);
    assert_eq!(heard(&flag("app=debug"), ""), ["app"]);
    assert_eq!(heard(&flag("debug,identity=warn"), ""), ["admission", "app"]);
    assert_eq!(heard(&flag("dependencies=debug"), ""), ["client", "hyper"]);
    assert_eq!(heard(&flag("identity=debug"), "identity=warn,app=debug"), ["app"]);
    // A level for one component leaves the others as they are.
    let informs = |text| {
        let filter = EnvFilter::builder().parse(flag(text).directives).unwrap();
        let _guard = tracing_subscriber::registry().with(filter).set_default();
        let own = tracing::event_enabled!(target: "vestibule::admission", tracing::Level::INFO);
        (own, tracing::event_enabled!(target: "hyper_util::client", tracing::Level::INFO))
    };
    assert_eq!(informs("identity=debug"), (true, true));
    assert_eq!(informs("debug"), (true, true));
    assert_eq!(informs("warn"), (false, false));
    assert_eq!(informs("off"), (false, false));
}

/// Runs `run` with a log that is written to nowhere.
fn with_logs<T>(base: Base, run: impl FnOnce(&Logs) -> T) -> T {
    let lines = lines::json(std::io::sink);
    let _guard = subscriber(base, ExtraLayers::new(), lines).set_default();
    run(&Logs::of_this_process().expect("the log is found again"))
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn wanted(data: &[(&str, &str)]) -> LevelConfig {
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let (wanted, bad) = LevelConfig::read(&LevelConfig::default(), "demo", &data, at("2026-01-02T12:00:00Z"));
    assert_eq!(bad, []);
    wanted
}

#[test]
fn the_level_changes_while_the_process_runs_and_falls_back_by_itself() {
    let debugs = || tracing::event_enabled!(target: "vestibule_server", tracing::Level::DEBUG);
    with_logs(base(None, None), |logs| {
        assert!(!debugs());
        let raised = wanted(&[("raised", "debug until 2026-01-02T12:10:00Z")]);
        let next = logs.apply(&raised, at("2026-01-02T12:00:00Z"));
        assert_eq!((debugs(), next), (true, Some(at("2026-01-02T12:10:00Z"))));
        assert_eq!(logs.in_force(), "debug, over info (the default)");
        assert_eq!(logs.apply(&raised, at("2026-01-02T12:10:00Z")), None);
        assert_eq!((debugs(), logs.in_force()), (false, "info (the default)".to_owned()));
    });
}

#[test]
fn a_disabled_level_is_disabled_at_its_call_site() {
    with_logs(base(None, None), |_| {
        assert!(!tracing::enabled!(target: "hyper_util", tracing::Level::TRACE));
        assert!(!tracing::enabled!(target: "vestibule", tracing::Level::DEBUG));
        assert!(tracing::enabled!(target: "vestibule", tracing::Level::INFO));
    });
}
