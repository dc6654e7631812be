//! Writes log lines without waiting for their reader.
//!
//! The threads that log are the threads that answer calls and probes. Where a pipe is full, a line is kept in memory, and a
//! thread of its own writes it when the reader goes on. Lines beyond a limit are counted, and the log says how many are
//! missing. [`Unhindered::finish`] waits for the kept lines when a process ends.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// A pipe that takes anything takes so much at once (`PIPE_BUF` of Linux; POSIX, `poll` and `write`).
const AT_ONCE: usize = 4096;
/// So many bytes of lines are kept: about a thousand lines.
const MOST_KEPT: usize = 256 << 10;
/// The time to look whether a pipe takes something, and not to wait for it.
const NO_TIME: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Writes lines to `F` as long as they are read there.
pub(super) struct Unhindered<F>(Arc<Shared<F>>);

struct Shared<F> {
    to: F,
    told: fn(u64) -> String,
    state: Mutex<State>,
    /// Notified when nothing is kept any more.
    written: Condvar,
}

#[derive(Default)]
struct State {
    kept: VecDeque<u8>,
    missing: u64,
    /// Whether a thread writes what is kept. Nothing else writes meanwhile.
    is_draining: bool,
}

impl<F: AsFd + Send + Sync + 'static> Unhindered<F> {
    /// `told` makes the line that says how many are missing.
    pub(super) fn new(to: F, told: fn(u64) -> String) -> Self {
        Self(Arc::new(Shared { to, told, state: Mutex::default(), written: Condvar::new() }))
    }

    /// Returns when the kept lines are written, or after `patience`.
    pub(super) fn finish(&self, patience: Duration) {
        let state = self.0.state();
        drop(self.0.written.wait_timeout_while(state, patience, |state| state.is_draining));
    }

    /// Writes `text`, or keeps it; `false` where it is lost.
    fn offer(&self, state: &mut State, text: &[u8]) -> bool {
        if state.is_draining {
            let has_room = state.kept.len() + text.len() <= MOST_KEPT;
            state.kept.extend(has_room.then_some(text).into_iter().flatten());
            return has_room;
        }
        let mut rest = text;
        while !rest.is_empty() && self.0.takes_more(Some(&NO_TIME)) {
            let (part, after) = rest.split_at(rest.len().min(AT_ONCE));
            if !self.0.writes(part) {
                return false;
            }
            rest = after;
        }
        // The end of a line whose beginning is written is kept, however long it is.
        if rest.is_empty() || (rest.len() == text.len() && rest.len() > MOST_KEPT) {
            return rest.is_empty();
        }
        let shared = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn(move || shared.drain());
        if thread.is_ok() {
            // The thread waits for the lock.
            state.is_draining = true;
            state.kept.extend(rest);
        }
        thread.is_ok()
    }
}

