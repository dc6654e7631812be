//! The proxy on the way to the cluster of a kubeconfig.

use std::net::IpAddr;

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::config::Kubeconfig;

use super::ClusterConfigError;

/// The protocols of proxies that `kube` connects to.
const PROTOCOLS: [&str; 3] = ["http", "https", "socks5"];

/// The proxy that kubectl would choose: the cluster's `proxy-url`, whatever `NO_PROXY` says, else `HTTPS_PROXY`. `kube` compares `NO_PROXY`
/// with the address of the proxy.
pub(super) fn choose(
    proxy_url: Option<String>,
    variable: impl Fn(&str) -> Option<String>,
    cluster: &Uri,
) -> Result<Option<Uri>, ClusterConfigError> {
    let variable = |name: &str| {
        let names = [name.to_owned(), name.to_lowercase()];
        names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()))
    };
    if let Some(url) = proxy_url {
        return parse(&url, "proxy-url of the kubeconfig").map(Some);
    }
    let of_no_proxy = || is_excepted(cluster, &variable("NO_PROXY").unwrap_or_default());
    let Some(url) = variable("HTTPS_PROXY").filter(|_| !of_no_proxy()) else { return Ok(None) };
    let url = if url.contains("://") { url } else { format!("http://{url}") };
    parse(&url, "HTTPS_PROXY").map(Some)
}

/// The `proxy-url` of the context's cluster.
pub(super) fn url_in(kubeconfig: &Kubeconfig, context: Option<&str>) -> Option<String> {
    let context = context.or(kubeconfig.current_context.as_deref())?;
    let context = kubeconfig.contexts.iter().find(|named| named.name == context)?.context.as_ref()?;
    let cluster = kubeconfig.clusters.iter().find(|named| named.name == context.cluster)?;
    cluster.cluster.as_ref()?.proxy_url.clone().filter(|url| !url.is_empty())
}

/// Refuses protocols that `kube` does not know: its error would print the URL, which may have a password.
fn parse(url: &str, place: &str) -> Result<Uri, ClusterConfigError> {
    let is_known = |url: &Uri| url.scheme_str().is_some_and(|scheme| PROTOCOLS.contains(&scheme));
    url.parse().ok().filter(is_known).ok_or_else(|| ClusterConfigError::Proxy { place: place.to_owned() })
}

/// Requests to this machine and to hosts of `NO_PROXY` use no proxy.
fn is_excepted(cluster: &Uri, no_proxy: &str) -> bool {
    let host = cluster.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let listed =
        || Matcher::builder().all("http://proxy.invalid").no(no_proxy).build().intercept(cluster).is_none();
    is_local || no_proxy.trim() == "*" || listed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxy_is_that_of_kubectl() {
        const OWN: Option<&str> = Some("socks5://127.0.0.1:1080");
        const REMOTE: &str = "https://api.example.com:6443";
        for (proxy_url, https_proxy, no_proxy, cluster, chosen) in [
            (None, "", "", REMOTE, None),
            (OWN, "http://other:1", "*", REMOTE, OWN),
            (OWN, "", "127.0.0.1", "https://127.0.0.1:6443", OWN),
            (None, "http://10.0.0.5:3128", "10.0.0.0/8", REMOTE, Some("http://10.0.0.5:3128")),
            (None, "proxy:3128", "", REMOTE, Some("http://proxy:3128")),
            (None, "proxy:3128", "example.org, .example.com", REMOTE, None),
            (None, "proxy:3128", "10.0.0.0/8", "https://10.1.2.3:6443", None),
            (None, "proxy:3128", "*", "https://10.1.2.3:6443", None),
            (None, "proxy:3128", "", "https://127.0.0.1:6443", None),
            (None, "proxy:3128", "", "https://[::1]:6443", None),
            (None, "proxy:3128", "", "https://localhost:6443", None),
        ] {
            // Of each variable also the lower case counts, and an empty one does not.
            let variable = |name: &str| match name {
                "HTTPS_PROXY" => Some(https_proxy.to_owned()),
                "no_proxy" => Some(no_proxy.to_owned()),
                _ => Some(String::new()),
            };
            let found = choose(proxy_url.map(str::to_owned), variable, &cluster.parse().unwrap());
            let chosen = chosen.map(|url: &str| url.parse::<Uri>().unwrap());
            assert_eq!(found.unwrap(), chosen, "{https_proxy} {no_proxy} {cluster}");
        }
    }
}
