use super::*;

const NOON: &str = "2026-01-02T12:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn read(before: &LevelConfig, data: &[(&str, &str)]) -> (LevelConfig, Vec<(Key, LevelConfigError)>) {
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    LevelConfig::read(before, "demo", &data, at(NOON))
}

fn levels(data: &[(&str, &str)]) -> Levels {
    let (wanted, bad) = read(&LevelConfig::default(), data);
    assert_eq!(bad, [], "{data:?}");
    wanted.at(at(NOON)).0
}

fn of(text: &str) -> Levels {
    text.parse().unwrap()
}

#[test]
fn the_config_map_of_knative_is_understood() {
    let zap = r#"{"level": "warn", "encoding": "json", "outputPaths": ["stdout"]}"#;
    let everything = Levels::of(None, LevelFilter::WARN);
    assert_eq!(levels(&[("zap-logger-config", zap)]), everything);
    assert_eq!(levels(&[("zap-logger-config", "{}")]), Levels::default());
    assert_eq!(levels(&[("loglevel.demo", "warn")]), everything);
    assert_eq!(levels(&[("loglevel.identity", "debug")]), of("identity=debug"));
    assert_eq!(levels(&[("loglevel", "warn,my_app=trace")]), of("warn,my_app=trace"));
    for (key, value) in [("loglevel.controller", "huh"), ("_example", "####"), ("logging.request-log", "{}")]
    {
        assert_eq!(levels(&[(key, value)]), Levels::default(), "{key}");
    }
}

#[test]
fn the_more_precise_key_wins_and_a_temporary_level_wins_over_all() {
    let said = [
        ("loglevel", "identity=error"),
        ("loglevel.identity", "info"),
        ("raised.server", "trace until 2026-01-02T12:10:00Z"),
        ("zap-logger-config", r#"{"level":"warn"}"#),
    ];
    let (wanted, _) = read(&LevelConfig::default(), &said);
    let warn = Levels::of(None, LevelFilter::WARN);
    let standing = warn.over(of("identity=info"));
    let (raised, next) = wanted.at(at(NOON));
    assert_eq!(raised, standing.clone().over(of("server=trace")));
    assert_eq!(next, Some(at("2026-01-02T12:10:00Z")));
    assert_eq!(wanted.at(at("2026-01-02T12:10:00Z")), (standing, None), "it falls back by itself");
}

#[test]
fn an_invalid_value_keeps_the_previous_level_of_its_key() {
    let (before, _) =
        read(&LevelConfig::default(), &[("loglevel.server", "debug"), ("loglevel.rules", "warn")]);
    let (wanted, bad) = read(&before, &[("loglevel.server", "dbug"), ("loglevel.rules", "info")]);
    assert_eq!(wanted.at(at(NOON)).0, of("rules=info").over(of("server=debug")));
    assert_eq!(bad.len(), 1);
    assert_eq!(bad[0].0.to_string(), "loglevel.server");
    let (gone, _) = read(&wanted, &[]);
    assert_eq!(gone, LevelConfig::default(), "what is taken away is gone");
}

#[test]
fn invalid_levels_are_reported_without_their_value() {
    for (key, value) in [
        ("loglevel", "dbug"),
        ("loglevel.demo", "5"),
        ("zap-logger-config", "level: info"),
        ("zap-logger-config", r#"{"level": -1}"#),
        ("raised", "debug"),
        ("raised", "debug until later"),
        ("raised", "debug until 2026-01-03T12:00:01Z"),
        ("raised.server", "loud until 2026-01-02T12:10:00Z"),
    ] {
        let (wanted, bad) = read(&LevelConfig::default(), &[(key, value)]);
        assert_eq!((wanted, bad.len()), (LevelConfig::default(), 1), "{key}: {value}");
        let why = bad[0].1.to_string();
        assert!(!["dbug", "later", "loud", "level: info"].iter().any(|value| why.contains(value)), "{why}");
    }
}

#[test]
fn an_ended_temporary_level_is_valid() {
    let (wanted, bad) = read(&LevelConfig::default(), &[("raised", "debug until 2026-01-01T00:00:00Z")]);
    assert_eq!((wanted.at(at(NOON)), bad), ((Levels::default(), None), Vec::new()));
}
