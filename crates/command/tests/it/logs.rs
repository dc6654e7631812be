//! The log line of a panic.

use std::process::Command;

const PANICS: &str = "VESTIBULE_TEST_PANICS";

/// Runs itself once more, as the process that panics.
#[test]
fn a_panic_is_logged_by_its_place_alone() {
    if std::env::var_os(PANICS).is_some() {
        vestibule_command::init_logs();
        assert!(std::thread::spawn(|| panic!("s3cret")).join().is_err());
        vestibule_command::finish_logs();
        return;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "logs::a_panic_is_logged_by_its_place_alone", "--nocapture"])
        .env(PANICS, "")
        .env("RUST_LOG", "info")
        .output()
        .unwrap();
    let log = String::from_utf8(child.stderr).unwrap();
    assert!(child.status.success(), "{log}");
    assert!(log.contains("tests/it/logs.rs"), "{log}");
    assert!(!log.contains("s3cret"), "{log}");
}
