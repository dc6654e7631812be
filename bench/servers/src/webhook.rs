//! A webhook built with Vestibule, as its documentation shows it.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(bench_servers::app()).await
}
