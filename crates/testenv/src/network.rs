//! The loopback addresses and ports of one environment.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use crate::error::Error;

/// Addresses and ports that no other environment uses.
///
/// On Linux every address of 127.0.0.0/8 is local, so an environment takes a /24 of
/// it, and a Service's ClusterIP is an address that a process can listen on.
pub(crate) struct Network {
    /// The address on which etcd and the API server listen.
    pub(crate) address: Ipv4Addr,
    cluster_ips: bool,
}

/// Reserves the network for its environment: a listening socket, which the system closes when the processes that hold it
/// end, also when they are killed.
pub(crate) type Claim = Option<OwnedFd>;

impl Network {
    /// Takes a free /24.
    pub(crate) fn claim() -> (Self, Claim) {
        // Each process starts at another network, so that few attempts fail and a network is not reused at once.
        let start = std::process::id() as usize;
        let networks = (0..COUNT).map(|step| (start + step) % COUNT);
        networks
            .filter_map(|number| claim_at(first_address(number)))
            .next()
            .unwrap_or_else(Self::without_cluster_ips)
    }

    /// For machines where 127.0.0.1 is the only loopback address: only the ports are exclusive.
    pub(crate) fn without_cluster_ips() -> (Self, Claim) {
        (Self { address: Ipv4Addr::LOCALHOST, cluster_ips: false }, None)
    }

    /// The range from which the API server allocates ClusterIPs.
    pub(crate) fn service_range(&self) -> String {
        let [a, b, c, _] = if self.cluster_ips { self.address.octets() } else { [10, 96, 0, 0] };
        format!("{a}.{b}.{c}.0/24")
    }

    /// The addresses that Services may use; empty without local ClusterIPs.
    pub(crate) fn cluster_ips(&self) -> impl Iterator<Item = Ipv4Addr> + use<> {
        let [a, b, c, _] = self.address.octets();
        // The first address belongs to the Service `kubernetes`.
        let hosts = if self.cluster_ips { 2..255 } else { 0..0 };
        hosts.map(move |host| Ipv4Addr::new(a, b, c, host))
    }

    /// Different ports that are free now.
    pub(crate) fn free_ports<const N: usize>(&self) -> Result<[u16; N], Error> {
        let mut ports = [0; N];
        let mut listeners = Vec::new();
        for port in &mut ports {
            let listener = listen(SocketAddr::from((self.address, 0)))?;
            *port = local_address(&listener)?.port();
            listeners.push(listener);
        }
        Ok(ports)
    }
}

/// Listens on `address`, port 0 for any.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address).map_err(|source| Error::Listen { address, source })
}

/// The address of `listener`.
pub(crate) fn local_address(listener: &TcpListener) -> Result<SocketAddr, Error> {
    let unknown = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    listener.local_addr().map_err(|source: io::Error| Error::Listen { address: unknown, source })
}

fn claim_at(address: Ipv4Addr) -> Option<(Network, Claim)> {
    let claim = TcpListener::bind((address, CLAIM_PORT)).ok()?;
    Some((Network { address, cluster_ips: true }, Some(claim.into())))
}

/// 127.96.0.1, 127.96.1.1, ... far from 127.0.0.0/24 and 127.0.1.1, which systems use themselves.
fn first_address(number: usize) -> Ipv4Addr {
    let [high, low] = u16::try_from(number % COUNT).unwrap_or_default().to_be_bytes();
    Ipv4Addr::new(127, 96 + high, low, 1)
}

const COUNT: usize = 16 * 256;

/// Below the ephemeral ports, above the privileged ones.
const CLAIM_PORT: u16 = 9701;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_environments_never_share_addresses() {
        let (one, _claim) = Network::claim();
        let (other, _other_claim) = Network::claim();
        assert_ne!(one.service_range(), other.service_range());
        assert!(one.cluster_ips().all(|address| address != one.address));
    }

    #[test]
    fn a_dropped_claim_is_free_again() {
        let address = first_address(77);
        let (_, claim) = claim_at(address).unwrap();
        assert!(claim_at(address).is_none());
        drop(claim);
        assert!(claim_at(address).is_some());
    }

    #[test]
    fn ports_differ() {
        let [one, other] = Network::without_cluster_ips().0.free_ports().unwrap();
        assert_ne!(one, other);
    }
}
