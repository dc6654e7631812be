//! The flags that name the cluster of a command at a terminal, and its connection.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use http::{Method, Request, Response};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder};
use kube::{Client, Config};
use tower::BoxError;
use tower::buffer::BufferLayer;
use tower::retry::{Policy, RetryLayer};
use vestibule::tooling::RequestError;
use vestibule_identity::cluster_config;

use super::{CommandError, kubeconfig_help, namespace};

/// The timeout of requests: a person waits for the answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The flags that select a cluster and a namespace.
#[derive(Args, Clone, Debug)]
pub(super) struct ConnectionArguments {
    /// The namespace of names without one. Unless given, the kubeconfig context's.
    #[arg(long, short, value_name = "NS", value_parser = namespace)]
    namespace: Option<String>,
    #[command(flatten)]
    kubeconfig: KubeconfigArguments,
}

/// The flags that select a cluster.
#[derive(Args, Clone, Debug)]
pub struct KubeconfigArguments {
    #[arg(long, env = "VESTIBULE_KUBECONFIG", value_name = "FILE", help = kubeconfig_help())]
    kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context, if it is not the current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// A client of a cluster, made of flags and a kubeconfig.
pub struct Connection {
    client: Client,
    namespace: String,
    /// The address of the API server.
    address: String,
}

impl ConnectionArguments {
    pub(super) async fn connect(&self) -> Result<Connection, CommandError> {
        let connection = self.kubeconfig.connect().await?;
        let namespace = self.namespace.clone().unwrap_or(connection.namespace);
        Ok(Connection { namespace, ..connection })
    }
}

impl KubeconfigArguments {
    /// The cluster that the flags, the environment or the kubeconfig name. No request is sent yet. Each attempt of a request times out
    /// after 10 s without an answer.
    ///
    /// # Errors
    /// The kubeconfig cannot be used, or none is there.
    pub async fn connect(&self) -> Result<Connection, CommandError> {
        let config = self.config().await?;
        let (namespace, address) = (config.default_namespace.clone(), config.cluster_url.to_string());
        let client = client(config).map_err(|error| self.unusable(&error))?;
        Ok(Connection { client, namespace, address })
    }

    async fn config(&self) -> Result<Config, CommandError> {
        let config = cluster_config(self.kubeconfig.as_deref(), self.context.as_deref()).await;
        let mut config = config.map_err(|error| self.unusable(&error))?;
        config.connect_timeout = Some(TIMEOUT);
        (config.read_timeout, config.reset_reader_on_write) = (Some(TIMEOUT), true);
        // Its 15 retries could take minutes.
        config.default_retry = false;
        Ok(config)
    }

    fn unusable(&self, error: &dyn fmt::Display) -> CommandError {
        let advice = match (&self.context, &self.kubeconfig) {
            (Some(_), _) => "`kubectl config get-contexts` lists those there are".to_owned(),
            (None, Some(path)) => format!("`kubectl --kubeconfig {} version` tries it", path.display()),
            (None, None) => "--kubeconfig FILE names another".to_owned(),
        };
        CommandError::input(format_args!("the cluster's configuration cannot be used: {error}; {advice}"))
    }
}

/// A client that sends a read again, three times within some seconds, after 429, 503 and 504. The API server answers 429 to the reads of a
/// kind while it begins to store its objects.
fn client(config: Config) -> Result<Client, kube::Error> {
    // A retry needs a service that can be cloned. One command sends few requests at a time.
    let buffer = BufferLayer::new(16);
    let retries = RetryLayer::new(RetriesOfReads(RetryPolicy::default()));
    Ok(ClientBuilder::try_from(config)?.with_layer(&buffer).with_layer(&retries).build())
}

/// kube's policy, for reads alone: a proxy may answer 504 to a write that was carried out.
#[derive(Clone)]
struct RetriesOfReads(RetryPolicy);

impl<R> Policy<Request<Body>, Response<R>, BoxError> for RetriesOfReads {
    type Future = tokio::time::Sleep;

    fn retry(
        &mut self,
        request: &mut Request<Body>,
        answer: &mut Result<Response<R>, BoxError>,
    ) -> Option<Self::Future> {
        Policy::retry(&mut self.0, request, answer)
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        match request.method() {
            &Method::GET => Policy::<_, Response<R>, BoxError>::clone_request(&mut self.0, request),
            _ => None,
        }
    }
}

impl Connection {
    /// The client of the cluster.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The namespace of names without one.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The error, with advice if the API server does not answer (exit code 3).
    #[must_use]
    pub fn advised(&self, error: CommandError) -> CommandError {
        match error.code {
            3 => CommandError::unreachable(format_args!(
                "{error}; does `kubectl version` reach {}? --kubeconfig and --context name another cluster",
                self.address
            )),
            _ => error,
        }
    }
}

impl From<RequestError> for CommandError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Unauthorized => Self::input(error),
            RequestError::Unreachable(_) => Self::unreachable(error),
            _ => Self::running(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Namespace;
    use kube::api::{Api, PostParams};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Sends a request through a proxy that answers 503 once. Returns how many requests came, and whether the last succeeded.
    async fn requests_of(send: impl AsyncFnOnce(Client) -> Result<(), kube::Error>) -> (usize, bool) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let mut config = Config::new(url);
        config.default_retry = false;
        let mut count = 0;
        let answering = async {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _request = stream.read(&mut [0; 4096]).await.unwrap();
                count += 1;
                let (status, body) = match count {
                    1 => ("503 Service Unavailable", "busy"),
                    _ => ("200 OK", r#"{"metadata": {"name": "a"}}"#),
                };
                let head =
                    format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}", body.len());
                stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.unwrap();
            }
        };
        let is_ok = tokio::select! {
            answer = send(client(config).unwrap()) => answer.is_ok(),
            () = answering => unreachable!("the proxy answers for ever"),
        };
        (count, is_ok)
    }

    #[tokio::test]
    async fn a_read_is_sent_again_and_a_write_is_not() {
        let read = async |client| Api::<Namespace>::all(client).get("a").await.map(drop);
        assert_eq!(requests_of(read).await, (2, true));
        let write = async |client| {
            let namespaces = Api::<Namespace>::all(client);
            namespaces.create(&PostParams::default(), &Namespace::default()).await.map(drop)
        };
        assert_eq!(requests_of(write).await, (1, false));
    }
}
