//! Serving a child's pipes from one thread: what it writes is captured or cut into pieces, what it reads is fed to it.

use std::io::{self, PipeReader, Read, Write};
use std::ops::ControlFlow;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};

use super::capture::Captured;

/// Wake byte: the child has ended.
pub(super) const EXITED: u8 = b'x';
/// Wake byte: the stop sign fired.
pub(super) const FIRED: u8 = b'f';

/// A piece of split output is cut at this many bytes.
pub(super) const LONGEST_PIECE: usize = 16 << 20;

type PieceHandler<'a> = &'a mut (dyn FnMut(&[u8]) -> ControlFlow<()> + 'a);

/// The byte that terminates a piece of standard output, and the callback for pieces.
pub(super) type Split<'a> = (u8, PieceHandler<'a>);

/// The outcome of one iteration.
#[derive(Default)]
pub(super) struct PumpTurn {
    pub(super) exited: bool,
    pub(super) fired: bool,
    /// The callback wants no more pieces.
    pub(super) enough: bool,
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
                piece: Vec::new(),
                enough: false,
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

    /// Waits at most `patience` for something to happen and deals with it.
    pub(super) fn turn(&mut self, patience: Duration) -> io::Result<PumpTurn> {
        let [wake, stdin, stdout, stderr] = self.wait(patience)?;
        let mut seen = PumpTurn::default();
        if wake {
            let mut bytes = [0; 8];
            let count = self.wake.read(&mut bytes)?;
            let bytes = bytes.get(..count).unwrap_or_default();
            seen.exited = bytes.contains(&EXITED);
            seen.fired = bytes.contains(&FIRED);
        }
        if stdin {
            self.feed();
        }
        if stdout {
            match read_some(&mut self.stdout, &mut self.buffer) {
                Some(bytes) => {
                    self.last_read = Instant::now();
                    match &mut self.split {
                        Some(split) => seen.enough = split.push(bytes).is_break(),
                        None => self.out.push(bytes),
                    }
                }
                None => {
                    if let Some(split) = &mut self.split {
                        seen.enough = split.finish().is_break();
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
    fn wait(&self, patience: Duration) -> io::Result<[bool; 4]> {
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
        let patience = Timespec::try_from(patience + Duration::from_millis(1)).ok();
        let mut ready = [false; 4];
        match poll(&mut fds, patience.as_ref()) {
            Ok(_) => {
                for (fd, slot) in fds.iter().zip(slots) {
                    if let Some(flag) = ready.get_mut::<usize>(slot) {
                        *flag = !fd.revents().is_empty();
                    }
                }
                Ok(ready)
            }
            Err(Errno::INTR) => Ok(ready),
            Err(why) => Err(why.into()),
        }
    }

    /// Writes as much input as the pipe takes; closes it at the end, or when the child has closed its side.
    fn feed(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        match stdin.write(self.input.get(self.fed..).unwrap_or_default()) {
            Ok(count) => self.fed += count,
            Err(why)
                if matches!(
                    why.kind(),
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

/// One read; at the end or on failure the pipe is dropped and there is `None`.
fn read_some<'b, P: Read>(pipe: &mut Option<P>, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let count = match pipe.as_mut()?.read(buffer) {
        Ok(0) => None,
        Ok(count) => Some(count),
        Err(why) if why.kind() == io::ErrorKind::Interrupted => Some(0),
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
    piece: Vec<u8>,
    /// Output keeps arriving until the child is dead, and is discarded.
    enough: bool,
}

impl OutputSplitter<'_> {
    fn push(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == self.end) {
            let (piece, after) = rest.split_at(at);
            rest = after.get(1..).unwrap_or_default();
            if self.piece.is_empty() {
                self.hand_over(piece)?;
            } else {
                self.grow(piece);
                let piece = std::mem::take(&mut self.piece);
                self.hand_over(&piece)?;
            }
        }
        self.grow(rest);
        ControlFlow::Continue(())
    }

    fn hand_over(&mut self, piece: &[u8]) -> ControlFlow<()> {
        if self.enough || (self.each)(piece).is_break() {
            self.enough = true;
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn grow(&mut self, bytes: &[u8]) {
        let room = LONGEST_PIECE.saturating_sub(self.piece.len());
        self.piece
            .extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn finish(&mut self) -> ControlFlow<()> {
        let piece = std::mem::take(&mut self.piece);
        if piece.is_empty() {
            ControlFlow::Continue(())
        } else {
            self.hand_over(&piece)
        }
    }
}
