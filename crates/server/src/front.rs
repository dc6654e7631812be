//! From accept to close, one connection after another.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::server::TlsStream;

use crate::client::Peer;
use crate::close_reason::CloseReason;
use crate::connection::{self, Respond};
use crate::hooks::{Hooks, Visit};
use crate::load::Places;
use crate::observer::Observer;
use crate::settings::Settings;
use crate::shutdown::{Phase, Phases};
use crate::tls::Handshakes;

/// The pause after an accept that failed, most often for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves whoever comes, each on a task of its own, so that nobody waits for another's handshake.
pub(crate) async fn accept<A: Attend>(
    listener: &TcpListener,
    attendant: &Arc<A>,
    connections: &Places,
    phases: &Phases,
) {
    // The semaphore is never closed.
    while let Ok(permit) = Arc::clone(&connections.free).acquire_owned().await {
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

/// Looks after one connection from accept to close.
pub(crate) trait Attend: Send + Sync + 'static {
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
    pub(crate) settings: Arc<Settings>,
    pub(crate) lingering: Semaphore,
}

impl Attend for Front {
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
                connection::serve(stream, Arc::new(visit), &self.settings, &self.lingering, phases).await
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
        connection::serve(stream, Arc::clone(&self.responder), &self.settings, &self.lingering, phases).await;
    }
}
