//! Where lines go: to whoever reads them, and past him if he does not.
//!
//! A pipe that nobody empties makes its writers wait, and those are the threads that answer calls and probes.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// A pipe that takes anything takes so much at once (`PIPE_BUF` of Linux; POSIX, `poll` and `write`).
const AT_ONCE: usize = 4096;
/// So much of each [`PERIOD`] is waited for somebody to read, so that a moment's silence costs no line; of one that lasts, only
/// of the first. Who reads too slowly costs a twentieth of the time.
const PATIENCE: Duration = Duration::from_millis(500);
const PERIOD: Duration = Duration::from_secs(10);

/// Writes lines to `F` as long as somebody reads them there. The others are counted, and told of in the next one.
pub(super) struct Unhindered<F> {
    told: fn(u64) -> String,
    state: Mutex<State<F>>,
}

struct State<F> {
    to: F,
    missing: u64,
    /// A line ended in its middle.
    is_torn: bool,
    /// What is left of it.
    patience: Duration,
    renewed: Instant,
    /// Whether anything was taken since it was renewed.
    is_taken: bool,
}

impl<F: AsFd + Write> Unhindered<F> {
    /// `told` makes the line that says how many are missing.
    pub(super) fn new(to: F, told: fn(u64) -> String) -> Self {
        let (patience, renewed) = (PATIENCE, Instant::now());
        let state = State { to, missing: 0, is_torn: false, patience, renewed, is_taken: false };
        Self { told, state: Mutex::new(state) }
    }
}

impl<F: AsFd + Write> Write for &Unhindered<F> {
    /// A whole line, as the formatter hands it over. Never fails: whoever is told of a failure would write about it here.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_torn && state.passes(b"\n") {
            state.is_torn = false;
        }
        if state.missing > 0 && !state.is_torn {
            let told = (self.told)(state.missing);
            if state.passes(told.as_bytes()) {
                state.missing = 0;
            }
        }
        if state.missing > 0 || !state.passes(line) {
            state.missing += 1;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<F: AsFd + Write> State<F> {
    /// Whether all of `text` went.
    fn passes(&mut self, text: &[u8]) -> bool {
        for (number, part) in text.chunks(AT_ONCE).enumerate() {
            if !self.is_read() || self.to.write_all(part).is_err() {
                self.is_torn |= number > 0;
                return false;
            }
            self.is_taken = true;
        }
        true
    }

    /// Whether a part can be written without waiting; or after a wait that is short.
    fn is_read(&mut self) -> bool {
        if self.is_ready(Duration::ZERO) {
            return true;
        }
        let began = Instant::now();
        if self.is_taken && began.duration_since(self.renewed) >= PERIOD {
            (self.patience, self.renewed, self.is_taken) = (PATIENCE, began, false);
        }
        let is_ready = !self.patience.is_zero() && self.is_ready(self.patience);
        self.patience = self.patience.saturating_sub(began.elapsed());
        is_ready
    }

    fn is_ready(&self, within: Duration) -> bool {
        let within = Timespec { tv_sec: 0, tv_nsec: within.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.to, PollFlags::OUT)], Some(&within)) {
            // What is broken is ready too: the write fails.
            Ok(ready) => ready > 0,
            Err(error) => error == Errno::INTR && self.is_ready(Duration::ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, PipeReader, pipe};

    use super::*;

    fn told(missing: u64) -> String {
        format!("{missing} are missing\n")
    }

    /// Lines that were written before, as many as go.
    fn full() -> (Unhindered<io::PipeWriter>, BufReader<PipeReader>, usize) {
        let (reader, writer) = pipe().unwrap();
        let log = Unhindered::new(writer, told);
        let mut written = 0;
        while log.state.lock().unwrap().missing == 0 {
            (&log).write_all(b"before\n").unwrap();
            written += 1;
        }
        (log, BufReader::new(reader), written - 1)
    }

    fn read(reader: &mut impl BufRead) -> String {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line
    }

    #[test]
    fn a_log_that_nobody_reads_holds_nobody_up_and_tells_what_is_missing() {
        let (log, mut reader, written) = full();
        let began = Instant::now();
        for _ in 1..10_000 {
            (&log).write_all(b"lost\n").unwrap();
        }
        // With patience for each line it would be more than an hour.
        assert!(began.elapsed() < PERIOD, "{:?}", began.elapsed());
        for _ in 0..written {
            assert_eq!(read(&mut reader), "before\n");
        }
        (&log).write_all(b"after\n").unwrap();
        assert_eq!((read(&mut reader), read(&mut reader)), (told(10_000), "after\n".to_owned()));
    }

    #[test]
    fn a_reader_who_has_gone_is_no_error() {
        let (log, reader, _) = full();
        drop(reader);
        (&log).write_all(b"lost\n").unwrap();
        assert_eq!(log.state.lock().unwrap().missing, 2);
    }

    #[test]
    fn a_long_line_that_is_torn_is_a_line_of_its_own() {
        let (log, mut reader, written) = full();
        for _ in 0..written / 2 {
            read(&mut reader);
        }
        // Of what is free now, this is more.
        (&log).write_all(&[vec![b'x'; 1 << 20], b"\n".to_vec()].concat()).unwrap();
        let rest = std::iter::repeat_with(|| read(&mut reader)).find(|line| !line.starts_with("before"));
        assert_eq!(rest, Some(told(1)), "what was lost before is told first");
        drop(log);
        let torn = read(&mut reader);
        assert!(torn.starts_with('x') && !torn.ends_with('\n'), "{} bytes", torn.len());
    }
}
