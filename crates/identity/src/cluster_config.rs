//! Finds the cluster to connect to.

mod proxy;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::client_error::with_causes;

/// How the cluster to connect to is found, in words for the help of a command.
pub const CLUSTER_ORDER: &str = "KUBECONFIG, else the cluster around this pod, else ~/.kube/config";

const SERVICE_HOST: &str = "KUBERNETES_SERVICE_HOST";
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The configuration of the cluster to connect to. The first of these that is there counts, as in controller-runtime:
///
/// 1. `kubeconfig`, which a flag names;
/// 2. the files of the variable `KUBECONFIG`;
/// 3. the cluster around this pod: the variable `KUBERNETES_SERVICE_HOST` is set and the ServiceAccount's token is there;
/// 4. `~/.kube/config`.
///
/// The cluster of a kubeconfig is reached through the cluster's `proxy-url`, else through the proxy in `HTTPS_PROXY` unless
/// `NO_PROXY` excepts it; the cluster around this pod without a proxy.
///
/// A configuration that is there and cannot be used is an error, because the next one could be another cluster. A `context`
/// is one of a kubeconfig, so with it the cluster around this pod is left out.
///
/// # Errors
/// The first configuration found cannot be used, or none is found.
pub async fn cluster_config(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
) -> Result<Config, ClusterConfigError> {
    let places = Places {
        flag: kubeconfig,
        variable: std::env::var_os("KUBECONFIG"),
        pod: || {
            let host = std::env::var_os(SERVICE_HOST);
            pod_config(host.is_some(), Path::new(SERVICE_ACCOUNT), Config::incluster)
        },
        home: std::env::home_dir().map(|home| home.join(".kube").join("config")),
    };
    places.config(context).await
}

/// Why it is not known which cluster to connect to, or how.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterConfigError {
    /// The first configuration that is there cannot be used.
    #[error("the kubeconfig {name} cannot be used: {}", with_causes(.source))]
    Kubeconfig {
        /// The file, or the variable.
        name: String,
        /// Why the kubeconfig cannot be used.
        source: KubeconfigError,
    },
    /// This process runs in a pod, and a file or variable of the pod cannot be used.
    #[error(
        "the cluster around this pod cannot be used: {place}: {source}; mend the pod's ServiceAccount volume, or name a \
         kubeconfig"
    )]
    Pod {
        /// The file or the variable.
        place: String,
        /// Why it cannot be used.
        source: InClusterError,
    },
    /// No place names a cluster.
    #[error(
        "no cluster is named: no kubeconfig is given, KUBECONFIG is not set, there is no cluster around this process ({pod}), \
         and no ~/.kube/config; name a kubeconfig"
    )]
    NoCluster {
        /// Why the process is in no pod.
        pod: String,
    },
    /// The URL of the proxy has another protocol. It is not printed, because it may have a password.
    #[error("the proxy in {place} cannot be used: its URL must begin with http://, https:// or socks5://")]
    Proxy {
        /// The variable, or the kubeconfig.
        place: String,
    },
    /// The configuration was found, and no client can be made of it.
    #[error("the cluster's configuration cannot be used: {}", with_causes(.0))]
    Client(#[source] kube::Error),
}

/// The configuration of the cluster around this pod.
enum PodConfig {
    Found(Box<Config>),
    /// The process runs in no pod, with the reason.
    NotInPod(String),
}

/// Without the variable or the token this process runs in no pod. With both, every other error is a broken pod: another
/// configuration could lead to another cluster.
fn pod_config(
    has_host: bool,
    service_account: &Path,
    load: impl FnOnce() -> Result<Config, InClusterError>,
) -> Result<PodConfig, ClusterConfigError> {
    if !has_host {
        return Ok(PodConfig::NotInPod(format!("{SERVICE_HOST} is not set")));
    }
    let file = |name: &str| service_account.join(name).display().to_string();
    if !service_account.join("token").exists() {
        return Ok(PodConfig::NotInPod(format!("no file {}", file("token"))));
    }
    load().map(|config| PodConfig::Found(Box::new(config))).map_err(|source| {
        let place = match &source {
            InClusterError::ReadDefaultNamespace(_) => file("namespace"),
            InClusterError::ReadCertificateBundle(_) | InClusterError::ParseCertificates(_) => file("ca.crt"),
            InClusterError::ReadEnvironmentVariable(_) | InClusterError::ParseClusterPort(_) => {
                "KUBERNETES_SERVICE_PORT".to_owned()
            }
            InClusterError::ParseClusterUrl(_) => SERVICE_HOST.to_owned(),
        };
        ClusterConfigError::Pod { place, source }
    })
}

/// The places to search for a configuration; a test replaces them.
struct Places<'a, P> {
    flag: Option<&'a Path>,
    variable: Option<OsString>,
    pod: P,
    home: Option<PathBuf>,
}

impl<P: FnOnce() -> Result<PodConfig, ClusterConfigError>> Places<'_, P> {
    async fn config(self, context: Option<&str>) -> Result<Config, ClusterConfigError> {
        if let Some(path) = self.flag {
            return of_files(&[path.to_owned()], &path.display().to_string(), context).await;
        }
        let variable = self.variable.unwrap_or_default();
        let files: Vec<PathBuf> =
            std::env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty()).collect();
        if !files.is_empty() {
            return of_files(&files, "of KUBECONFIG", context).await;
        }
        let pod = match context {
            None => match (self.pod)()? {
                PodConfig::Found(config) => return Ok(*config),
                PodConfig::NotInPod(why) => why,
            },
            Some(_) => "it has no contexts".to_owned(),
        };
        match self.home.filter(|path| path.exists()) {
            Some(path) => of_files(&[path], "~/.kube/config", context).await,
            None => Err(ClusterConfigError::NoCluster { pod }),
        }
    }
}

