//! Serves the webhook, or prints what registers it: `env-injector --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    env_injector::app().run().await
}
