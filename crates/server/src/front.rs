//! From accept to close, one connection after another.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_rustls::server::TlsStream;

use crate::client::Peer;
use crate::close_reason::CloseReason;
use crate::connection::{self, Respond};
use crate::hooks::{Hooks, Visit};
use crate::load::Places;
use crate::newcomers::Newcomers;
use crate::observer::Observer;
use crate::settings::Settings;
use crate::shutdown::{Phase, Phases};
use crate::tls::Handshakes;

/// The pause after an accept that failed, most often for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// While all places are taken, who could leave is looked for anew so often.
const ROOM_PAUSE: Duration = Duration::from_millis(500);

/// Serves whoever comes, each on a task of its own, so that nobody waits for another's handshake.
pub(crate) async fn accept<A: Attend>(
    listener: &TcpListener,
    attendant: &Arc<A>,
    connections: &Places,
    phases: &Phases,
) {
    loop {
        let permit = place(attendant, connections).await;
        let Ok((stream, peer)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Whoever comes by IPv4 is known by that.
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let attendant = Arc::clone(attendant);
        let phases = phases.clone();
        tokio::spawn(async move {
            let _permit = permit;
            // Answers are written whole: waiting for more to send only delays them.
            let _ = stream.set_nodelay(true);
            let over = phases.clone();
            tokio::select! {
                () = over.reached(Phase::Over) => {}
                () = attendant.attend(stream, peer, phases) => {}
            }
        });
    }
}

/// One that is free, or that somebody leaves for others.
async fn place<A: Attend>(attendant: &Arc<A>, connections: &Places) -> Option<OwnedSemaphorePermit> {
    loop {
        if let Ok(permit) = Arc::clone(&connections.free).try_acquire_owned() {
            return Some(permit);
        }
        attendant.make_room();
        // Where nobody can be asked to leave now, somebody may be later.
        if let Ok(permit) = timeout(ROOM_PAUSE, Arc::clone(&connections.free).acquire_owned()).await {
            return permit.ok();
        }
    }
}

/// Looks after one connection from accept to close.
pub(crate) trait Attend: Send + Sync + 'static {
    /// Asks somebody to leave, where there is anybody who can be asked.
    fn make_room(&self) {}

    fn attend(&self, stream: TcpStream, peer: SocketAddr, phases: Phases) -> impl Future<Output = ()> + Send;
}

/// The HTTPS port.
pub(crate) struct Front {
    pub(crate) handshakes: Handshakes,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) lingering: Semaphore,
}

/// The plain port.
pub(crate) struct Plain<R> {
    pub(crate) responder: Arc<R>,
    pub(crate) newcomers: Newcomers,
    pub(crate) settings: Arc<Settings>,
    pub(crate) lingering: Semaphore,
}

impl Attend for Front {
    fn make_room(&self) {
        self.hooks.limits.unasked.make_room();
    }

    async fn attend(&self, stream: TcpStream, address: SocketAddr, phases: Phases) {
        let _connected = self.hooks.limits.connected.one();
        let mut ending = Ending { observer: &*self.hooks.observer, reason: CloseReason::Drain };
        let welcome = tokio::select! {
            welcome = self.welcome(stream) => welcome,
            () = phases.reached(Phase::Stopping) => return,
        };
        ending.reason = match welcome {
            Ok((stream, peer)) => {
                let visit = Visit { hooks: Arc::clone(&self.hooks), peer };
                let arrival = Some(self.hooks.limits.unasked.arrive());
                connection::serve(stream, arrival, Arc::new(visit), &self.settings, &self.lingering, phases)
                    .await
            }
            Err((reason, words)) => {
                self.hooks.observer.handshake_failed(address, &words);
                reason
            }
        };
    }
}

impl Front {
    /// The handshake, or why there was none.
    async fn welcome(
        &self,
        stream: TcpStream,
    ) -> Result<(Box<TlsStream<TcpStream>>, Peer), (CloseReason, String)> {
        let (limits, time) = (&self.hooks.limits, self.settings.handshake_timeout);
        let slow = |words: &str| (CloseReason::SlowHandshake, words.to_owned());
        let newcomer = limits.newcomers.arrive();
        let handshake = async {
            if timeout(time / 2, newcomer.speaks(&stream)).await.is_err() {
                return Err(slow("it did not begin"));
            }
            let turn = limits.handshake_turns.next().await;
            // Gone with the handshake, where a part of this future would stay as long as the connection.
            let accepted = Box::pin(self.handshakes.accept(stream));
            let welcome = limits.handshake_turns.take(accepted, turn, &mut ()).await;
            welcome.map_err(|error| (CloseReason::Handshake, error.to_string()))
        };
        tokio::select! {
            biased;
            welcome = timeout(time, handshake) => welcome.unwrap_or_else(|_| Err(slow("it took too long"))),
            () = newcomer.leaves() => Err(slow("it was not done when others came")),
        }
    }
}

/// Tells why a connection ended; whatever is dropped before that is known, was cut off by the end of the server.
struct Ending<'a> {
    observer: &'a dyn Observer,
    reason: CloseReason,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.observer.closed(self.reason);
    }
}

impl<R: Respond> Attend for Plain<R> {
    async fn attend(&self, stream: TcpStream, _peer: SocketAddr, phases: Phases) {
        let newcomer = self.newcomers.arrive();
        let visit = async {
            if timeout(self.settings.head_timeout, newcomer.speaks(&stream)).await.is_ok() {
                let responder = Arc::clone(&self.responder);
                connection::serve(stream, None, responder, &self.settings, &self.lingering, phases).await;
            }
        };
        tokio::select! {
            () = visit => {}
            // kubelet connects anew for each probe, and a scraper does where it has to.
            () = newcomer.leaves() => {}
        }
    }
}
