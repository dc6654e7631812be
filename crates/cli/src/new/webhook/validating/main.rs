//! Serves the webhook, or prints what installs it: `my-validator --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(my_validator::app()).await
}
