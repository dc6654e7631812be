use std::collections::VecDeque;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, pipe};
use std::sync::Mutex;
use std::thread::ThreadId;

use super::*;

fn missing_line(missing: u64) -> String {
    format!("{missing} are missing\n")
}

fn log() -> (BackgroundWriter<PipeWriter>, BufReader<PipeReader>) {
    let (reader, writer) = pipe().unwrap();
    (BackgroundWriter::new(writer, missing_line), BufReader::new(reader))
}

/// Writes lines without a reader until one is dropped.
fn fill<O: Output>(log: &BackgroundWriter<O>) {
    let mut log = log;
    while log.0.state().missing == 0 {
        log.write_all(b"before\n").unwrap();
    }
}

/// The number of bytes that a write took, or its error.
type Answer = Result<usize, ErrorKind>;

/// An output that answers each write as a test says.
struct Scripted {
    /// A number of bytes that it takes; then it takes everything.
    writes: Mutex<VecDeque<Answer>>,
    written: Mutex<Vec<u8>>,
}

impl Scripted {
    fn log(writes: impl IntoIterator<Item = Answer>) -> BackgroundWriter<Self> {
        let (writes, written) = (Mutex::new(writes.into_iter().collect()), Mutex::default());
        BackgroundWriter::new(Self { writes, written }, missing_line)
    }
}

impl Output for Scripted {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let answer = self.writes.lock().unwrap().pop_front().unwrap_or(Ok(bytes.len()));
        let count = answer.map_err(io::Error::from)?.min(bytes.len());
        self.written.lock().unwrap().extend(&bytes[..count]);
        Ok(count)
    }
}

fn written(writes: impl IntoIterator<Item = Answer>, lines: &[&str]) -> String {
    let log = Scripted::log(writes);
    for line in lines {
        (&log).write_all(line.as_bytes()).unwrap();
        log.finish(Duration::from_secs(60));
    }
    String::from_utf8(log.0.output.written.lock().unwrap().clone()).unwrap()
}

/// The beginning of the line was written and its end was dropped, so that the next line followed in the same one.
#[test]
fn a_line_that_is_written_in_parts_is_whole() {
    let lines = ["first\n", "second\n"];
    for writes in
        [vec![Ok(2), Ok(1)], vec![Err(ErrorKind::Interrupted), Ok(3), Err(ErrorKind::Interrupted), Ok(1)]]
    {
        assert_eq!(written(writes.clone(), &lines), lines.concat(), "{writes:?}");
    }
}

#[test]
fn a_line_that_fails_half_way_ends_before_the_next_one_and_is_counted() {
    for (writes, expected) in [
        (vec![Ok(2), Err(ErrorKind::Other)], "fi\n1 are missing\nsecond\n"),
        (vec![Err(ErrorKind::Other)], "1 are missing\nsecond\n"),
        (
            vec![Ok(2), Err(ErrorKind::Other), Ok(1), Ok(3), Err(ErrorKind::Other)],
            "fi\n1 a\n2 are missing\nthird\n",
        ),
    ] {
        let count = if expected.contains("third") { 3 } else { 2 };
        let lines = &["first\n", "second\n", "third\n"][..count];
        assert_eq!(written(writes.clone(), lines), expected, "{writes:?}");
    }
}

#[test]
fn the_number_of_missing_lines_is_told_although_the_line_with_it_failed() {
    for (lines, rest, told, expected) in [
        ("a\nb\n", 4, 0, 2),
        ("a\nb\n", 2, 0, 1),
        ("7 are missing\nb\n", 15, 7, 8),
        ("7 are missing\nb\n", 3, 7, 8),
        ("7 are missing\nb\n", 2, 7, 1),
        ("7 are missing\nb\n", 0, 7, 0),
    ] {
        assert_eq!(dropped(lines.as_bytes(), rest, told), expected, "{lines:?} {rest}");
    }
}

#[test]
fn a_log_that_is_not_read_blocks_no_writer_and_tells_what_is_missing() {
    const LINES: u64 = 300_000;
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
                assert_eq!(line.parse::<u64>().unwrap(), next + missing, "the number stands in the gap");
                next += 1;
            }
        }
    }
    assert!(missing > 0 && next + missing == LINES, "{next} lines, {missing} missing");
}

/// Threads that log also answer calls. They waited for half a second in ten.
#[test]
fn no_thread_that_logs_waits_for_a_reader() {
    /// Takes nothing, and notes the threads that wait for it.
    #[derive(Default)]
    struct Full(Mutex<Vec<ThreadId>>);

    impl Output for Full {
        fn write(&self, _: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().push(std::thread::current().id());
            // Until the test ends.
            loop {
                std::thread::park();
            }
        }
    }

    let log = BackgroundWriter::new(Full::default(), missing_line);
    fill(&log);
    let waiting = log.0.output.0.lock().unwrap();
    assert!(waiting.iter().all(|thread| *thread != std::thread::current().id()));
}

#[test]
fn a_pause_of_the_reader_drops_no_line() {
    let (log, mut reader) = log();
    let lines: Vec<_> = (0..20_000).map(|number| format!("{number:06}\n")).collect();
    for line in &lines {
        (&log).write_all(line.as_bytes()).unwrap();
    }
    drop(log);
    let mut read = String::new();
    reader.read_to_string(&mut read).unwrap();
    assert!(read == lines.concat(), "{} of {} bytes", read.len(), 7 * lines.len());
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let (log, reader) = log();
    fill(&log);
    drop(reader);
    log.finish(Duration::from_secs(60));
    let missing = |log: &BackgroundWriter<PipeWriter>| {
        let state = log.0.state();
        assert_eq!(state.thread, Thread::Idle, "no line is left to write");
        state.missing
    };
    let before = missing(&log);
    assert!(before * 7 >= MAX_BUFFERED as u64, "{before} lines are missing");
    (&log).write_all(b"dropped\n").unwrap();
    log.finish(Duration::from_secs(60));
    assert_eq!(missing(&log), before + 1);
}

#[test]
fn a_long_line_is_read_whole_however_late() {
    let (log, mut reader) = log();
    let long = [vec![b'x'; 2 * MAX_BUFFERED], b"\n".to_vec()].concat();
    (&log).write_all(&long).unwrap();
    drop(log);
    let mut read = Vec::new();
    reader.read_to_end(&mut read).unwrap();
    assert!(read == long, "{} bytes", read.len());
}
