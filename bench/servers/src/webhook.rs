//! A webhook built with Vestibule, as its documentation shows it.

mod app;
mod sidecar;

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(app::app()).await
}
