//! Serves the webhook, or prints what registers it: `dependencies --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    dependencies::app().run().await
}
