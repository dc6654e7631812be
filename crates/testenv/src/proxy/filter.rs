//! What of a connection the weather affects.

use std::collections::HashSet;

use bytes::{Bytes, BytesMut};

use super::frames::{Frame, Frames, Kind};

pub(super) enum Filter {
    /// All bytes.
    Everything,
    /// The answers to some watches of etcd: gRPC in HTTP/2 in plain text.
    Watches(Watches),
}

/// How a piece gets to the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// At once.
    Free,
    /// At once, and all that waits before it.
    AfterAll,
    /// When the weather allows.
    Weather,
}

/// The streams of one connection whose answers are affected.
pub(super) struct Watches {
    prefixes: &'static [&'static str],
    streams: HashSet<u32>,
    from_client: Frames,
    from_server: Frames,
}

impl Filter {
    pub(super) fn everything() -> Self {
        Self::Everything
    }

    pub(super) fn watches(prefixes: &'static [&'static str]) -> Self {
        Self::Watches(Watches {
            prefixes,
            streams: HashSet::new(),
            from_client: Frames::of_a_client(),
            from_server: Frames::of_a_server(),
        })
    }

    /// Whether every connection is affected, whatever it carries.
    pub(super) fn affects_all(&self) -> bool {
        matches!(self, Self::Everything)
    }

    /// Whether this connection carries something that is affected.
    pub(super) fn affects_any(&self) -> bool {
        match self {
            Self::Everything => true,
            Self::Watches(watches) => !watches.streams.is_empty(),
        }
    }

    /// The next whole piece of what the client has said.
    pub(super) fn upward(&mut self, buffer: &mut BytesMut) -> Option<(Bytes, Passage)> {
        match self {
            Self::Everything => all(buffer),
            Self::Watches(watches) => {
                let frame = watches.from_client.next(buffer)?;
                watches.note(&frame);
                Some((frame.bytes, Passage::Free))
            }
        }
    }

    /// The next whole piece of what the server has said.
    pub(super) fn downward(&mut self, buffer: &mut BytesMut) -> Option<(Bytes, Passage)> {
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
    /// A call that asks for something below a prefix and goes on asking is a watch: a
    /// reading call has ended its side when it is answered.
    fn note(&mut self, frame: &Frame) {
        if frame.ends_stream || frame.kind == Kind::Reset {
            self.streams.remove(&frame.stream);
        } else if frame.kind == Kind::Data && self.prefixes.iter().any(|prefix| frame.contains(prefix)) {
            self.streams.insert(frame.stream);
        }
    }

    /// Headers may not overtake one another (RFC 7541, 2.2: both sides keep one table for
    /// all streams of the connection), so those that end a stream take the rest with them.
    fn passage(&mut self, frame: &Frame) -> Passage {
        if !self.streams.contains(&frame.stream) {
            return Passage::Free;
        }
        match frame.kind {
            Kind::Data => Passage::Weather,
            Kind::Headers if !frame.ends_stream => Passage::Free,
            Kind::Headers | Kind::Reset => {
                self.streams.remove(&frame.stream);
                Passage::AfterAll
            }
            Kind::Other => Passage::Free,
        }
    }
}

fn all(buffer: &mut BytesMut) -> Option<(Bytes, Passage)> {
    (!buffer.is_empty()).then(|| (buffer.split().freeze(), Passage::Weather))
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
        assert_eq!(filter.upward(&mut preface).unwrap().1, Passage::Free);
        filter
    }

    fn ask(filter: &mut Filter, flags: u8, stream: u32, payload: &[u8]) {
        let mut buffer = frame(DATA, flags, stream, payload);
        assert_eq!(filter.upward(&mut buffer).unwrap().1, Passage::Free);
    }

    fn answer(filter: &mut Filter, kind: u8, flags: u8, stream: u32) -> Passage {
        filter.downward(&mut frame(kind, flags, stream, b"/registry/doors/front")).unwrap().1
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
        assert_eq!(passages, [Passage::Free, Passage::Weather, Passage::Free, Passage::Free, Passage::Free]);
    }

    #[test]
    fn the_end_of_a_watch_takes_along_what_waits() {
        let mut filter = filter();
        ask(&mut filter, 0, 3, b"/registry/doors/");
        assert_eq!(answer(&mut filter, HEADERS, END_STREAM, 3), Passage::AfterAll);
        assert!(!filter.affects_any());
    }
}
