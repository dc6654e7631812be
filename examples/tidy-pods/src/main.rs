//! Serves the webhook, or prints what installs it: `tidy-pods --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    tidy_pods::app().run().await
}
