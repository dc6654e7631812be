//! A Service that resolves, without kube-proxy.

mod balancer;
mod readiness;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Service as ServiceObject, ServicePort, ServiceSpec};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use self::balancer::Replicas;
use crate::background::background;
use crate::network::{listen, local_address};
use crate::{Environment, Error};

/// A Service of the environment, and the balancer that stands behind its address.
///
/// The API server reaches it as in production: by a Service reference, with the name
/// `NAME.NAMESPACE.svc`, over HTTP/1.1. Each connection goes to the next replica that is
/// ready, and to none when none is.
///
/// It works in a thread of its own until it is dropped, whatever becomes of the runtime of the test.
pub struct Service {
    namespace: String,
    name: String,
    address: SocketAddr,
    replicas: Arc<Replicas>,
    balancer: AbortHandle,
}

impl Environment {
    /// Makes the Service `name`; nothing answers there until it is given a replica.
    ///
    /// # Errors
    /// [`Error::Api`] when the API server refuses it.
    pub async fn service(&self, namespace: &str, name: &str) -> Result<Service, Error> {
        let services: Api<ServiceObject> = Api::namespaced(self.admin()?, namespace);
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        for address in self.network.cluster_ips() {
            // The port first: an address where one can be had is nobody else's.
            let Ok(listener) = listen(SocketAddr::from((address, 0))) else { continue };
            let spec = cluster_ip(address, local_address(&listener)?.port());
            let object =
                ServiceObject { metadata: metadata.clone(), spec: Some(spec), ..ServiceObject::default() };
            match services.create(&PostParams::default(), &object).await {
                Ok(_) => {
                    self.pretend_endpoints(namespace, name).await?;
                    return Service::balance(namespace, name, listener);
                }
                Err(kube::Error::Api(status)) if status.message.contains("already allocated") => {}
                Err(source) => return Err(Error::api(format!("create Service {namespace}/{name}"))(source)),
            }
        }
        let listener = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let spec = external_name(local_address(&listener)?.port());
        let object = ServiceObject { metadata, spec: Some(spec), ..ServiceObject::default() };
        let made = services.create(&PostParams::default(), &object).await;
        made.map_err(Error::api(format!("create Service {namespace}/{name}")))?;
        Service::balance(namespace, name, listener)
    }
}

impl Environment {
    /// An APIService whose Service has no endpoints is never asked. Nobody looks at where they are.
    async fn pretend_endpoints(&self, namespace: &str, name: &str) -> Result<(), Error> {
        // For documentation (RFC 5737): addresses of this machine are refused.
        const NOWHERE: &str = "192.0.2.1";
        let slice = EndpointSlice {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some([("kubernetes.io/service-name".to_owned(), name.to_owned())].into()),
                ..ObjectMeta::default()
            },
            address_type: "IPv4".to_owned(),
            endpoints: Some(vec![Endpoint { addresses: vec![NOWHERE.to_owned()], ..Endpoint::default() }]),
            ports: Some(vec![EndpointPort {
                port: Some(1),
                name: Some(String::new()),
                ..EndpointPort::default()
            }]),
        };
        let slices: Api<EndpointSlice> = Api::namespaced(self.admin()?, namespace);
        let made = slices.create(&PostParams::default(), &slice).await;
        made.map(drop).map_err(Error::api(format!("create EndpointSlice {namespace}/{name}")))
    }
}

impl Service {
    fn balance(namespace: &str, name: &str, listener: TcpListener) -> Result<Self, Error> {
        let address = local_address(&listener)?;
        let replicas = Arc::new(Replicas::default());
        let balancer = background()?.spawn(balancer::run(listener, replicas.clone())).abort_handle();
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned(), address, replicas, balancer })
    }

    /// The name that a server behind it needs in its certificate: `NAME.NAMESPACE.svc`.
    pub fn host(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }

    /// The port of the Service, 1024 or more.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Where the API server finds it, for others who want to connect to it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What belongs into `clientConfig.service` of the hook at `path` (`/mutate`), also of
    /// a CustomResourceDefinition's conversion.
    pub fn reference(&self, path: &str) -> Value {
        json!({ "namespace": self.namespace, "name": self.name, "port": self.port(), "path": path })
    }

    /// What belongs into `spec.service` of an APIService, which knows no path.
    pub fn api_service_reference(&self) -> Value {
        json!({ "namespace": self.namespace, "name": self.name, "port": self.port() })
    }

    /// Sends connections to `address` too. With `readiness`, the address of a plain HTTP
    /// server, only while its `/readyz` answers 200; without, until it is removed.
    ///
    /// # Errors
    /// [`Error::Background`] when the thread that looks after it cannot be started.
    pub fn add_replica(&self, address: SocketAddr, readiness: Option<SocketAddr>) -> Result<(), Error> {
        match readiness {
            None => self.replicas.route(address, true),
            Some(readiness) => {
                let probe = readiness::watch(readiness, address, self.replicas.clone());
                self.replicas.watched(address, background()?.spawn(probe).abort_handle());
            }
        }
        Ok(())
    }

    /// Sends no more new connections to `address`; those that are open stay open.
    pub fn remove_replica(&self, address: SocketAddr) {
        self.replicas.unwatched(address);
        self.replicas.route(address, false);
    }

    /// From now on, lets what becomes of replicas take effect only after `delay`, as it
    /// takes a while in a cluster until every node knows. Zero at first.
    pub fn set_propagation_delay(&self, delay: Duration) {
        self.replicas.set_delay(delay);
    }

    /// The replicas that get connections now.
    pub fn routed(&self) -> Vec<SocketAddr> {
        self.replicas.routed()
    }

    /// Waits until exactly `count` replicas get connections.
    ///
    /// # Errors
    /// [`Error::Late`] after 30 seconds.
    pub async fn wait_for_replicas(&self, count: usize) -> Result<(), Error> {
        const SECONDS: u64 = 30;
        let wait = self.replicas.wait_for(count);
        tokio::time::timeout(Duration::from_secs(SECONDS), wait).await.map_err(|_| Error::Late {
            what: format!("{count} replicas of {} being ready", self.host()),
            seconds: SECONDS,
        })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.replicas.unwatch_all();
        self.balancer.abort();
    }
}

fn cluster_ip(address: Ipv4Addr, port: u16) -> ServiceSpec {
    ServiceSpec { cluster_ip: Some(address.to_string()), ports: Some(ports(port)), ..ServiceSpec::default() }
}

/// Where only 127.0.0.1 is local: the API server dials `localhost` at the port that the hook names.
fn external_name(port: u16) -> ServiceSpec {
    ServiceSpec {
        type_: Some("ExternalName".to_owned()),
        external_name: Some("localhost".to_owned()),
        ports: Some(ports(port)),
        ..ServiceSpec::default()
    }
}

fn ports(port: u16) -> Vec<ServicePort> {
    vec![ServicePort { port: port.into(), ..ServicePort::default() }]
}
