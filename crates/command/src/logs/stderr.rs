//! Writes log lines to stderr on a thread of its own.
//!
//! The threads that log also answer calls and probes: they add a line to memory, and wait neither for the system nor for the
//! reader of stderr. While many lines are logged, one write takes all lines of two milliseconds. Lines beyond 256 KiB are dropped
//! and counted, and a line in the log tells the number. [`BackgroundWriter::finish`] waits for the lines at the end of a process.

#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// The bytes of all lines in memory that are not being written: about a thousand lines.
const MAX_BUFFERED: usize = 256 << 10;
/// The pause between two writes. Each write costs a system call and a change of threads.
const PAUSE: Duration = Duration::from_millis(2);

/// Takes lines for an [`Output`], and never blocks the thread that logs them.
pub(super) struct BackgroundWriter<O>(Arc<Shared<O>>);

/// A file descriptor, or a test's script of one.
pub(super) trait Output: Send + Sync + 'static {
    /// Writes a part of `bytes`, and returns its length. It may wait for the reader.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
}

struct Shared<O> {
    output: O,
    /// Makes the line with the number of missing lines.
    missing_line: fn(u64) -> String,
    state: Mutex<State>,
    /// Notified when the thread that writes has something to do.
    work: Condvar,
    /// Notified when all lines are written.
    written: Condvar,
}

#[derive(Default)]
struct State {
    buffer: Vec<u8>,
    /// Lines dropped since their number was last logged.
    missing: u64,
    /// The number of dropped lines that the first line of the buffer reports; 0 if the first line reports none.
    announced: u64,
    /// The last write failed.
    has_failed: bool,
    thread: Thread,
    /// No further line comes, or a caller waits for the lines: no pause.
    is_urgent: bool,
    /// The writer was dropped.
    is_closed: bool,
}

/// The state of the thread that writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Thread {
    #[default]
    NotStarted,
    /// It waits for lines.
    Idle,
    Busy,
}

impl<O: Output> BackgroundWriter<O> {
    pub(super) fn new(output: O, missing_line: fn(u64) -> String) -> Self {
        let (state, work, written) = (Mutex::default(), Condvar::new(), Condvar::new());
        Self(Arc::new(Shared { output, missing_line, state, work, written }))
    }

    /// Returns when all lines are written, or after `timeout`.
    pub(super) fn finish(&self, timeout: Duration) {
        let mut state = self.0.state();
        state.is_urgent = true;
        self.0.work.notify_one();
        let unwritten = |state: &mut State| state.thread == Thread::Busy || !state.buffer.is_empty();
        let (mut state, _) = self
            .0
            .written
            .wait_timeout_while(state, timeout, unwritten)
            .unwrap_or_else(PoisonError::into_inner);
        state.is_urgent = false;
    }
}

impl<O> Drop for BackgroundWriter<O> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        (state.is_urgent, state.is_closed) = (true, true);
        self.0.work.notify_one();
    }
}

impl<O: Output> Write for &BackgroundWriter<O> {
    /// Takes a whole line, as the formatter makes it. It never fails: the error would be logged here again.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.0.state();
        state.accept(line, self.0.missing_line);
        match state.thread {
            Thread::Busy => {}
            Thread::Idle => self.0.work.notify_one(),
            Thread::NotStarted => self.0.start(&mut state),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<O: Output> Shared<O> {
    /// Starts the thread. If the system has none left, the next line tries again.
    fn start(self: &Arc<Self>, state: &mut State) {
        let shared = Arc::clone(self);
        let run = move || shared.run();
        if Builder::new().name("log".to_owned()).spawn(run).is_ok() {
            state.thread = Thread::Busy;
        }
    }

    /// Writes lines until the writer is dropped.
    fn run(&self) {
        let (mut lines, mut is_cut_off) = (Vec::new(), false);
        let mut state = self.state();
        loop {
            let Some(announced) = state.take(&mut lines, self.missing_line) else {
                state.thread = Thread::Idle;
                self.written.notify_all();
                if state.is_closed {
                    return;
                }
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.thread = Thread::Busy;
                continue;
            };
            // No thread that logs waits for this write.
            drop(state);
            let rest = self.write_all(&lines, &mut is_cut_off);
            state = self.state();
            state.has_failed = rest > 0;
            state.missing += dropped(&lines, rest, announced);
            let pauses = |state: &mut State| !state.is_urgent;
            let paused = self.work.wait_timeout_while(state, PAUSE, pauses);
            state = paused.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the number of bytes that were not written because the output failed.
    fn write_all(&self, lines: &[u8], is_cut_off: &mut bool) -> usize {
        // A line that was cut off ends before the next one.
        if *is_cut_off {
            if !matches!(self.output.write(b"\n"), Ok(1)) {
                return lines.len();
            }
            *is_cut_off = false;
        }
        let mut rest = lines;
        while !rest.is_empty() {
            match self.output.write(rest) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(count) => {
                    let (written, after) = rest.split_at(count.min(rest.len()));
                    (*is_cut_off, rest) = (!written.ends_with(b"\n"), after);
                }
            }
        }
        rest.len()
    }
}

impl<O> Shared<O> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Buffers `line`, or drops and counts it. Once a line is dropped, all are until there is room for their number.
    fn accept(&mut self, line: &[u8], missing_line: fn(u64) -> String) {
        if self.buffer.is_empty() {
            self.add_missing_line(missing_line);
        }
        let has_room = self.buffer.is_empty() || self.buffer.len() + line.len() <= MAX_BUFFERED;
        if self.missing == 0 && has_room {
            self.buffer.extend_from_slice(line);
        } else {
            self.missing += 1;
        }
    }

    /// Moves the buffered lines into `lines`; [`None`] if there are none. Returns the number of dropped lines that the first of these
    /// lines tells.
    fn take(&mut self, lines: &mut Vec<u8>, missing_line: fn(u64) -> String) -> Option<u64> {
        lines.clear();
        std::mem::swap(lines, &mut self.buffer);
        if lines.is_empty() {
            return None;
        }
        let announced = std::mem::take(&mut self.announced);
        // An output that has failed is tried again with the next line.
        if !self.has_failed {
            self.add_missing_line(missing_line);
        }
        Some(announced)
    }

    /// Adds the line with the number of dropped lines, as the first one.
    fn add_missing_line(&mut self, missing_line: fn(u64) -> String) {
        if self.missing > 0 {
            self.buffer.extend_from_slice(missing_line(self.missing).as_bytes());
            self.announced = std::mem::take(&mut self.missing);
        }
    }
}

/// The lines that are missing because the last `rest` bytes of `lines` were not written. The first line stands for `announced` others, if
/// any.
fn dropped(lines: &[u8], rest: usize, announced: u64) -> u64 {
    let (written, rest) = lines.split_at(lines.len() - rest);
    let dropped = rest.iter().filter(|byte| **byte == b'\n').count() as u64;
    if announced > 0 && !written.contains(&b'\n') { dropped - 1 + announced } else { dropped }
}

#[cfg(unix)]
impl<F: std::os::fd::AsFd + Send + Sync + 'static> Output for F {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        use rustix::event::{PollFd, PollFlags, poll};

        loop {
            match rustix::io::write(self, bytes) {
                // Another process has made the pipe non-blocking.
                Err(rustix::io::Errno::AGAIN) => {
                    poll(&mut [PollFd::new(self, PollFlags::OUT)], None)?;
                }
                written => return Ok(written?),
            }
        }
    }
}

#[cfg(not(unix))]
impl Output for io::Stderr {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().write(bytes)
    }
}
