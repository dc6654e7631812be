//! Whether this process runs in the cluster that it registers in.

use http::Uri;
use vestibule_identity::cluster_config;

use super::CommandError;
use super::cluster_arguments::ClusterArguments;
use vestibule::Target;

/// The API server of the cluster that a pod runs in, as the kubelet tells it to every container.
const HOST: &str = "KUBERNETES_SERVICE_HOST";
const PORT: &str = "KUBERNETES_SERVICE_PORT";

impl ClusterArguments {
    /// Returns the target that a call of the API server must reach in this process before entries are written. Returns
    /// `None` in a pod of the cluster: the pod's readiness connects the Service to this process.
    ///
    /// # Errors
    /// Outside the cluster, a Service that is not `allowed` by a flag.
    pub(super) async fn must_reach(
        &self,
        target: &Target,
        allowed: bool,
    ) -> Result<Option<Target>, CommandError> {
        let variable = |name| std::env::var(name).ok();
        // The identity reports a configuration that cannot be used.
        let Ok(config) = cluster_config(self.kubeconfig.as_deref(), None).await else { return Ok(None) };
        if is_around(&config.cluster_url, variable(HOST).as_deref(), variable(PORT).as_deref()) {
            return Ok(None);
        }
        match target {
            Target::Service { .. } if !allowed => Err(CommandError::input(format_args!(
                "this process runs outside the cluster {}, and would register webhooks that lead to the pods of Service \
                 {target}; without such pods, what they match is refused. Where that Service leads to this process, add \
                 --register-outside-cluster. Where the API server reaches this process at an address, give --url \
                 https://HOST:PORT instead of --service. With --registration-mode static no webhook is registered",
                config.cluster_url
            ))),
            _ => Ok(Some(target.clone())),
        }
    }
}

/// Whether `cluster` is the API server at `host` and `port`, or has the name that every pod knows it by.
fn is_around(cluster: &Uri, host: Option<&str>, port: Option<&str>) -> bool {
    let (Some(host), Some(name)) = (host, cluster.host()) else { return false };
    let bare = |host: &str| host.trim_matches(['[', ']']).to_ascii_lowercase();
    let is_address =
        bare(name) == bare(host) && port == Some(cluster.port_u16().unwrap_or(443).to_string().as_str());
    let service = bare(name);
    let is_name = match service.strip_prefix("kubernetes.default") {
        Some(rest) => rest.is_empty() || rest == ".svc" || rest.starts_with(".svc."),
        None => service == "kubernetes",
    };
    is_address || is_name
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kubernetes_variables_show_whether_a_process_runs_in_the_cluster() {
        let is_around = |url: &str, host, port| super::is_around(&url.parse().unwrap(), host, port);
        for (url, host, port) in [
            ("https://10.96.0.1/", "10.96.0.1", "443"),
            ("https://10.96.0.1:443/", "10.96.0.1", "443"),
            ("https://127.0.0.1:6443", "127.0.0.1", "6443"),
            ("https://[fd00::1]:443/", "fd00::1", "443"),
            ("https://kubernetes.default.svc/", "10.96.0.1", "443"),
            ("https://kubernetes.default.svc.cluster.local:443/", "10.96.0.1", "443"),
        ] {
            assert!(is_around(url, Some(host), Some(port)), "{url}");
        }
        // A laptop, or a pod of a CI system with the kubeconfig of another cluster.
        assert!(!is_around("https://10.96.0.1/", None, None));
        assert!(!is_around("https://kubernetes.default.svc/", None, None));
        for url in [
            "https://10.96.0.2/",
            "https://10.96.0.1:6443/",
            "https://prod.example.com/",
            "https://kubernetes.default.example.com/",
        ] {
            assert!(!is_around(url, Some("10.96.0.1"), Some("443")), "{url}");
        }
    }
}
