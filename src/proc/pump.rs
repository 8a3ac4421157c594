//! Serves a child's pipes from one thread: its output is captured or split into chunks, its input is fed to it.

use std::io::{self, PipeReader, Read, Write};
use std::ops::ControlFlow;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};

use super::capture::Captured;

/// The streams a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Wake byte: the child has ended.
pub(super) const CHILD_EXITED: u8 = b'x';
/// Wake byte: the cancel token fired.
pub(super) const CANCEL_FIRED: u8 = b'f';

/// What is read at once. Each running child has a buffer of it.
const READ_BYTES: usize = 16 << 10;

/// A chunk of split output is cut at this many bytes.
pub(super) const MAX_CHUNK_BYTES: usize = 16 << 20;

/// A line is delivered in pieces when it is longer than this many bytes.
const MAX_LINE_BYTES: usize = 1 << 20;

type PieceHandler<'a> = &'a mut (dyn FnMut(&[u8]) -> ControlFlow<()> + 'a);
type LineHandler<'a> = &'a mut (dyn FnMut(OutputStream, &[u8]) + 'a);
type OutputHandler<'a> = &'a mut (dyn FnMut(OutputStream, &[u8]) + 'a);

/// Where the output of a program goes.
pub(super) enum Delivery<'a> {
    /// Both streams are kept.
    Kept,
    /// The same, and a callback sees each piece as it arrives.
    Watched(OutputHandler<'a>),
    /// Standard output goes to a callback chunk by chunk.
    Chunks(OutputSplitter<'a>),
    /// Both streams go to a callback line by line.
    Lines(LineReader<'a>),
}

impl<'a> Delivery<'a> {
    /// Standard output in chunks that the byte `end` terminates.
    pub(super) fn chunks(end: u8, each: PieceHandler<'a>) -> Self {
        Self::Chunks(OutputSplitter {
            end,
            each,
            chunk: Vec::new(),
            stopped_early: false,
        })
    }

    /// Both streams by lines.
    pub(super) fn lines(each: LineHandler<'a>) -> Self {
        Self::Lines(LineReader {
            each,
            stdout: Vec::new(),
            stderr: Vec::new(),
        })
    }
}

/// The outcome of one iteration.
#[derive(Default)]
pub(super) struct PumpTurn {
    pub(super) exited: bool,
    pub(super) fired: bool,
    /// The callback wants no more chunks.
    pub(super) stopped_early: bool,
}

/// The parent's ends of a child's pipes.
pub(super) struct Pump<'a> {
    wake: PipeReader,
    stdin: Option<ChildStdin>,
    /// What is written to it; without it the pipe stays open and empty.
    input: Option<Vec<u8>>,
    fed: usize,
    /// The pipe stays open after the input: its end tells the child that Marvin is gone.
    is_leash: bool,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    out: Captured,
    err: Captured,
    delivery: Delivery<'a>,
    last_read: Instant,
    buffer: Vec<u8>,
}

impl<'a> Pump<'a> {
    pub(super) fn new(
        wake: PipeReader,
        child: &mut Child,
        input: Option<Vec<u8>>,
        is_leash: bool,
        out: Captured,
        err: Captured,
        delivery: Delivery<'a>,
    ) -> io::Result<Self> {
        let stdin = child.stdin.take();
        if let Some(stdin) = &stdin {
            // A blocking write of more than the pipe's capacity would keep us from reading the child's output.
            ioctl_fionbio(stdin, true)?;
        }
        Ok(Self {
            wake,
            stdin,
            input,
            fed: 0,
            is_leash,
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            out,
            err,
            delivery,
            last_read: Instant::now(),
            buffer: vec![0; READ_BYTES],
        })
    }

    /// True when both output pipes are closed.
    pub(super) fn is_drained(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    /// When output last arrived.
    pub(super) fn last_read(&self) -> Instant {
        self.last_read
    }

    /// Waits at most `timeout` for something to happen and handles it.
    pub(super) fn poll_once(&mut self, timeout: Duration) -> io::Result<PumpTurn> {
        let [wake, stdin, stdout, stderr] = self.wait(timeout)?;
        let mut seen = PumpTurn::default();
        if wake {
            let mut bytes = [0; 8];
            let count = self.wake.read(&mut bytes)?;
            let bytes = bytes.get(..count).unwrap_or_default();
            seen.exited = bytes.contains(&CHILD_EXITED);
            seen.fired = bytes.contains(&CANCEL_FIRED);
        }
        if stdin {
            self.feed();
        }
        if stdout {
            match read_some(&mut self.stdout, &mut self.buffer) {
                Some(bytes) => {
                    self.last_read = Instant::now();
                    match &mut self.delivery {
                        Delivery::Chunks(split) => {
                            seen.stopped_early = split.push(bytes).is_break();
                        }
                        Delivery::Lines(lines) => lines.push(OutputStream::Stdout, bytes),
                        Delivery::Watched(each) => {
                            self.out.push(bytes);
                            each(OutputStream::Stdout, bytes);
                        }
                        Delivery::Kept => self.out.push(bytes),
                    }
                }
                None => {
                    if let Delivery::Chunks(split) = &mut self.delivery {
                        seen.stopped_early = split.finish().is_break();
                    }
                }
            }
        }
        if stderr && let Some(bytes) = read_some(&mut self.stderr, &mut self.buffer) {
            self.last_read = Instant::now();
            match &mut self.delivery {
                Delivery::Lines(lines) => lines.push(OutputStream::Stderr, bytes),
                Delivery::Watched(each) => {
                    self.err.push(bytes);
                    each(OutputStream::Stderr, bytes);
                }
                Delivery::Chunks(_) | Delivery::Kept => self.err.push(bytes),
            }
        }
        Ok(seen)
    }

    /// Which of wake pipe, stdin, stdout and stderr are ready.
    fn wait(&self, timeout: Duration) -> io::Result<[bool; 4]> {
        let mut fds = vec![PollFd::new(&self.wake, PollFlags::IN)];
        let mut slots = vec![0];
        if let (Some(stdin), Some(_)) = (&self.stdin, &self.input) {
            fds.push(PollFd::new(stdin, PollFlags::OUT));
            slots.push(1);
        }
        if let Some(stdout) = &self.stdout {
            fds.push(PollFd::new(stdout, PollFlags::IN));
            slots.push(2);
        }
        if let Some(stderr) = &self.stderr {
            fds.push(PollFd::new(stderr, PollFlags::IN));
            slots.push(3);
        }
        // Rounded up, or the last fraction of a millisecond would be spent spinning.
        let timeout = Timespec::try_from(timeout + Duration::from_millis(1)).ok();
        let mut ready = [false; 4];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {
                for (fd, slot) in fds.iter().zip(slots) {
                    if let Some(flag) = ready.get_mut::<usize>(slot) {
                        *flag = !fd.revents().is_empty();
                    }
                }
                Ok(ready)
            }
            Err(Errno::INTR) => Ok(ready),
            Err(reason) => Err(reason.into()),
        }
    }

    /// Writes as much input as the pipe takes; closes it at the end unless it is a leash, or when the child has closed its side.
    fn feed(&mut self) {
        let (Some(stdin), Some(input)) = (&mut self.stdin, &self.input) else {
            return;
        };
        match stdin.write(input.get(self.fed..).unwrap_or_default()) {
            Ok(count) => self.fed += count,
            Err(reason)
                if matches!(
                    reason.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                return;
            }
            Err(_) => self.fed = input.len(),
        }
        if self.fed >= input.len() {
            self.input = None;
            if !self.is_leash {
                self.stdin = None;
            }
        }
    }

    pub(super) fn finish(mut self) -> (Captured, Captured) {
        if let Delivery::Lines(lines) = &mut self.delivery {
            lines.finish();
        }
        (self.out, self.err)
    }
}

/// Reads once; at the end or on failure the pipe is dropped and `None` returned.
fn read_some<'b, P: Read>(pipe: &mut Option<P>, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let count = match pipe.as_mut()?.read(buffer) {
        Ok(0) => None,
        Ok(count) => Some(count),
        Err(reason) if reason.kind() == io::ErrorKind::Interrupted => Some(0),
        Err(_) => None,
    };
    if count.is_none() {
        *pipe = None;
    }
    buffer.get(..count?)
}

/// Cuts both streams into lines.
pub(super) struct LineReader<'a> {
    each: LineHandler<'a>,
    /// The unfinished line of each stream.
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl LineReader<'_> {
    fn push(&mut self, stream: OutputStream, bytes: &[u8]) {
        let open = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = piece.ends_with(b"\n");
            if is_whole && open.is_empty() {
                (self.each)(stream, piece);
                continue;
            }
            open.extend_from_slice(piece);
            if is_whole || open.len() >= MAX_LINE_BYTES {
                (self.each)(stream, open);
                open.clear();
            }
        }
    }

    /// Delivers what has no line feed.
    fn finish(&mut self) {
        for (stream, open) in [
            (OutputStream::Stdout, &mut self.stdout),
            (OutputStream::Stderr, &mut self.stderr),
        ] {
            if !open.is_empty() {
                (self.each)(stream, open);
                open.clear();
            }
        }
    }
}