/// Merges several kubeconfigs as kubectl does: the first file that sets a value wins.
async fn of_files(
    files: &[PathBuf],
    name: &str,
    context: Option<&str>,
) -> Result<Config, ClusterConfigError> {
    let unusable = |source| ClusterConfigError::Kubeconfig { name: name.to_owned(), source };
    let merged = files.iter().try_fold(Kubeconfig::default(), |merged, path| {
        Kubeconfig::read_from(path).and_then(|next| merged.merge(next))
    });
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let merged = merged.map_err(unusable)?;
    let proxy_url = proxy::url_in(&merged, context);
    let mut config = Config::from_custom_kubeconfig(merged, &options).await.map_err(unusable)?;
    config.proxy_url = proxy::choose(proxy_url, |name| std::env::var(name).ok(), &config.cluster_url)?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        let text = format!(
            "{{current-context: one, contexts: [{{name: one, context: {{cluster: c}}}}, {{name: two, context: {{cluster: d}}}}], \
             clusters: [{{name: c, cluster: {{server: 'http://{name}:1'}}}}, {{name: d, cluster: {{server: 'http://other-{name}:1'}}}}]}}"
        );
        std::fs::write(&path, text).unwrap();
        path
    }

    /// All commands use one order.
    #[tokio::test]
    async fn the_first_place_that_names_a_cluster_counts() {
        let folder = tempfile::TempDir::new().unwrap();
        let [flag, variable, home] = ["flag", "variable", "home"].map(|name| file(folder.path(), name));
        let find = async |says: [bool; 4], context| {
            let places = Places {
                flag: says[0].then_some(&*flag),
                variable: says[1].then(|| std::env::join_paths([Path::new(""), &variable]).unwrap()),
                pod: || match says[2] {
                    true => Ok(PodConfig::Found(Box::new(Config::new("http://pod:1".parse().unwrap())))),
                    false => Ok(PodConfig::NotInPod("no token".to_owned())),
                },
                home: Some(if says[3] { home.clone() } else { folder.path().join("absent") }),
            };
            let found = places.config(context).await.map_err(|error| error.to_string())?;
            Ok::<_, String>(found.cluster_url.host().unwrap_or_default().to_owned())
        };
        let host = |name: &str| Ok(name.to_owned());
        assert_eq!(find([true, true, true, true], None).await, host("flag"));
        assert_eq!(find([false, true, true, true], None).await, host("variable"));
        assert_eq!(find([false, false, true, true], None).await, host("pod"));
        assert_eq!(find([false, false, false, true], None).await, host("home"));
        assert_eq!(find([false, false, true, true], Some("two")).await, host("other-home"));
        let none = find([false; 4], None).await.unwrap_err();
        for said in ["no kubeconfig is given", "KUBECONFIG is not set", "(no token)", "~/.kube/config"] {
            assert!(none.contains(said), "{none}");
        }
    }

    /// The next one could be another cluster.
    #[tokio::test]
    async fn a_place_that_cannot_be_used_is_not_passed_over() {
        let folder = tempfile::TempDir::new().unwrap();
        let home = file(folder.path(), "home");
        let absent = folder.path().join("absent");
        for (flag, variable, named) in
            [(Some(&*absent), None, "absent"), (None, Some(absent.clone().into_os_string()), "of KUBECONFIG")]
        {
            let pod = || Ok(PodConfig::Found(Box::new(Config::new("http://pod:1".parse().unwrap()))));
            let places = Places { flag, variable, pod, home: Some(home.clone()) };
            let error = places.config(None).await.err().unwrap().to_string();
            assert!(error.contains(named) && error.contains("cannot be used"), "{error}");
        }
    }

    /// Regression: `~/.kube/config` could lead to another cluster.
    #[tokio::test]
    async fn a_pod_with_a_broken_service_account_does_not_fall_back_to_the_home_kubeconfig() {
        let folder = tempfile::TempDir::new().unwrap();
        let home = file(folder.path(), "home");
        let broken = || {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            Err(InClusterError::ReadCertificateBundle(missing))
        };
        let find = async |has_host| {
            let pod = || pod_config(has_host, folder.path(), broken);
            let places = Places { flag: None, variable: None, pod, home: Some(home.clone()) };
            let found = places.config(None).await.map_err(|error| error.to_string())?;
            Ok::<_, String>(found.cluster_url.host().unwrap_or_default().to_owned())
        };
        assert_eq!(find(true).await, Ok("home".to_owned()), "without a token this is no pod");
        std::fs::write(folder.path().join("token"), "t").unwrap();
        assert_eq!(
            find(false).await,
            Ok("home".to_owned()),
            "without KUBERNETES_SERVICE_HOST this is no pod"
        );
        let error = find(true).await.unwrap_err();
        assert!(error.contains("cannot be used") && error.contains("ca.crt"), "{error}");
    }
}
