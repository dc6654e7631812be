//! Forwarding one connection in both directions.

use std::io;
use std::sync::{Mutex, PoisonError};

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::time::Instant;

use super::allowance::Allowance;
use super::delivery::Delivery;
use super::filter::{Filter, Passage};
use super::{Conditions, State};

/// Forwards bytes between `client` and `server` until both have closed their side, or until the connection is cut: by a
/// cut beyond the `cuts` that were counted when the client connected, or at the end of the `allowance`.
pub(super) async fn forward(
    client: TcpStream,
    server: TcpStream,
    filter: Filter,
    allowance: &Allowance,
    (conditions, cuts): (watch::Receiver<Conditions>, usize),
) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let filter = Mutex::new(filter);
    tokio::select! {
        // The cut is checked first: bytes that arrive together with it are lost.
        biased;
        () = cut(&filter, conditions.clone(), cuts) => Ok(()),
        ends = async {
            tokio::try_join!(
                client_to_server(from_client, to_server, &filter, conditions.clone()),
                server_to_client(from_server, to_client, &filter, (allowance, conditions.clone())),
            )
        } => ends.map(drop),
    }
}

async fn client_to_server(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    filter: &Mutex<Filter>,
    mut conditions: watch::Receiver<Conditions>,
) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    while client.read_buf(&mut buffer).await? > 0 {
        while let Some((piece, passage)) = locked(filter, |filter| filter.client_to_server(&mut buffer)) {
            if passage == Passage::Queued {
                let forwarding =
                    conditions.wait_for(|conditions| conditions.state == State::Forwarding).await;
                forwarding.map_err(io::Error::other)?;
            }
            server.write_all(&piece).await?;
        }
    }
    server.shutdown().await
}

async fn server_to_client(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    filter: &Mutex<Filter>,
    (allowance, conditions): (&Allowance, watch::Receiver<Conditions>),
) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    let mut delivery = Delivery::new(conditions);
    let mut ended = false;
    while !ended || !delivery.is_empty() {
        tokio::select! {
            read = server.read_buf(&mut buffer), if !ended && !delivery.is_full() => ended = read? == 0,
            () = delivery.due() => {
                if let Some(mut piece) = delivery.take() {
                    let withheld = piece.split_off(allowance.take(piece.len()));
                    client.write_all(&piece).await?;
                    if !withheld.is_empty() {
                        return Err(io::ErrorKind::ConnectionAborted.into());
                    }
                }
            }
        }
        while let Some((piece, passage)) = locked(filter, |filter| filter.server_to_client(&mut buffer)) {
            match passage {
                Passage::Queued => delivery.add(Instant::now(), piece),
                Passage::Immediate => client.write_all(&piece).await?,
                Passage::Flush => {
                    while let Some(earlier) = delivery.take() {
                        client.write_all(&earlier).await?;
                    }
                    client.write_all(&piece).await?;
                }
            }
        }
    }
    client.shutdown().await
}

/// Waits for a cut that affects this connection.
async fn cut(filter: &Mutex<Filter>, mut conditions: watch::Receiver<Conditions>, mut seen: usize) {
    while let Ok(now) =
        conditions.wait_for(|conditions| conditions.cuts > seen).await.map(|conditions| conditions.cuts)
    {
        if locked(filter, |filter| filter.affects_any()) {
            return;
        }
        seen = now;
    }
}

fn locked<T>(filter: &Mutex<Filter>, act: impl FnOnce(&mut Filter) -> T) -> T {
    act(&mut filter.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_cut_during_the_connect_to_the_server_ends_the_connection() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let [client, server] = [(); 2].map(|()| TcpStream::connect(address));
        let (client, server) = (client.await.unwrap(), server.await.unwrap());
        let conditions = watch::Sender::new(Conditions { cuts: 1, ..Conditions::default() });
        // Both ends stay open, so only the cut ends the call.
        forward(client, server, Filter::Everything, &Allowance::default(), (conditions.subscribe(), 0))
            .await
            .unwrap();
    }
}
