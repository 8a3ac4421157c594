//! The non-interactive mode: one prompt in, the answer on standard output, the cost as the last line of standard error
//! (contract/interfaces.md 1-5).
//!
//! A worker runs the turn and writes the answer; the main thread sleeps in `poll` until the worker ends, a signal comes or the
//! reader of standard output goes away. So no wait of the worker can delay the end of the process.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::session::{self, Start};
use super::settings::Low;
use super::stream::{Stream, say};
use super::{ntfy, usage_file};
use crate::agent::ask::Asked;
use crate::agent::turn::{Limits, Talk};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::error::{Outcome, Problem};
use crate::chat::message::Message;
use crate::chat::tokens::Meter;
use crate::chat::usage::Totals;
use crate::llm::models;
use crate::tools::context::{Ctx, World};
use crate::tools::registry;

/// How long the worker gets after a signal to end its children and requests.
const AFTER_SIGNAL: Duration = Duration::from_millis(150);

/// Why the main thread woke for good.
enum Woken {
    Done,
    Signal(i32),
}

/// What the worker shares: its world as soon as there is one, and how it ended.
#[derive(Default)]
struct Shared {
    world: Mutex<Option<Arc<World>>>,
    end: Mutex<Option<Outcome<()>>>,
}

/// Runs to the end and gives the exit status; the cost line is always the last on standard error.
pub fn run(low: Low, start: Start) -> u8 {
    let began = Instant::now();
    let stop = Cancel::new();
    let shared = Arc::new(Shared::default());
    let status = match supervise(low.clone(), start.clone(), &stop, &shared) {
        Ok(Woken::Signal(signal)) => u8::try_from(128 + signal).unwrap_or(1),
        Ok(Woken::Done) => match lock(&shared.end).take() {
            Some(Ok(())) => 0,
            Some(Err(problem)) => fail(&problem),
            None => fail(&Problem::internal("The turn ended without a result.")),
        },
        Err(problem) => fail(&problem),
    };
    let world = lock(&shared.world).clone();
    let totals = world
        .as_ref()
        .map_or_else(Totals::default, |world| world.ledger.totals());
    if let Some(world) = &world {
        save(world, &totals);
    }
    if let Some(topic) = &low.ntfy {
        ntfy::ended(&start.env, topic, status == 0, began.elapsed(), totals.cost);
    }
    say(&totals.cost_line());
    status
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `Error: …` on one line, facts below it; nothing for a reader that went away.
fn fail(problem: &Problem) -> u8 {
    if !problem.is_cancelled() {
        say(&format!("Error: {}", problem.one_line()));
        if let Some(facts) = &problem.facts {
            say(facts);
        }
    }
    1
}

fn save(world: &World, totals: &Totals) {
    let logged = usage_file::log_turns(&world.paths, &world.profile(), &world.ledger.turns());
    let saved = usage_file::add(&world.paths, &world.clock, totals);
    match logged.and(saved) {
        Ok(None) => {}
        Ok(Some(notice)) => say(&notice),
        Err(problem) => say(&format!("Usage was not recorded: {problem}")),
    }
}

/// Starts the worker and waits for what comes first.
fn supervise(low: Low, start: Start, stop: &Cancel, shared: &Arc<Shared>) -> Outcome<Woken> {
    let system = |why| Problem::system("Cannot watch for signals", why);
    let signals =
        [SIGINT, SIGTERM, SIGHUP].map(|signal| watch(signal).map(|stream| (signal, stream)));
    let signals: Vec<(i32, UnixStream)> = signals
        .into_iter()
        .collect::<io::Result<_>>()
        .map_err(system)?;
    let (done, mut finished) = UnixStream::pair().map_err(system)?;
    let worker = {
        let (stop, shared) = (stop.clone(), Arc::clone(shared));
        move || {
            let end = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                work(&low, &start, &stop, &shared)
            }));
            *lock(&shared.end) = Some(end.unwrap_or_else(|_| {
                Err(Problem::internal(
                    "Marvin broke down. This is a fault of its own.",
                ))
            }));
            let _ = finished.write_all(b".");
        }
    };
    thread::Builder::new()
        .name("turn".to_owned())
        .spawn(worker)
        .map_err(|why| Problem::system("Cannot start a thread", why))?;
    let woken = wait(&done, &signals, stop);
    if let Woken::Signal(_) = woken {
        stop.fire();
        let until = Timespec {
            tv_sec: 0,
            tv_nsec: i64::try_from(AFTER_SIGNAL.as_nanos()).unwrap_or_default(),
        };
        let _ = poll(&mut [PollFd::new(&done, PollFlags::IN)], Some(&until));
    }
    Ok(woken)
}

