//! Serves the webhook, or prints what installs it: `my-operator --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(my_operator::app()).await
}
