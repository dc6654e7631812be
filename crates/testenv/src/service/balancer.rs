//! The balancer behind a Service's address.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use crate::background::{Serving, background, serve};
use crate::error::Error;

/// The address of a replica for each port of its Service. The first address identifies the replica.
#[derive(Clone)]
pub(super) struct Replica(Arc<[SocketAddr]>);

/// The replicas of a Service that get connections, and the tasks that probe their readiness.
#[derive(Default)]
pub(super) struct Replicas {
    routed: Arc<watch::Sender<Vec<Replica>>>,
    watched: Mutex<HashMap<Option<SocketAddr>, AbortHandle>>,
    delay: Mutex<Duration>,
    pub(super) cuts: Arc<Notify>,
}

/// Forwards the connections of one port.
pub(super) fn run(listener: TcpListener, port: usize, replicas: Arc<Replicas>) -> Result<Serving, Error> {
    let mut turn = 0_usize;
    serve(listener, move |client| {
        turn = turn.wrapping_add(1);
        // As with kube-proxy, the choice is made once: the client sees a failed connection.
        let replica = replicas.choose(port, turn)?;
        let cuts = replicas.cuts.clone();
        Some(async move {
            let cut = cuts.notified();
            tokio::select! {
                () = forward(client, replica) => {}
                () = cut => {}
            }
        })
    })
}

async fn forward(mut client: TcpStream, replica: SocketAddr) {
    let Ok(mut server) = TcpStream::connect(replica).await else { return };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let _ = copy_bidirectional(&mut client, &mut server).await;
}

impl Replicas {
    /// Adds `replica` to the routed ones if it is `ready`, else removes it, after the delay.
    pub(super) fn route(&self, replica: &Replica, ready: bool) {
        let (routed, replica) = (self.routed.clone(), replica.clone());
        let change = move || {
            routed.send_if_modified(|all| {
                let before = all.len();
                all.retain(|one| one.name() != replica.name());
                all.extend(ready.then_some(replica));
                all.len() != before
            });
        };
        let delay = *lock(&self.delay);
        match background() {
            Ok(runtime) if !delay.is_zero() => drop(runtime.spawn(async move {
                tokio::time::sleep(delay).await;
                change();
            })),
            _ => change(),
        }
    }

    pub(super) fn routed(&self) -> Vec<SocketAddr> {
        self.routed.borrow().iter().filter_map(Replica::name).collect()
    }

    pub(super) async fn wait_for(&self, count: usize) {
        // `self` owns the sender, so the wait cannot fail.
        let _ = self.routed.subscribe().wait_for(|all| all.len() == count).await;
    }

    pub(super) fn set_delay(&self, delay: Duration) {
        *lock(&self.delay) = delay;
    }

    /// Keeps the task that probes `replica`, and aborts an earlier one.
    pub(super) fn watched(&self, replica: &Replica, watch: AbortHandle) {
        if let Some(earlier) = lock(&self.watched).insert(replica.name(), watch) {
            earlier.abort();
        }
    }

    pub(super) fn unwatched(&self, replica: &Replica) {
        if let Some(watch) = lock(&self.watched).remove(&replica.name()) {
            watch.abort();
        }
    }

    pub(super) fn unwatch_all(&self) {
        lock(&self.watched).drain().for_each(|(_, watch)| watch.abort());
    }

    fn choose(&self, port: usize, turn: usize) -> Option<SocketAddr> {
        let routed = self.routed.borrow();
        routed.get(turn.checked_rem(routed.len())?)?.0.get(port).copied()
    }
}

impl Replica {
    fn name(&self) -> Option<SocketAddr> {
        self.0.first().copied()
    }
}

impl<const PORTS: usize> From<[SocketAddr; PORTS]> for Replica {
    fn from(addresses: [SocketAddr; PORTS]) -> Self {
        Self(Arc::from(addresses))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
