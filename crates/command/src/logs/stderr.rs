//! Writes log lines to stderr without waiting for its reader.
//!
//! The threads that log also answer calls and probes. When the pipe is full, a line is kept in memory, and a thread of its own
//! writes it as soon as the reader goes on. Lines beyond 256 KiB are dropped and counted, and a line in the log tells the
//! number. [`NonBlockingWriter::finish`] waits for kept lines at the end of a process.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// `PIPE_BUF` of Linux: a pipe that `poll` calls writable takes this many bytes without blocking.
const MAX_WRITE: usize = 4096;
/// The bytes of all kept lines: about a thousand lines.
const MAX_KEPT: usize = 256 << 10;
/// A timeout of zero makes `poll` return at once.
const NO_TIME: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Writes lines to an [`Output`], and never blocks the thread that logs them.
pub(super) struct NonBlockingWriter<O>(Arc<Shared<O>>);

/// A file descriptor, or a test's script of one.
pub(super) trait Output: Send + Sync + 'static {
    /// Whether a write would not block. With `wait` it returns only then, or when the output has failed (`false`).
    fn is_writable(&self, wait: bool) -> bool;

    /// Writes a part of `bytes`, and returns its length.
    fn write(&self, bytes: &[u8]) -> rustix::io::Result<usize>;
}

struct Shared<O> {
    output: O,
    /// Makes the line with the number of missing lines.
    missing_line: fn(u64) -> String,
    state: Mutex<State>,
    /// Notified when no line is kept any more.
    drained: Condvar,
}

#[derive(Default)]
struct State {
    kept: VecDeque<u8>,
    /// Lines dropped since their number was last logged.
    missing: u64,
    /// A thread writes the kept lines, and no other thread writes meanwhile.
    is_draining: bool,
    /// The output failed in the middle of a line. The next line is written after a line break.
    is_cut_off: bool,
}

impl<O: Output> NonBlockingWriter<O> {
    pub(super) fn new(output: O, missing_line: fn(u64) -> String) -> Self {
        let (state, drained) = (Mutex::default(), Condvar::new());
        Self(Arc::new(Shared { output, missing_line, state, drained }))
    }

    /// Returns when the kept lines are written, or after `timeout`.
    pub(super) fn finish(&self, timeout: Duration) {
        let state = self.0.state();
        drop(self.0.drained.wait_timeout_while(state, timeout, |state| state.is_draining));
    }

    /// Writes or keeps `line`; `false` if it is dropped.
    fn accept(&self, state: &mut State, line: &[u8]) -> bool {
        if state.is_draining {
            let has_room = state.kept.len() + line.len() <= MAX_KEPT;
            state.kept.extend(has_room.then_some(line).into_iter().flatten());
            return has_room;
        }
        let text = if state.is_cut_off { Cow::Owned([b"\n", line].concat()) } else { Cow::Borrowed(line) };
        let mut rest = &*text;
        while !rest.is_empty() {
            match self.0.attempt(rest, false) {
                Ok(0) => break,
                Ok(count) => rest = state.advance(rest, count),
                Err(_) => return false,
            }
        }
        // The end of a line whose beginning is written is kept, however long it is.
        let is_begun = rest.len() < text.len();
        let fits = is_begun || rest.len() <= MAX_KEPT;
        let is_kept = !rest.is_empty() && fits && self.0.start_draining();
        if is_kept {
            // The thread that drains waits for the lock.
            state.is_draining = true;
            state.kept.extend(rest);
        }
        is_kept || rest.is_empty()
    }
}

impl<O: Output> Write for &NonBlockingWriter<O> {
    /// Takes a whole line, as the formatter makes it. It never fails: the error would be logged here again.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.0.state();
        if state.missing > 0 {
            let missing_line = (self.0.missing_line)(state.missing);
            if self.accept(&mut state, missing_line.as_bytes()) {
                state.missing = 0;
            }
        }
        if state.missing > 0 || !self.accept(&mut state, line) {
            state.missing += 1;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<O: Output> Shared<O> {
    /// Starts the thread that writes the kept lines; `false` if the system has no thread left.
    fn start_draining(self: &Arc<Self>) -> bool {
        let shared = Arc::clone(self);
        std::thread::Builder::new().name("log".to_owned()).spawn(move || shared.drain()).is_ok()
    }

    /// Writes kept lines as fast as they are read, until none is left or the output fails.
    fn drain(&self) {
        let mut part = Vec::with_capacity(MAX_WRITE);
        let mut state = self.state();
        while state.next_part(self.missing_line, &mut part) {
            // No thread that logs waits for this write.
            drop(state);
            let written = self.attempt(&part, true);
            state = self.state();
            let Ok(count) = written else {
                let dropped = state.kept.iter().filter(|byte| **byte == b'\n').count();
                state.missing += u64::try_from(dropped).unwrap_or(u64::MAX);
                break;
            };
            state.advance(&part, count);
            state.kept.drain(..count);
        }
        (state.kept, state.is_draining) = (VecDeque::new(), false);
        self.drained.notify_all();
    }

    /// Writes a part of `bytes`, and returns its length; 0 if the write would block. An error is for good.
    fn attempt(&self, bytes: &[u8], wait: bool) -> rustix::io::Result<usize> {
        if !self.output.is_writable(wait) {
            return if wait { Err(Errno::IO) } else { Ok(0) };
        }
        match self.output.write(&bytes[..bytes.len().min(MAX_WRITE)]) {
            Ok(0) => Err(Errno::IO),
            Err(Errno::INTR | Errno::AGAIN) => Ok(0),
            written => written,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Copies the next kept bytes into `part`; `false` if there are none.
    fn next_part(&mut self, missing_line: fn(u64) -> String, part: &mut Vec<u8>) -> bool {
        if self.kept.is_empty() && self.missing > 0 {
            self.kept.extend(missing_line(self.missing).as_bytes());
            self.missing = 0;
        }
        part.clear();
        part.extend(self.kept.iter().take(MAX_WRITE));
        !part.is_empty()
    }

    /// Returns `bytes` without the first `count`, which are written now.
    fn advance<'b>(&mut self, bytes: &'b [u8], count: usize) -> &'b [u8] {
        let (written, rest) = bytes.split_at(count.min(bytes.len()));
        // A write that would block writes nothing, and the line before stays cut off.
        self.is_cut_off = written.last().map_or(self.is_cut_off, |byte| *byte != b'\n');
        rest
    }
}

impl<F: AsFd + Send + Sync + 'static> Output for F {
    fn is_writable(&self, wait: bool) -> bool {
        let timeout = (!wait).then_some(&NO_TIME);
        loop {
            match poll(&mut [PollFd::new(self, PollFlags::OUT)], timeout) {
                // A broken pipe is ready too: the write fails.
                Ok(ready) => return ready > 0,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    fn write(&self, bytes: &[u8]) -> rustix::io::Result<usize> {
        rustix::io::write(self, bytes)
    }
}
