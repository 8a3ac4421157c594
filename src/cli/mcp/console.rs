//! The terminal in which a user signs in to a server.

use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::base::env::Env;
use crate::cli::out::say_words;
use crate::mcp::auth::policy::{SignInConsole, SignInPolicy};
use crate::proc::browser;

/// Signing in at once, in this terminal.
pub(super) fn sign_in_here(env: &Env) -> SignInPolicy {
    SignInPolicy::Now(Arc::new(TerminalConsole {
        env: env.clone(),
        is_over: AtomicBool::new(!io::stdin().is_terminal()),
    }))
}

struct TerminalConsole {
    env: Env,
    /// Nothing more is read: what is no terminal is somebody's data.
    is_over: AtomicBool,
}

impl SignInConsole for TerminalConsole {
    fn say(&self, lines: &str) {
        say_words(lines);
    }

    fn open(&self, url: &str) -> bool {
        browser::open_seen(&self.env, url)
    }

    fn takes_lines(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    fn line(&self) -> Option<String> {
        if !self.takes_lines() {
            return None;
        }
        let stdin = io::stdin();
        let mut ready = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        if poll(&mut ready, Some(&now)).ok()? == 0 {
            return None;
        }
        // A terminal gives whole lines.
        let mut line = String::new();
        match stdin.read_line(&mut line) {
            Ok(0) | Err(_) => {
                self.is_over.store(true, Ordering::Relaxed);
                None
            }
            Ok(_) => Some(line),
        }
    }
}
