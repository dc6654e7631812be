//! Starting the control plane.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::AtomicUsize;

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use rcgen::KeyPair;

use super::{
    API_SERVER, CONTROLLER_MANAGER, Environment, Options, SECOND_API_SERVER, Second, audit, credentials,
};
use crate::access::Access;
use crate::api_server::ApiServer;
use crate::binaries::Binaries;
use crate::certificate::Certificate;
use crate::error::Error;
use crate::files::write;
use crate::log_tail::tail;
use crate::marker::Markers;
use crate::network::Network;
use crate::openapi::get;
use crate::poll;
use crate::proxy::Proxy;
use crate::watchdog::Watchdog;

const ETCD: &str = "etcd";

/// The controllers that make pods, and the one that joins roles. Other controllers need nodes, or would interfere with the objects of
/// tests.
const CONTROLLERS: &str = "deployment-controller,replicaset-controller,statefulset-controller,job-controller,\
                           clusterrole-aggregation-controller";

/// etcd keys of the objects that tell an API server which servers to call, and that it learns by a watch.
const LAGGING_KEYS: [&str; 4] = [
    "/registry/mutatingwebhookconfigurations/",
    "/registry/validatingwebhookconfigurations/",
    "/registry/apiextensions.k8s.io/customresourcedefinitions/",
    "/registry/apiregistration.k8s.io/apiservices/",
];

/// A fixed token is safe here, because the API server listens on a loopback address only.
const ADMIN_TOKEN: &str = "testenv-admin";

impl Environment {
    /// Starts a control plane with the default [`Options`] and waits until it answers, about three seconds.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the programs are not found and cannot be built, [`Error::Start`] when one fails.
    pub async fn start() -> Result<Self, Error> {
        Self::start_with(&Options::default()).await
    }

    /// As [`Environment::start`], with `options`.
    ///
    /// # Errors
    /// As [`Environment::start`].
    pub async fn start_with(options: &Options) -> Result<Self, Error> {
        let with_controllers = options.controller_manager;
        let find = move || {
            let binaries = Binaries::find()?;
            let controllers = with_controllers.then(|| binaries.kube_controller_manager()).transpose()?;
            Ok::<_, Error>((binaries, controllers))
        };
        let (binaries, controllers) = tokio::task::spawn_blocking(find).await.map_err(|error| {
            Error::Unavailable { reason: format!("the search for programs ended: {error}") }
        })??;
        let (network, claim) =
            if options.external_names { Network::without_cluster_ips() } else { Network::claim() };
        let [etcd_port, peer_port, api_port, second_port] = network.free_ports()?;
        let address = network.address;

        let folder = new_folder()?;
        let watchdog = Watchdog::over(folder.clone(), claim)?;
        let etcd_url = format!("http://{address}:{etcd_port}");
        watchdog.start(
            ETCD,
            &binaries.etcd,
            &etcd_flags(&folder, &etcd_url, &format!("http://{address}:{peer_port}")),
        )?;

        let certificate = Certificate::for_names(&[address.to_string(), "localhost".to_owned()])?;
        write_files(&folder, &certificate)?;
        if options.audit {
            write(&folder.join(audit::POLICY), &audit::policy().to_string())?;
        }
        let credential_flags =
            if options.shows_credentials { credentials::flags(&folder)? } else { Vec::new() };
        let server = |name: &str, port: u16| {
            let address = SocketAddr::from((address, port));
            ApiServer::new(
                name,
                &folder,
                Access::new(address, &certificate.authority, ADMIN_TOKEN.to_owned()),
            )
        };
        let start = |program: &str, etcd_url: &str, port: u16| {
            let mut flags = api_server_flags(&folder, etcd_url, &network, port);
            flags.extend_from_slice(&options.api_server_flags);
            flags.extend_from_slice(&credential_flags);
            if options.audit && program == API_SERVER {
                flags.extend(audit::flags(&folder));
            }
            watchdog.start(program, &binaries.kube_apiserver, &flags)
        };
        start(API_SERVER, &etcd_url, api_port)?;
        let first = server("first", api_port);
        let second = if options.second_api_server {
            let watches = Proxy::before_etcd(SocketAddr::from((address, etcd_port)), &LAGGING_KEYS)?;
            start(SECOND_API_SERVER, &format!("http://{}", watches.address()), second_port)?;
            Some(Second { server: server("second", second_port), watches })
        } else {
            None
        };

        write(&folder.join("kubeconfig"), &first.access.kubeconfig().to_string())?;
        let markers = Markers::start()?;
        let numbers = AtomicUsize::new(0);
        let environment = Self { watchdog, folder, first, second, network, markers, numbers };
        environment.wait_until_ready(API_SERVER, &environment.first).await?;
        if let Some(second) = &environment.second {
            environment.wait_until_ready(SECOND_API_SERVER, &second.server).await?;
        }
        environment.markers.prepare(&environment.admin()?).await?;
        if let Some(program) = controllers {
            let flags = controller_manager_flags(&environment.kubeconfig());
            environment.watchdog.start(CONTROLLER_MANAGER, &program, &flags)?;
        }
        Ok(environment)
    }

