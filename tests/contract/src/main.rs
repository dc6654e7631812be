//! The webhook under test: one hook for each behaviour, correct or faulty. `contract serve` runs it.
//!
//! The tests in `tests/it` start it as a process (`process.rs`) and call it as kube-apiserver does. Each module below adds its hooks
//! to the app.

// One hook panics on purpose.
#![allow(clippy::panic)]

mod conversion;
mod decisions;
mod lookups;
mod patches;
mod raw;
mod secrets;
mod waiting;

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use vestibule::App;

/// Names a file; the webhook is not ready before the file exists.
const READY_WHEN: &str = "CONTRACT_READY_WHEN";

/// If set, there are hooks that look up objects on the cluster of `--kubeconfig`.
const LOOKS_UP: &str = "CONTRACT_LOOKS_UP";

#[tokio::main]
async fn main() -> ExitCode {
    end_with_stdin();
    let app = App::new("contract");
    let app = conversion::conversions(secrets::hooks(app));
    let app = raw::hooks(waiting::hooks(patches::hooks(decisions::hooks(app))));
    let app = if std::env::var_os(LOOKS_UP).is_some() { lookups::hooks(app) } else { app };
    match std::env::var_os(READY_WHEN).map(PathBuf::from) {
        Some(file) => {
            vestibule_command::run(app.ready_when("the file is there", move || file.exists())).await
        }
        None => vestibule_command::run(app).await,
    }
}

/// Ends the process when standard input closes, so that it ends with the test process, also when that is killed.
fn end_with_stdin() {
    std::thread::spawn(|| {
        let _end = std::io::stdin().read_to_end(&mut Vec::new());
        #[expect(clippy::disallowed_methods, reason = "the test process has ended, so no drain is needed")]
        std::process::exit(0);
    });
}
