//! Serves the webhook, or prints what registers it: `env-injector --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(env_injector::app()).await
}
