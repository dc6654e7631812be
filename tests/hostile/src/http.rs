//! Arbitrary bytes in place of an HTTP request.

mod server;

use std::io::{self, Read, Write};

/// The allowed statuses: of hyper, of the server, and of a hook.
const STATUSES: [&str; 12] =
    ["200", "400", "404", "405", "408", "411", "413", "414", "415", "417", "429", "431"];

/// The input is all that a client sends over TLS.
///
/// The server returns complete responses with short bodies of its own text, which quote nothing of the input. The connection
/// ends, and the server continues.
pub fn http(input: &[u8]) {
    let answers = match answers(input) {
        Ok(answers) => answers,
        // A reset means that the server closed the connection with unread bytes.
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return,
        Err(error) => panic!("the server does not answer: {error}"),
    };
    let heads = input.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"HEAD "));
    let mut rest = &answers[..];
    while !rest.is_empty() {
        let end = rest.windows(4).position(|window| window == b"\r\n\r\n").expect("a whole head");
        let head = std::str::from_utf8(&rest[..end]).expect("a head of text");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.")).expect("a status line");
        let status = &status[2..5];
        assert!(STATUSES.contains(&status) || status.starts_with('5') || status == "100", "{head}");
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then(|| value.parse().expect("a length"))
        });
        let body = rest.get(end + 4..).unwrap_or_default();
        // A response to HEAD has a length but no body: the end or the next response follows.
        let of_a_head = heads && (body.is_empty() || body.starts_with(b"HTTP/1."));
        let length = if of_a_head { 0 } else { length.unwrap_or(0) };
        let (body, after) = body.split_at_checked(length).expect("a whole body");
        if status != "200" {
            assert!(body.len() < 300 && !quotes(body, input), "{head}");
        }
        rest = after;
    }
}

/// Whether the body contains 12 consecutive digits of the input.
fn quotes(body: &[u8], input: &[u8]) -> bool {
    let own = |window: &&[u8]| window.iter().all(u8::is_ascii_digit);
    input.windows(12).filter(own).any(|window| body.windows(12).any(|other| other == window))
}

/// The bytes that the server sends until it closes the connection.
fn answers(input: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = server::connect()?;
    // Without bytes to send, rustls does not start the handshake.
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    // The server may close the connection before it has read everything.
    let _ = stream.write_all(input);
    stream.conn.send_close_notify();
    let _ = stream.flush();
    let mut answers = Vec::new();
    match stream.read_to_end(&mut answers) {
        // The socket may be closed without `close_notify`.
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(answers),
    }
}
