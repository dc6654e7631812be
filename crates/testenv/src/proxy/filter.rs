//! Decides which parts of a connection the proxy delays, holds and cuts.

use std::collections::HashSet;

use bytes::{Bytes, BytesMut};

use super::frames::{Frame, Frames, Kind};

pub(super) enum Filter {
    /// All bytes are affected.
    Everything,
    /// Only the answers to some watches of etcd are affected: gRPC over HTTP/2 in plain text.
    Watches(Watches),
}

/// How a piece is forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// At once.
    Immediate,
    /// At once, after all queued pieces.
    Flush,
    /// Through the queue, after the delay.
    Queued,
}

/// The streams of one connection whose answers are affected.
pub(super) struct Watches {
    prefixes: &'static [&'static str],
    streams: HashSet<u32>,
    from_client: Frames,
    from_server: Frames,
}

impl Filter {
    pub(super) fn watches(prefixes: &'static [&'static str]) -> Self {
        Self::Watches(Watches {
            prefixes,
            streams: HashSet::new(),
            from_client: Frames::of_a_client(),
            from_server: Frames::of_a_server(),
        })
    }

    /// Whether this connection is affected.
    pub(super) fn affects_any(&self) -> bool {
        match self {
            Self::Everything => true,
            Self::Watches(watches) => !watches.streams.is_empty(),
        }
    }

    /// The next complete piece from the client.
    pub(super) fn client_to_server(&mut self, buffer: &mut BytesMut) -> Option<(Bytes, Passage)> {
        match self {
            Self::Everything => all(buffer),
            Self::Watches(watches) => {
                let frame = watches.from_client.next(buffer)?;
                watches.note(&frame);
                Some((frame.bytes, Passage::Immediate))
            }
        }
    }

    /// The next complete piece from the server.
    pub(super) fn server_to_client(&mut self, buffer: &mut BytesMut) -> Option<(Bytes, Passage)> {
        match self {
            Self::Everything => all(buffer),
            Self::Watches(watches) => {
                let frame = watches.from_server.next(buffer)?;
                let passage = watches.passage(&frame);
                Some((frame.bytes, passage))
            }
        }
    }
}

impl Watches {
    /// Notes a watch: a call for a key below a prefix whose client side stays open. A read has ended its client side
    /// before it is answered.
    fn note(&mut self, frame: &Frame) {
        if frame.ends_stream || frame.kind == Kind::Reset {
            self.streams.remove(&frame.stream);
        } else if frame.kind == Kind::Data && self.prefixes.iter().any(|prefix| frame.contains(prefix)) {
            self.streams.insert(frame.stream);
        }
    }

    /// Headers must stay in order (RFC 7541, 2.2: all streams of a connection share one compression table), so headers
    /// that end a stream flush the queue.
    fn passage(&mut self, frame: &Frame) -> Passage {
        if !self.streams.contains(&frame.stream) {
            return Passage::Immediate;
        }
        match frame.kind {
            Kind::Data => Passage::Queued,
            Kind::Headers if !frame.ends_stream => Passage::Immediate,
            Kind::Headers | Kind::Reset => {
                self.streams.remove(&frame.stream);
                Passage::Flush
            }
            Kind::Other => Passage::Immediate,
        }
    }
}

fn all(buffer: &mut BytesMut) -> Option<(Bytes, Passage)> {
    (!buffer.is_empty()).then(|| (buffer.split().freeze(), Passage::Queued))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::frames::tests::frame;

    const DATA: u8 = 0;
    const HEADERS: u8 = 1;
    const PING: u8 = 6;
    const END_STREAM: u8 = 1;

    fn filter() -> Filter {
        let mut filter = Filter::watches(&["/registry/doors/"]);
        let mut preface = BytesMut::from(&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..]);
        assert_eq!(filter.client_to_server(&mut preface).unwrap().1, Passage::Immediate);
        filter
    }

    fn ask(filter: &mut Filter, flags: u8, stream: u32, payload: &[u8]) {
        let mut buffer = frame(DATA, flags, stream, payload);
        assert_eq!(filter.client_to_server(&mut buffer).unwrap().1, Passage::Immediate);
    }

    fn answer(filter: &mut Filter, kind: u8, flags: u8, stream: u32) -> Passage {
        filter.server_to_client(&mut frame(kind, flags, stream, b"/registry/doors/front")).unwrap().1
    }

    #[test]
    fn only_data_of_the_watch_is_affected() {
        let mut filter = filter();
        ask(&mut filter, END_STREAM, 1, b"..../registry/doors/..");
        ask(&mut filter, 0, 3, b"..../registry/doors/..");
        ask(&mut filter, 0, 5, b"..../registry/windows/..");
        assert!(filter.affects_any());
        let passages = [(DATA, 1), (DATA, 3), (DATA, 5), (HEADERS, 3), (PING, 0)];
        let passages = passages.map(|(kind, stream)| answer(&mut filter, kind, 0, stream));
        assert_eq!(
            passages,
            [Passage::Immediate, Passage::Queued, Passage::Immediate, Passage::Immediate, Passage::Immediate]
        );
    }

    #[test]
    fn the_end_of_a_watch_flushes_the_queue() {
        let mut filter = filter();
        ask(&mut filter, 0, 3, b"/registry/doors/");
        assert_eq!(answer(&mut filter, HEADERS, END_STREAM, 3), Passage::Flush);
        assert!(!filter.affects_any());
    }
}
