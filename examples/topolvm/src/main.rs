//! Serves the webhook, or prints what registers it: `topolvm --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    topolvm::app().run().await
}
