//! Serves the webhook, or prints what registers it: `reserved-namespaces --help`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let list = |name: &str, default: &str| -> Vec<_> {
        std::env::var(name).unwrap_or(default.to_owned()).split(',').map(str::to_owned).collect()
    };
    let users = list("EXEMPT_USERS", "system:apiserver,system:kube-controller-manager,system:kube-scheduler");
    let groups = list("EXEMPT_GROUPS", "system:masters,system:nodes,system:serviceaccounts:kube-system");
    let reservation =
        reserved_namespaces::Reservation { namespaces: list("RESERVED", "kube-*"), users, groups };
    vestibule_command::run(reserved_namespaces::app(reservation)).await
}
