//! Serves the conversion, or prints the definition: `conversion --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(conversion::app()).await
}
