//! Serves the webhook, or prints what registers it: `topolvm --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(topolvm::app()).await
}
