//! Keys and objects are never logged.

use tempfile::NamedTempFile;
use vestibule_identity::SelfManaged;
use vestibule_testenv as testenv;

use super::fixture::{Fixture, count, fleeting, until, within};

/// The log lines of this thread, at every level, until this is dropped. A test whose runtime has one thread logs all of its
/// lines there.
pub(super) struct Log {
    file: NamedTempFile,
    _here: tracing::subscriber::DefaultGuard,
    _another: tracing::Dispatch,
}

impl Log {
    pub(super) fn listen() -> Self {
        let file = NamedTempFile::new().unwrap();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(file.reopen().unwrap());
        let here = tracing::subscriber::set_default(subscriber.finish());
        // `tracing` remembers for each line whether anyone wants it. With one subscriber it asks the thread that comes to the
        // line first, which may be the thread of another test and have none; with two it asks every subscriber.
        let another = tracing::Dispatch::new(tracing_subscriber::registry());
        tracing::callsite::rebuild_interest_cache();
        Self { file, _here: here, _another: another }
    }

    /// How many lines have all of `parts`.
    pub(super) fn count(&self, parts: &[&str]) -> usize {
        self.text().lines().filter(|line| parts.iter().all(|part| line.contains(part))).count()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.file.path()).unwrap()
    }

    /// Asserts that a start, which must be done, logged no error.
    #[track_caller]
    pub(super) fn assert_no_error(&self) {
        let text = self.text();
        assert!(text.contains("was signed by CA") && text.contains("Z TRACE "), "the log is heard");
        let errors: Vec<_> = text.lines().filter(|line| line.contains("Z ERROR ")).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

#[tokio::test]
async fn keys_reach_no_log_at_any_level_and_a_first_start_logs_no_error() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let log = Log::listen();
    let fixture = Fixture::with(&env, fleeting()).await;
    let mut canaries = Vec::new();
    let mut remember = async || {
        let data = fixture.secret().await.data.unwrap_or_default();
        for (_, key) in data.into_iter().filter(|(field, _)| field.ends_with(".key")) {
            let pem = String::from_utf8(key.0.clone()).unwrap();
            canaries.push(pem.lines().nth(2).unwrap().to_owned());
            let wire = serde_json::to_string(&k8s_openapi::ByteString(key.0)).unwrap();
            canaries.push(wire[wire.len() / 2..wire.len() / 2 + 40].to_owned());
        }
    };
    let client = env.admin().unwrap();
    let replica = SelfManaged::start(client, fixture.settings()).unwrap();
    within(10, &replica).await;
    log.assert_no_error();

    remember().await;
    fixture.annotate_secret("vestibule.dev/rotate", "1").await;
    until("a rotation", 10, async || count(&fixture.bundles().await[1]) == 3).await;
    remember().await;
    drop(replica);
    let text = log.text();
    assert_eq!(canaries.len(), 8);
    assert!(canaries.iter().all(|canary| !text.contains(canary.as_str())));
}
