//! Splits an HTTP/2 connection (RFC 9113, 4.1) into frames.

use bytes::{Bytes, BytesMut};

/// Splits one direction of a connection into frames.
pub(super) struct Frames {
    preface: usize,
}

/// A frame and its stream. The client's connection preface is a frame of kind `Other`.
pub(super) struct Frame {
    pub(super) bytes: Bytes,
    pub(super) kind: Kind,
    pub(super) stream: u32,
    pub(super) ends_stream: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Headers,
    Reset,
    Other,
}

impl Frames {
    /// A client begins with `PRI * HTTP/2.0` and more (RFC 9113, 3.4).
    pub(super) fn of_a_client() -> Self {
        Self { preface: 24 }
    }

    pub(super) fn of_a_server() -> Self {
        Self { preface: 0 }
    }

    /// Takes the next frame, once it is complete.
    pub(super) fn next(&mut self, buffer: &mut BytesMut) -> Option<Frame> {
        const END_STREAM: u8 = 1;
        if self.preface > 0 {
            let preface = (buffer.len() >= self.preface).then(|| buffer.split_to(self.preface).freeze())?;
            self.preface = 0;
            return Some(Frame { bytes: preface, kind: Kind::Other, stream: 0, ends_stream: false });
        }
        let &[high, middle, low, kind, flags, a, b, c, d] = buffer.first_chunk()?;
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        let whole = HEADER + length;
        let kind = match kind {
            0 => Kind::Data,
            1 => Kind::Headers,
            3 => Kind::Reset,
            _ => Kind::Other,
        };
        let bytes = (buffer.len() >= whole).then(|| buffer.split_to(whole).freeze())?;
        Some(Frame {
            bytes,
            kind,
            // The highest bit is reserved.
            stream: u32::from_be_bytes([a, b, c, d]) & (u32::MAX >> 1),
            ends_stream: matches!(kind, Kind::Data | Kind::Headers) && flags & END_STREAM != 0,
        })
    }
}

impl Frame {
    pub(super) fn contains(&self, text: &str) -> bool {
        self.bytes.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

const HEADER: usize = 9;

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::proxy) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> BytesMut {
        let [_, length @ ..] = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let parts: [&[u8]; 4] = [&length, &[kind, flags], &stream.to_be_bytes(), payload];
        BytesMut::from(&parts.concat()[..])
    }

    #[test]
    fn frames_come_out_whole_however_they_arrive() {
        let sent = [frame(0, 1, 3, b"one"), frame(8, 0, 0, b""), frame(1, 0, 5, &[7; 300])].concat();
        let mut frames = Frames::of_a_server();
        let mut buffer = BytesMut::new();
        let mut seen = Vec::new();
        for byte in &sent {
            buffer.extend_from_slice(&[*byte]);
            seen.extend(frames.next(&mut buffer));
        }
        let fields: Vec<_> = seen.iter().map(|frame| (frame.kind, frame.stream, frame.ends_stream)).collect();
        assert_eq!(fields, [(Kind::Data, 3, true), (Kind::Other, 0, false), (Kind::Headers, 5, false)]);
        let bytes: Vec<_> = seen.iter().flat_map(|frame| frame.bytes.to_vec()).collect();
        assert_eq!(bytes, sent);
    }
}
