//! The way to a cluster.

use std::path::Path;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::IdentityError;

/// The cluster of `kubeconfig`, else of `KUBECONFIG` or `~/.kube/config`, else the one that the process runs in.
pub(crate) async fn connect(kubeconfig: Option<&Path>) -> Result<Client, IdentityError> {
    let config = match kubeconfig {
        None => Config::infer().await.map_err(|error| IdentityError::Cluster(error.to_string()))?,
        Some(path) => {
            let unusable =
                |error| IdentityError::Cluster(format!("the kubeconfig {}: {error}", path.display()));
            let kubeconfig = Kubeconfig::read_from(path).map_err(unusable)?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
                .await
                .map_err(unusable)?
        }
    };
    Client::try_from(config).map_err(|error| IdentityError::Cluster(error.to_string()))
}
