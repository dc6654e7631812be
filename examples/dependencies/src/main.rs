//! Serves the webhook, or prints what registers it: `dependencies --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(dependencies::app()).await
}
