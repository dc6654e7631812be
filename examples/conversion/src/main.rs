//! Serves the conversion, or prints the definition: `conversion --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    conversion::app().run().await
}
