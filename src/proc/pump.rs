//! Serves a child's pipes from one thread: its output is captured or split into chunks, its input is fed to it.

use std::io::{self, PipeReader, Read, Write};
use std::ops::ControlFlow;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};

use super::capture::Captured;

/// Wake byte: the child has ended.
pub(super) const CHILD_EXITED: u8 = b'x';
/// Wake byte: the cancel token fired.
pub(super) const CANCEL_FIRED: u8 = b'f';

/// A chunk of split output is cut at this many bytes.
pub(super) const MAX_CHUNK_BYTES: usize = 16 << 20;

type PieceHandler<'a> = &'a mut (dyn FnMut(&[u8]) -> ControlFlow<()> + 'a);

/// The byte that terminates a chunk of standard output, and the callback for chunks.
pub(super) type Split<'a> = (u8, PieceHandler<'a>);

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
    input: Vec<u8>,
    fed: usize,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    out: Captured,
    err: Captured,
    split: Option<OutputSplitter<'a>>,
    last_read: Instant,
    buffer: Vec<u8>,
}

impl<'a> Pump<'a> {
    pub(super) fn new(
        wake: PipeReader,
        child: &mut Child,
        input: Option<Vec<u8>>,
        out: Captured,
        err: Captured,
        split: Option<Split<'a>>,
    ) -> io::Result<Self> {
        let stdin = child.stdin.take();
        if let Some(stdin) = &stdin {
            // A blocking write of more than the pipe's capacity would keep us from reading the child's output.
            ioctl_fionbio(stdin, true)?;
        }
        Ok(Self {
            wake,
            stdin,
            input: input.unwrap_or_default(),
            fed: 0,
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            out,
            err,
            split: split.map(|(end, each)| OutputSplitter {
                end,
                each,
                chunk: Vec::new(),
                stopped_early: false,
            }),
            last_read: Instant::now(),
            buffer: vec![0; 64 << 10],
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
                    match &mut self.split {
                        Some(split) => seen.stopped_early = split.push(bytes).is_break(),
                        None => self.out.push(bytes),
                    }
                }
                None => {
                    if let Some(split) = &mut self.split {
                        seen.stopped_early = split.finish().is_break();
                    }
                }
            }
        }
        if stderr && let Some(bytes) = read_some(&mut self.stderr, &mut self.buffer) {
            self.last_read = Instant::now();
            self.err.push(bytes);
        }
        Ok(seen)
    }

    /// Which of wake pipe, stdin, stdout and stderr are ready.
    fn wait(&self, timeout: Duration) -> io::Result<[bool; 4]> {
        let mut fds = vec![PollFd::new(&self.wake, PollFlags::IN)];
        let mut slots = vec![0];
        if let Some(stdin) = &self.stdin {
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

    /// Writes as much input as the pipe takes; closes it at the end, or when the child has closed its side.
    fn feed(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        match stdin.write(self.input.get(self.fed..).unwrap_or_default()) {
            Ok(count) => self.fed += count,
            Err(reason)
                if matches!(
                    reason.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                return;
            }
            Err(_) => self.fed = self.input.len(),
        }
        if self.fed >= self.input.len() {
            self.stdin = None;
        }
    }

    pub(super) fn finish(self) -> (Captured, Captured) {
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

struct OutputSplitter<'a> {
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
