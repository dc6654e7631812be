//! Serves the webhook, or prints what registers it: `storage-class --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(storage_class::app()).await
}