impl<F: AsFd + Send + Sync + 'static> Write for &Unhindered<F> {
    /// A whole line, as the formatter hands it over. Never fails: an error would be logged here again.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.0.state();
        if state.missing > 0 {
            let told = (self.0.told)(state.missing);
            if self.offer(&mut state, told.as_bytes()) {
                state.missing = 0;
            }
        }
        if state.missing > 0 || !self.offer(&mut state, line) {
            state.missing += 1;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<F: AsFd> Shared<F> {
    /// Writes what is kept, as fast as it is read, until nothing is left or the reader has gone.
    fn drain(&self) {
        let mut part = Vec::with_capacity(AT_ONCE);
        loop {
            {
                let mut state = self.state();
                if state.kept.is_empty() && state.missing > 0 {
                    let told = (self.told)(state.missing);
                    state.kept.extend(told.as_bytes());
                    state.missing = 0;
                }
                if state.kept.is_empty() {
                    (state.kept, state.is_draining) = (VecDeque::new(), false);
                    self.written.notify_all();
                    return;
                }
                let end = state.kept.len().min(AT_ONCE);
                part.clear();
                part.extend(state.kept.drain(..end));
            }
            if !self.takes_more(None) || !self.writes(&part) {
                let mut state = self.state();
                let lost = part.iter().chain(&state.kept).filter(|byte| **byte == b'\n').count();
                state.missing += u64::try_from(lost).unwrap_or(u64::MAX);
                (state.kept, state.is_draining) = (VecDeque::new(), false);
                self.written.notify_all();
                return;
            }
        }
    }

    /// Whether a part can be written now, or at the latest after `wait`; without one, whenever that may be.
    fn takes_more(&self, wait: Option<&Timespec>) -> bool {
        loop {
            match poll(&mut [PollFd::new(&self.to, PollFlags::OUT)], wait) {
                // A broken pipe counts as ready too: the write fails.
                Ok(ready) => return ready > 0,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Whether all of `part` went.
    fn writes(&self, mut part: &[u8]) -> bool {
        while !part.is_empty() {
            match rustix::io::write(&self.to, part) {
                Ok(written) if written > 0 => part = &part[written..],
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => return false,
            }
        }
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, PipeReader, pipe};
    use std::time::Instant;

    use super::*;

    fn told(missing: u64) -> String {
        format!("{missing} are missing\n")
    }

    fn log() -> (Unhindered<io::PipeWriter>, BufReader<PipeReader>) {
        let (reader, writer) = pipe().unwrap();
        (Unhindered::new(writer, told), BufReader::new(reader))
    }

    /// Writes lines without a reader until one is lost.
    fn fill(log: &Unhindered<io::PipeWriter>) {
        let mut log = log;
        while log.0.state().missing == 0 {
            log.write_all(b"before\n").unwrap();
        }
    }

    #[test]
    fn a_log_that_nobody_reads_holds_nobody_up_and_tells_what_is_missing() {
        const LINES: u64 = 100_000;
        let (log, reader) = log();
        for number in 0..LINES {
            (&log).write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        drop(log);
        let (mut next, mut missing) = (0, 0);
        for line in reader.lines().map(Result::unwrap) {
            match line.strip_suffix(" are missing") {
                Some(number) => missing += number.parse::<u64>().unwrap(),
                None => {
                    assert_eq!(
                        line.parse::<u64>().unwrap(),
                        next + missing,
                        "what is missing is told in its place"
                    );
                    next += 1;
                }
            }
        }
        assert!(missing > 0 && next + missing == LINES, "{next} lines, {missing} missing");
    }

    /// The threads that write answer calls. They waited for half a second in ten.
    #[test]
    fn no_writer_waits_for_a_reader() {
        let mut quickest = Duration::MAX;
        for _ in 0..3 {
            let (log, _reader) = log();
            let began = Instant::now();
            fill(&log);
            quickest = quickest.min(began.elapsed());
        }
        assert!(quickest < Duration::from_millis(250), "{quickest:?}");
    }

    #[test]
    fn a_moment_in_which_nobody_reads_costs_no_line() {
        let (log, mut reader) = log();
        let lines: Vec<_> = (0..20_000).map(|number| format!("{number:06}\n")).collect();
        for line in &lines {
            (&log).write_all(line.as_bytes()).unwrap();
        }
        drop(log);
        let mut read = String::new();
        io::Read::read_to_string(&mut reader, &mut read).unwrap();
        assert!(read == lines.concat(), "{} of {} bytes", read.len(), 7 * lines.len());
    }

    #[test]
    fn a_reader_who_has_gone_is_no_error() {
        let (log, reader) = log();
        fill(&log);
        drop(reader);
        while log.0.state().is_draining {
            std::thread::yield_now();
        }
        let missing = log.0.state().missing;
        assert!(missing * 7 >= (MOST_KEPT - AT_ONCE) as u64, "{missing} lines were kept");
        (&log).write_all(b"lost\n").unwrap();
        assert_eq!(log.0.state().missing, missing + 1);
    }

    #[test]
    fn a_long_line_is_read_whole_however_late() {
        let (log, mut reader) = log();
        let long = [vec![b'x'; 1 << 20], b"\n".to_vec()].concat();
        (&log).write_all(&long).unwrap();
        (&log).write_all(b"lost\n").unwrap();
        drop(log);
        let (mut line, mut rest) = (Vec::new(), String::new());
        reader.read_until(b'\n', &mut line).unwrap();
        assert!(line == long, "{} bytes", line.len());
        io::Read::read_to_string(&mut reader, &mut rest).unwrap();
        assert_eq!(rest, told(1));
    }
}
