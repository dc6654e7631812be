//! A Service that the API server can reach, without kube-proxy.

mod balancer;
mod readiness;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Service as ServiceObject, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use self::balancer::{Replica, Replicas};
use crate::background::{Serving, background};
use crate::environment::Environment;
use crate::error::Error;
use crate::network::{listen, local_address};

/// A Service of the environment, and the balancer that listens on its address.
///
/// The API server reaches it as in production: by a Service reference, with the name
/// `NAME.NAMESPACE.svc`, over HTTP/1.1. Connections go to the ready replicas in turn, and are closed
/// when no replica is ready.
///
/// It runs in a thread of its own until it is dropped, independent of the runtime of the test.
pub struct Service {
    namespace: String,
    name: String,
    /// One for each port.
    addresses: Vec<SocketAddr>,
    replicas: Arc<Replicas>,
    _balancers: Vec<Serving>,
}

impl Environment {
    /// Creates the Service `name`. Connections get no answer until a replica is added.
    ///
    /// # Errors
    /// [`Error::Api`] when the API server refuses it.
    pub async fn service(&self, namespace: &str, name: &str) -> Result<Service, Error> {
        self.make_service(namespace, name, 1).await
    }

    /// Creates a Service with two ports, for [`Service::add_two_port_replica`].
    ///
    /// # Errors
    /// [`Error::Api`] when the API server refuses it.
    pub async fn two_port_service(&self, namespace: &str, name: &str) -> Result<Service, Error> {
        self.make_service(namespace, name, 2).await
    }

    async fn make_service(&self, namespace: &str, name: &str, ports: usize) -> Result<Service, Error> {
        let services: Api<ServiceObject> = Api::namespaced(self.admin()?, namespace);
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let listeners = |address: Ipv4Addr| {
            (0..ports).map(|_| listen(SocketAddr::from((address, 0)))).collect::<Result<Vec<_>, _>>()
        };
        for address in self.network.cluster_ips() {
            // Listen first: an address with a free port may be used by this Service.
            let Ok(listeners) = listeners(address) else { continue };
            let spec = Some(cluster_ip(address, service_ports(&listeners)?));
            let object = ServiceObject { metadata: metadata.clone(), spec, ..ServiceObject::default() };
            match services.create(&PostParams::default(), &object).await {
                Ok(_) => {
                    self.create_placeholder_endpoints(namespace, name).await?;
                    return Service::balance(namespace, name, listeners);
                }
                Err(kube::Error::Api(status)) if status.message.contains("already allocated") => {}
                Err(source) => return Err(Error::api(format!("create Service {namespace}/{name}"))(source)),
            }
        }
        let listeners = listeners(Ipv4Addr::LOCALHOST)?;
        let spec = Some(external_name(service_ports(&listeners)?));
        let object = ServiceObject { metadata, spec, ..ServiceObject::default() };
        let made = services.create(&PostParams::default(), &object).await;
        made.map_err(Error::api(format!("create Service {namespace}/{name}")))?;
        Service::balance(namespace, name, listeners)
    }

    /// The API server proxies an APIService only if its Service has endpoints; it does not use their addresses.
    async fn create_placeholder_endpoints(&self, namespace: &str, name: &str) -> Result<(), Error> {
        // For documentation (RFC 5737): the API server refuses loopback addresses in endpoints.
        const PLACEHOLDER: &str = "192.0.2.1";
        self.apply([json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": name, "namespace": namespace, "labels": { "kubernetes.io/service-name": name },
            },
            "addressType": "IPv4",
            "endpoints": [{ "addresses": [PLACEHOLDER] }],
            "ports": [{ "name": "", "port": 1 }],
        })])
        .await
    }
}

impl Service {
    fn balance(namespace: &str, name: &str, listeners: Vec<TcpListener>) -> Result<Self, Error> {
        let addresses = listeners.iter().map(local_address).collect::<Result<_, _>>()?;
        let replicas = Arc::new(Replicas::default());
        let balancers = listeners.into_iter().enumerate();
        let balancers = balancers.map(|(port, listener)| balancer::run(listener, port, replicas.clone()));
        let balancers = balancers.collect::<Result<_, _>>()?;
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Ok(Self { namespace, name, addresses, replicas, _balancers: balancers })
    }

