//! Serves the webhook, or prints what installs it: `tidy-pods --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(tidy_pods::app()).await
}
