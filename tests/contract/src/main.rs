//! A webhook with one hook for each thing that a webhook may do, well or badly: `contract serve`.

// It panics on purpose.
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

/// The file without which the webhook is not ready, where it is named.
const READY_WHEN: &str = "CONTRACT_READY_WHEN";

/// Set, there are hooks that look objects up, on the cluster of `--kubeconfig`.
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

/// Whoever started it holds the other end: it ends with them, even where they are killed.
fn end_with_stdin() {
    std::thread::spawn(|| {
        let _end = std::io::stdin().read_to_end(&mut Vec::new());
        #[expect(clippy::disallowed_methods, reason = "nobody is left to hear of an end")]
        std::process::exit(0);
    });
}
