//! One connection.

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
use super::{State, Weather};

/// Carries what `client` and `server` say, until both have ended or the connection is cut: once more than the `cuts`
/// that there were when the client came, or where the `allowance` ends.
pub(super) async fn carry(
    client: TcpStream,
    server: TcpStream,
    filter: Filter,
    allowance: &Allowance,
    (weather, cuts): (watch::Receiver<Weather>, usize),
) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let filter = Mutex::new(filter);
    tokio::select! {
        // First, and in this order: what arrives together with a cut is lost.
        biased;
        () = cut(&filter, weather.clone(), cuts) => Ok(()),
        ends = async {
            tokio::try_join!(
                upward(from_client, to_server, &filter, weather.clone()),
                downward(from_server, to_client, &filter, (allowance, weather.clone())),
            )
        } => ends.map(drop),
    }
}

async fn upward(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    filter: &Mutex<Filter>,
    mut weather: watch::Receiver<Weather>,
) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    while client.read_buf(&mut buffer).await? > 0 {
        while let Some((piece, passage)) = with(filter, |filter| filter.upward(&mut buffer)) {
            if passage == Passage::Weather {
                let carrying = weather.wait_for(|weather| weather.state == State::Carrying).await;
                carrying.map_err(io::Error::other)?;
            }
            server.write_all(&piece).await?;
        }
    }
    server.shutdown().await
}

async fn downward(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    filter: &Mutex<Filter>,
    (allowance, weather): (&Allowance, watch::Receiver<Weather>),
) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    let mut delivery = Delivery::new(weather);
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
        while let Some((piece, passage)) = with(filter, |filter| filter.downward(&mut buffer)) {
            match passage {
                Passage::Weather => delivery.add(Instant::now(), piece),
                Passage::Free => client.write_all(&piece).await?,
                Passage::AfterAll => {
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

/// Waits for a cut that concerns this connection.
async fn cut(filter: &Mutex<Filter>, mut weather: watch::Receiver<Weather>, mut seen: usize) {
    while let Ok(now) = weather.wait_for(|weather| weather.cuts > seen).await.map(|weather| weather.cuts) {
        if with(filter, |filter| filter.affects_any()) {
            return;
        }
        seen = now;
    }
}

fn with<T>(filter: &Mutex<Filter>, act: impl FnOnce(&mut Filter) -> T) -> T {
    act(&mut filter.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_cut_while_the_server_is_dialled_ends_the_connection() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let [client, server] = [(); 2].map(|()| TcpStream::connect(address));
        let (client, server) = (client.await.unwrap(), server.await.unwrap());
        let over = watch::Sender::new(Weather { cuts: 1, ..Weather::default() });
        // Both ends stay open: without the cut, it would go on for ever.
        carry(client, server, Filter::everything(), &Allowance::default(), (over.subscribe(), 0))
            .await
            .unwrap();
    }
}