pub(super) struct OutputSplitter<'a> {
    end: u8,
    each: PieceHandler<'a>,
    chunk: Vec<u8>,
    /// Output keeps arriving until the child is dead, and is discarded.
    stopped_early: bool,
}

impl OutputSplitter<'_> {
    fn push(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let mut rest = bytes;
        while let Some(index) = rest.iter().position(|byte| *byte == self.end) {
            let (chunk, after) = rest.split_at(index);
            rest = after.get(1..).unwrap_or_default();
            if self.chunk.is_empty() {
                self.deliver(chunk)?;
            } else {
                self.grow(chunk);
                let chunk = std::mem::take(&mut self.chunk);
                self.deliver(&chunk)?;
            }
        }
        self.grow(rest);
        ControlFlow::Continue(())
    }

    fn deliver(&mut self, chunk: &[u8]) -> ControlFlow<()> {
        if self.stopped_early || (self.each)(chunk).is_break() {
            self.stopped_early = true;
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn grow(&mut self, bytes: &[u8]) {
        let room = MAX_CHUNK_BYTES.saturating_sub(self.chunk.len());
        self.chunk
            .extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn finish(&mut self) -> ControlFlow<()> {
        let chunk = std::mem::take(&mut self.chunk);
        if chunk.is_empty() {
            ControlFlow::Continue(())
        } else {
            self.deliver(&chunk)
        }
    }
}
