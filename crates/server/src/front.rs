//! From accept to close, one connection after another.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::server::TlsStream;

use crate::client::Peer;
use crate::close_reason::CloseReason;
use crate::connection::{self, Respond};
use crate::hooks::{Hooks, Visit};
use crate::load::Places;
use crate::newcomers::Crowded;
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
}

/// The plain port.
pub(crate) struct Plain<R> {
    pub(crate) responder: Arc<R>,
    pub(crate) settings: Arc<Settings>,
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
                connection::serve(stream, Arc::new(visit), &self.settings, phases).await
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
    ) -> Result<(TlsStream<TcpStream>, Peer), (CloseReason, String)> {
        let limits = &self.hooks.limits;
        let mut newcomer = limits.newcomers.arrive();
        let handshake = async {
            newcomer.speaks(&stream).await?;
            let turn = limits.handshake_turns.next().await;
            Ok(limits.handshake_turns.take(self.handshakes.accept(stream), turn, &mut ()).await)
        };
        match timeout(self.settings.handshake_timeout, handshake).await {
            Ok(Ok(Ok(welcome))) => Ok(welcome),
            Ok(Ok(Err(error))) => Err((CloseReason::Handshake, error.to_string())),
            Ok(Err(Crowded)) => {
                Err((CloseReason::SlowHandshake, "it had not begun when others came".to_owned()))
            }
            Err(_) => Err((CloseReason::SlowHandshake, "it took too long".to_owned())),
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
        connection::serve(stream, Arc::clone(&self.responder), &self.settings, phases).await;
    }
}
