//! One connection to a server, with one request at a time: HTTP/1.1 over TLS 1.3, with as little work as possible.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, bail};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::certificates::NAME;

/// Header fields that are parsed.
const HEADERS: usize = 32;

/// The address of a server, and how to connect to it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) config: Arc<ClientConfig>,
}

/// A connection after its handshake.
pub(crate) struct Connection {
    stream: TlsStream<TcpStream>,
    received: Vec<u8>,
}

/// The answer to one request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// The seconds of `Retry-After`.
    pub(crate) retry_after: Option<u64>,
    /// Whether the server closes the connection after it.
    pub(crate) closes: bool,
}

/// The head of an answer.
struct Head {
    status: u16,
    length: Option<usize>,
    retry_after: Option<u64>,
    closes: bool,
    /// The bytes of the head.
    size: usize,
}

impl Target {
    /// Connects and does the handshake.
    pub(crate) async fn connect(&self) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(self.address).await.context("connect")?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from(NAME)?;
        let stream =
            TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await.context("handshake")?;
        Ok(Connection { stream, received: Vec::with_capacity(16 << 10) })
    }
}

/// The bytes of a request to `path`.
pub(crate) fn request(path: &str, body: &str) -> Vec<u8> {
    let head = format!(
        "POST {path}?timeout=10s HTTP/1.1\r\nhost: {NAME}\r\nuser-agent: kube-apiserver-admission\r\n\
         content-length: {}\r\naccept: application/json, */*\r\ncontent-type: application/json\r\n\
         accept-encoding: gzip\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

impl Connection {
    /// Sends `request` and reads the whole answer.
    pub(crate) async fn call(&mut self, request: &[u8]) -> anyhow::Result<Answer> {
        self.stream.write_all(request).await.context("write")?;
        self.stream.flush().await.context("flush")?;
        let head = loop {
            self.read().await?;
            if let Some(head) = head(&self.received)? {
                break head;
            }
        };
        self.received.drain(..head.size);
        let body = match head.length {
            Some(length) => {
                while self.received.len() < length {
                    self.read().await?;
                }
                self.received.drain(..length).collect()
            }
            None => self.chunks().await?,
        };
        let Head { status, retry_after, closes, .. } = head;
        Ok(Answer { status, body, retry_after, closes })
    }

    /// The key exchange of the handshake.
    pub(crate) fn key_exchange(&self) -> String {
        let group = self.stream.get_ref().1.negotiated_key_exchange_group();
        group.map_or_else(|| "unknown".to_owned(), |group| format!("{:?}", group.name()))
    }

    /// The certificate that the server showed.
    pub(crate) fn certificate(&self) -> Vec<u8> {
        let chain = self.stream.get_ref().1.peer_certificates();
        chain.and_then(|chain| chain.first()).map(|leaf| leaf.to_vec()).unwrap_or_default()
    }

    async fn read(&mut self) -> anyhow::Result<()> {
        match self.stream.read_buf(&mut self.received).await.context("read")? {
            0 => bail!("the server closed the connection before its answer"),
            _ => Ok(()),
        }
    }

    /// A body in chunks, without trailers.
    async fn chunks(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let (start, size) = match httparse::parse_chunk_size(&self.received) {
                Ok(httparse::Status::Complete((start, size))) => (start, usize::try_from(size)?),
                Ok(httparse::Status::Partial) => {
                    self.read().await?;
                    continue;
                }
                Err(_) => bail!("the size of a chunk"),
            };
            let end = start + size + 2;
            while self.received.len() < end {
                self.read().await?;
            }
            body.extend_from_slice(self.received.get(start..start + size).unwrap_or_default());
            self.received.drain(..end);
            if size == 0 {
                return Ok(body);
            }
        }
    }
}

fn head(received: &[u8]) -> anyhow::Result<Option<Head>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(size) = response.parse(received)? else { return Ok(None) };
    let status = response.code.context("no status")?;
    let field = |name: &str| {
        let header = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        str::from_utf8(header.value).ok()
    };
    let length = field("content-length").map(str::parse).transpose().context("content-length")?;
    let is_chunked = field("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    if length.is_none() && !is_chunked {
        bail!("an answer with neither a length nor chunks");
    }
    let closes = field("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    let retry_after = field("retry-after").and_then(|value| value.parse().ok());
    Ok(Some(Head { status, length, retry_after, closes, size }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_when_they_are_complete() {
        let text =
            b"HTTP/1.1 429 Too Many\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno";
        assert!(head(&text[..40]).unwrap().is_none());
        let head = head(text).unwrap().unwrap();
        assert_eq!((head.status, head.length, head.retry_after, head.closes), (429, Some(2), Some(1), true));
        assert_eq!(&text[head.size..], b"no");
    }

    #[test]
    fn an_answer_without_an_end_is_an_error() {
        assert!(head(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        let chunked = head(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").unwrap().unwrap();
        assert_eq!(chunked.length, None);
    }
}
