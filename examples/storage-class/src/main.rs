//! Serves the webhook, or prints what registers it: `storage-class --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    storage_class::app().run().await
}
