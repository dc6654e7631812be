//! A replica of an app in the test's process, in place of a pod.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, FromArgMatches};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::reviewed::Reviews;
use vestibule::server::Shutdown;
use vestibule::{App, ServeError};
use vestibule_command::ServeArguments;

/// The kit's balancer takes less time to see that a replica is not ready.
const DRAIN_DELAY: Duration = Duration::from_millis(500);
/// The API server keeps idle connections for 90 s; a test does not wait for them.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// A replica in the test's process, which stops when this is dropped.
pub(super) struct Replica {
    pub(super) address: SocketAddr,
    pub(super) probes: Option<SocketAddr>,
    shutdown: Shutdown,
    ended: Option<JoinHandle<Result<usize, ServeError>>>,
}

impl Replica {
    /// Runs `app` with the arguments of the container of `deployment` and the token in `kubeconfig`.
    pub(super) async fn start(
        app: App,
        deployment: &Value,
        kubeconfig: &Path,
        reviews: Reviews,
    ) -> Result<Self, String> {
        let arguments = arguments(deployment, kubeconfig)?;
        let settings = |settings: &mut vestibule::identity::Settings| {
            // These waits are for clusters with several API servers; the test has one.
            settings.policy.hold_cold = Duration::from_secs(1);
            settings.policy.recheck = Duration::from_millis(500);
            settings.settle = Duration::from_millis(200);
        };
        let options = |options: &mut vestibule::Options| {
            let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            options.settings.listen = anywhere;
            options.settings.probes = Some(anywhere);
            options.settings.drain_delay = DRAIN_DELAY;
            options.settings.drain_timeout = DRAIN_TIMEOUT;
            options.observer = Some(Arc::new(reviews));
            // The kit's balancer sends the Service's calls to this replica as soon as it is ready.
            options.must_reach = None;
        };
        let bound = arguments.bind(app, settings, options).await.map_err(|error| error.to_string())?;
        let (address, probes, shutdown) = (bound.address(), bound.probes_address(), bound.shutdown());
        Ok(Self { address, probes, shutdown, ended: Some(tokio::spawn(bound.serve())) })
    }

    /// Drains the replica as a rollout does, and returns when it has stopped.
    pub(super) async fn drain(mut self) {
        self.shutdown.drain();
        if let Some(ended) = self.ended.take() {
            drop(ended.await);
        }
    }

    /// The body of `/readyz`.
    pub(super) async fn readiness(&self) -> String {
        let ask = async {
            let mut stream = TcpStream::connect(self.probes?).await.ok()?;
            stream
                .write_all(b"GET /readyz HTTP/1.1\r\nHost: replica\r\nConnection: close\r\n\r\n")
                .await
                .ok()?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.ok()?;
            answer.split_once("\r\n\r\n").map(|(_, body)| body.trim().to_owned())
        };
        let answer = tokio::time::timeout(Duration::from_secs(5), ask).await;
        answer.ok().flatten().unwrap_or_else(|| "it does not answer".to_owned())
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.shutdown.stop();
    }
}

/// The arguments of the container, the namespace and the kubeconfig that a kubelet's pod would have.
fn arguments(deployment: &Value, kubeconfig: &Path) -> Result<ServeArguments, String> {
    let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array();
    let arguments = arguments.into_iter().flatten().filter_map(Value::as_str).map(OsString::from);
    let mut arguments: Vec<OsString> = arguments.skip_while(|word| word == "serve").collect();
    let namespace = deployment["metadata"]["namespace"].as_str().unwrap_or_default();
    arguments.push(format!("--namespace={namespace}").into());
    arguments.extend(["--register-outside-cluster".into(), "--kubeconfig".into(), kubeconfig.into()]);
    let command = ServeArguments::augment_args(clap::Command::new("serve")).no_binary_name(true);
    let matches = command.try_get_matches_from(arguments).map_err(|error| error.to_string())?;
    ServeArguments::from_arg_matches(&matches).map_err(|error| error.to_string())
}