fn watch(signal: i32) -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(signal, write)?;
    Ok(read)
}

/// Sleeps until the worker is done or a signal comes. A reader that goes away stops the turn, whose end is then awaited.
fn wait(done: &UnixStream, signals: &[(i32, UnixStream)], stop: &Cancel) -> Woken {
    let stdout = io::stdout();
    let mut reader_gone = false;
    loop {
        let mut fds = vec![PollFd::new(done, PollFlags::IN)];
        fds.extend(
            signals
                .iter()
                .map(|(_, stream)| PollFd::new(stream, PollFlags::IN)),
        );
        if !reader_gone {
            // No events asked for: only an error or hang-up wakes, which is what a closed pipe gives.
            fds.push(PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::empty()));
        }
        if poll(&mut fds, None).is_err() {
            continue;
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let came = signals
            .iter()
            .zip(ready.iter().skip(1))
            .find(|(_, ready)| **ready);
        if let Some(((signal, _), _)) = came {
            return Woken::Signal(*signal);
        }
        if ready.first() == Some(&true) {
            return Woken::Done;
        }
        if ready.get(signals.len() + 1) == Some(&true) {
            reader_gone = true;
            stop.fire();
        }
    }
}

/// The run itself.
fn work(low: &Low, start: &Start, stop: &Cancel, shared: &Shared) -> Outcome<()> {
    let mut warn = |words: String| say(&format!("Warning: {words}"));
    let prompt = low.prompt(start.stdin_is_terminal)?;
    let world = Arc::new(session::world(
        start,
        low.working_dir.as_deref(),
        &mut warn,
    )?);
    *lock(&shared.world) = Some(Arc::clone(&world));
    let answering = session::answering(low, &start.env, &mut warn)?;
    let prices = prices(&start.env)?;
    let facts = models::facts(answering.local, &answering.model);
    let person = session::person(&world, &mut warn);
    let stream = Arc::new(
        Stream::new(stop.clone(), low.verbose)
            .map_err(|why| Problem::system("Cannot write to standard output", why))?,
    );
    let ctx = Ctx {
        world: Arc::clone(&world),
        stop: stop.clone(),
        listener: stream.clone(),
    };
    let offer = registry::offer(&world.bounds, facts.tools);
    let mut talk = Talk {
        asked: Asked {
            provider: answering.provider.as_ref(),
            model: &answering.model,
            local: answering.local,
            prices: &prices,
            max_cost: low.max_cost,
        },
        offer: &offer,
        coding: true,
        limits: Limits::new(true),
        person: &person,
        messages: vec![Message::user(prompt)],
        meter: Meter::default(),
    };
    let answer = talk.answer(&ctx);
    let written = stream.finish();
    answer.map_err(|failure| *failure.problem)?;
    if written {
        Ok(())
    } else {
        Err(Problem::cancelled())
    }
}

/// The user's prices, when `MARVIN_PRICES` names a file with them.
fn prices(env: &Env) -> Outcome<models::Prices> {
    let Some(path) = env.get("MARVIN_PRICES") else {
        return Ok(models::Prices::default());
    };
    let text = std::fs::read_to_string(path)
        .map_err(|why| Problem::system(format!("Cannot read MARVIN_PRICES ({path})"), why))?;
    models::Prices::parse(&text)
}
