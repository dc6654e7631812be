//! Clients and watches that notice a dead connection.

use std::path::Path;
use std::time::Duration;

use kube::runtime::watcher;
use kube::{Client, Config};

use crate::cluster_config::{ClusterConfigError, cluster_config};

/// A [`client`] of the cluster that [`cluster_config`] finds. No request is sent yet.
///
/// # Errors
/// The configuration cannot be used, or none is there.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ClusterConfigError> {
    client(cluster_config(kubeconfig, None).await?).map_err(ClusterConfigError::Client)
}

/// Longer than the timeout of any watch.
const SILENCE: Duration = Duration::from_secs(300);

/// A client that closes a connection on which nothing comes for five minutes. A dead node or a firewall that forgets a
/// connection sends no reset, and an answer that never begins has no other bound.
///
/// # Errors
/// The configuration cannot be used.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let config = vestibule_identity::cluster_config(None, None).await?;
/// let client = vestibule_identity::client(config)?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
pub fn client(mut config: Config) -> Result<Client, kube::Error> {
    config.read_timeout = Some(SILENCE);
    config.reset_reader_on_write = true;
    Client::try_from(config)
}

/// Watches that end after 55 s and resume at the same version. A connection may be dead without a reset, or a proxy may
/// hold events back, so a silent watch is asked for again within a minute.
pub fn short_watch() -> watcher::Config {
    // The stream waits for the end five seconds longer.
    watcher::Config::default().timeout(55)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::JoinHandle;
    use tokio::time::Instant;

    use super::*;
    use crate::client_error::with_causes;

    /// Regression: a proxy was an error of `kube`, which printed its password.
    #[tokio::test]
    async fn a_cluster_is_reached_through_the_proxy_of_its_kubeconfig() {
        let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("kubeconfig");
        let connected = async |protocol: &str| {
            let url = format!("{protocol}://me:hunter2@{}", proxy.local_addr().unwrap());
            let text = format!(
                "{{current-context: a, contexts: [{{name: a, context: {{cluster: a}}}}], \
                 clusters: [{{name: a, cluster: {{server: 'https://cluster.test:6443', proxy-url: '{url}'}}}}]}}"
            );
            std::fs::write(&path, text).unwrap();
            connect(Some(&path)).await
        };
        let client = connected("http").await.unwrap();
        let asked = tokio::spawn(async move { client.apiserver_version().await.map(drop) });
        let accepted = tokio::time::timeout(Duration::from_secs(30), proxy.accept()).await;
        let (mut stream, _) = accepted.expect("no connection came to the proxy").unwrap();
        let mut head = [0; 1024];
        let length = stream.read(&mut head).await.unwrap();
        let head = String::from_utf8_lossy(&head[..length]);
        assert!(head.starts_with("CONNECT cluster.test:6443 ") && head.contains("Basic "), "{head}");
        asked.abort();
        let error = connected("ftp").await.err().unwrap().to_string();
        assert!(error.contains("in proxy-url of the kubeconfig") && !error.contains("hunter2"), "{error}");
    }

    /// A request that waits for its answer, and the connection on which it came.
    async fn asked() -> (JoinHandle<Result<(), kube::Error>>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let client = client(Config::new(url)).unwrap();
        let asked = tokio::spawn(async move { client.apiserver_version().await.map(drop) });
        let (mut stream, _) = listener.accept().await.unwrap();
        assert_ne!(stream.read(&mut [0; 1024]).await.unwrap(), 0);
        (asked, stream)
    }

    /// The page of a proxy was in errors and in the log.
    #[tokio::test]
    async fn the_text_of_another_server_is_not_quoted() {
        let (asked, mut proxy) = asked().await;
        let page = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 20\r\n\r\n<html>hunter2</html>";
        proxy.write_all(page).await.unwrap();
        let error = asked.await.unwrap().unwrap_err();
        assert_eq!(with_causes(&error), "status 502, and the answer is no JSON of Kubernetes");
    }

    #[tokio::test]
    async fn an_answer_that_never_begins_is_given_up() {
        let (asked, _silent) = asked().await;
        // From here on only the clock can bring anything.
        tokio::time::pause();
        let start = Instant::now();
        assert!(asked.await.unwrap().is_err());
        assert_eq!(start.elapsed().as_secs(), SILENCE.as_secs());
    }
}
