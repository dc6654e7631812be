//! The way to a cluster.

use std::path::Path;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher;
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
    client(config).map_err(|error| IdentityError::Cluster(error.to_string()))
}

/// Longer than any watch is asked to last.
const SILENCE: Duration = Duration::from_secs(300);

/// A client that gives up connections on which nothing comes for five minutes. Where a node dies or a firewall forgets,
/// nobody tells; and an answer that never begins has no other bound.
///
/// # Errors
/// The configuration cannot be used.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = vestibule_identity::client(kube::Config::infer().await?)?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
pub fn client(mut config: Config) -> Result<Client, kube::Error> {
    config.read_timeout = Some(SILENCE);
    config.reset_reader_on_write = true;
    Client::try_from(config)
}

/// Watches that end after less than a minute and go on where they were. A connection may have died without a word, or something
/// between may hold back what comes: a watch on which nothing comes is asked for anew within a minute.
pub fn short_watch() -> watcher::Config {
    // The stream waits for the end five seconds longer.
    watcher::Config::default().timeout(55)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn an_answer_that_never_begins_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let client = client(Config::new(url)).unwrap();
        let asked = tokio::spawn(async move { client.apiserver_version().await.map(drop) });
        let (mut silent, _) = listener.accept().await.unwrap();
        assert_ne!(silent.read(&mut [0; 1024]).await.unwrap(), 0);
        // From here on only the clock can bring anything.
        tokio::time::pause();
        let start = Instant::now();
        assert!(asked.await.unwrap().is_err());
        assert_eq!(start.elapsed().as_secs(), SILENCE.as_secs());
    }
}
