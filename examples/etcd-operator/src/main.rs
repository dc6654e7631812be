//! Serves the webhook, or prints what registers it: `etcd-operator --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(etcd_operator::app()).await
}