    /// The name that a server behind it needs in its certificate: `NAME.NAMESPACE.svc`.
    pub fn host(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }

    /// The port of the Service, 1024 or more.
    pub fn port(&self) -> u16 {
        self.address().port()
    }

    /// The address to which the API server connects; other clients may connect to it too.
    pub fn address(&self) -> SocketAddr {
        self.addresses.first().copied().unwrap_or_else(|| SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))
    }

    /// The `clientConfig.service` of the hook at `path` (`/mutate`), also for the conversion webhook of
    /// a CustomResourceDefinition.
    pub fn reference(&self, path: &str) -> Value {
        json!({ "namespace": self.namespace, "name": self.name, "port": self.port(), "path": path })
    }

    /// The same for the second port, with [`Environment::two_port_service`].
    pub fn second_reference(&self, path: &str) -> Option<Value> {
        let port = self.addresses.get(1)?.port();
        Some(json!({ "namespace": self.namespace, "name": self.name, "port": port, "path": path }))
    }

    /// The `spec.service` of an APIService, which has no path.
    pub fn api_service_reference(&self) -> Value {
        json!({ "namespace": self.namespace, "name": self.name, "port": self.port() })
    }

    /// Adds a replica at `address`. With `readiness`, the address of a plain HTTP server, it gets
    /// connections only while `/readyz` there answers 200; without, until it is removed.
    ///
    /// # Errors
    /// [`Error::Background`] when the background thread cannot be started.
    pub fn add_replica(&self, address: SocketAddr, readiness: Option<SocketAddr>) -> Result<(), Error> {
        self.add(&Replica::from([address]), readiness)
    }

    /// Adds a replica with one address for each port; [`remove_replica`](Self::remove_replica) and
    /// [`routed`](Self::routed) identify it by the first.
    ///
    /// # Errors
    /// [`Error::Background`] when the background thread cannot be started.
    pub fn add_two_port_replica(
        &self,
        addresses: [SocketAddr; 2],
        readiness: Option<SocketAddr>,
    ) -> Result<(), Error> {
        self.add(&Replica::from(addresses), readiness)
    }

    fn add(&self, replica: &Replica, readiness: Option<SocketAddr>) -> Result<(), Error> {
        match readiness {
            None => self.replicas.route(replica, true),
            Some(readiness) => {
                let probe = readiness::watch(readiness, replica.clone(), self.replicas.clone());
                self.replicas.watched(replica, background()?.spawn(probe).abort_handle());
            }
        }
        Ok(())
    }

    /// Sends no new connections to `address`; open connections stay open.
    pub fn remove_replica(&self, address: SocketAddr) {
        let replica = Replica::from([address]);
        self.replicas.unwatched(&replica);
        self.replicas.route(&replica, false);
    }

    /// Closes every connection that is open now, also in the middle of a message; new connections are accepted.
    pub fn cut_connections(&self) {
        self.replicas.cuts.notify_waiters();
    }

    /// From now on, changes of replicas and of their readiness take effect after `delay`, as in a cluster,
    /// where every node has to learn of them. Zero at first.
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
    /// [`Error::Late`] after a minute.
    pub async fn wait_for_replicas(&self, count: usize) -> Result<(), Error> {
        const SECONDS: u64 = 60;
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
    }
}

fn cluster_ip(address: Ipv4Addr, ports: Vec<ServicePort>) -> ServiceSpec {
    ServiceSpec { cluster_ip: Some(address.to_string()), ports: Some(ports), ..ServiceSpec::default() }
}

/// For systems where only 127.0.0.1 is local: the API server dials `localhost` at the port that the hook names.
fn external_name(ports: Vec<ServicePort>) -> ServiceSpec {
    ServiceSpec {
        type_: Some("ExternalName".to_owned()),
        external_name: Some("localhost".to_owned()),
        ports: Some(ports),
        ..ServiceSpec::default()
    }
}

/// The API server wants names where there are several.
fn service_ports(listeners: &[TcpListener]) -> Result<Vec<ServicePort>, Error> {
    let ports = listeners.iter().enumerate().map(|(number, listener)| {
        let name = (listeners.len() > 1).then(|| format!("port-{number}"));
        Ok(ServicePort { port: local_address(listener)?.port().into(), name, ..ServicePort::default() })
    });
    ports.collect()
}
