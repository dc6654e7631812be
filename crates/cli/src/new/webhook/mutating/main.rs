//! Serves the webhook, or prints what installs it: `my-mutator --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(my_mutator::app()).await
}
