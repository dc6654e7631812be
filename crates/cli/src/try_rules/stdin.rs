//! Reads an object from a pipe when no file is named.

use std::io::{self, IsTerminal};
use std::sync::mpsc;
use std::time::Duration;

use vestibule_command::CommandError;

use crate::{files, say};

/// After this time without an end of the input, a notice says that stdin is being read.
const NOTICE_AFTER: Duration = Duration::from_secs(2);

/// The text of a pipe or a file on stdin; none from a terminal, a device or nothing at all.
pub(super) fn text() -> Result<Option<String>, CommandError> {
    let stdin = io::stdin();
    if stdin.is_terminal() || !is_pipe_or_file(&stdin) {
        return Ok(None);
    }
    // Without the notice, the command would wait for an open pipe in silence.
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(io::read_to_string(io::stdin())));
    let read = receive.recv_timeout(NOTICE_AFTER).or_else(|_| {
        say("reading objects from stdin, which has not ended yet; `vestibule try < /dev/null` shows the sample");
        receive.recv()
    });
    let text = read.map_err(CommandError::running)?.map_err(|error| files::unreadable("stdin", &error))?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

#[cfg(unix)]
fn is_pipe_or_file(stdin: &io::Stdin) -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;

    let file = stdin.as_fd().try_clone_to_owned().map(std::fs::File::from);
    let kind = file.and_then(|file| file.metadata()).map(|metadata| metadata.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_file() || kind.is_socket())
}

#[cfg(not(unix))]
fn is_pipe_or_file(_: &io::Stdin) -> bool {
    true
}
