//! Serves the webhook, or prints what installs it: `my-converter --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(my_converter::app()).await
}