    async fn wait_until_ready(&self, program: &str, server: &ApiServer) -> Result<(), Error> {
        let client = server.admin()?;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let what = format!("{program} being ready");
        let ready = poll::retry(&what, 60, async || {
            if let Some(program) =
                [ETCD, program].into_iter().find(|program| self.watchdog.program(program).exited().is_some())
            {
                let log = tail(&self.watchdog.program(program).log());
                return Err(Error::Start { what: format!("{program} ended at once"), log });
            }
            let ready = client.request_text(get("/readyz")?).await.is_ok();
            Ok((ready && namespaces.get("default").await.is_ok()).then_some(()))
        });
        ready.await.map_err(|error| error.with_log(&self.watchdog.program(program).log()))
    }
}

/// The watchdog removes this folder.
fn new_folder() -> Result<std::path::PathBuf, Error> {
    let folder = tempfile::Builder::new().prefix("vestibule-testenv-").tempdir();
    folder
        .map(tempfile::TempDir::keep)
        .map_err(|source| Error::file("create a folder in", &std::env::temp_dir(), source))
}

fn etcd_flags(folder: &Path, url: &str, peer_url: &str) -> Vec<String> {
    vec![
        format!("--data-dir={}", folder.join("data").display()),
        format!("--listen-client-urls={url}"),
        format!("--advertise-client-urls={url}"),
        format!("--listen-peer-urls={peer_url}"),
        format!("--initial-advertise-peer-urls={peer_url}"),
        format!("--initial-cluster=default={peer_url}"),
        // The data is thrown away after the test, so it need not survive a power cut.
        "--unsafe-no-fsync".to_owned(),
    ]
}

fn api_server_flags(folder: &Path, etcd_url: &str, network: &Network, port: u16) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string();
    vec![
        format!("--etcd-servers={etcd_url}"),
        format!("--bind-address={}", network.address),
        format!("--secure-port={port}"),
        format!("--tls-cert-file={}", file("server.crt")),
        format!("--tls-private-key-file={}", file("server.key")),
        format!("--service-cluster-ip-range={}", network.service_range()),
        "--service-account-issuer=https://testenv.invalid".to_owned(),
        format!("--service-account-key-file={}", file("tokens.pub")),
        format!("--service-account-signing-key-file={}", file("tokens.key")),
        format!("--token-auth-file={}", file("tokens.csv")),
        "--authorization-mode=RBAC".to_owned(),
        // As OpenShift: an operator needs the right to set `blockOwnerDeletion`, which kube's owner references do.
        "--enable-admission-plugins=OwnerReferencesPermissionEnforcement".to_owned(),
        "--allow-privileged=true".to_owned(),
        "--profiling=false".to_owned(),
    ]
}

fn controller_manager_flags(kubeconfig: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--controllers={CONTROLLERS}"),
        "--leader-elect=false".to_owned(),
        // No test reads its metrics or health.
        "--secure-port=0".to_owned(),
        "--profiling=false".to_owned(),
    ]
}

fn write_files(folder: &Path, certificate: &Certificate) -> Result<(), Error> {
    let tokens = KeyPair::generate()?;
    for (name, text) in [
        ("server.crt", &certificate.leaf),
        ("server.key", &certificate.key.serialize_pem()),
        ("tokens.key", &tokens.serialize_pem()),
        ("tokens.pub", &tokens.public_key_pem()),
        ("tokens.csv", &format!("{ADMIN_TOKEN},admin,admin,\"system:masters\"\n")),
    ] {
        write(&folder.join(name), text)?;
    }
    Ok(())
}
