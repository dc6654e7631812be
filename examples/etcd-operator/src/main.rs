//! Serves the webhook, or prints what registers it: `etcd-operator --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    etcd_operator::app().run().await
}
