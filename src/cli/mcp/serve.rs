//! `marvin mcp serve`: Marvin's tools for other programs.

use std::io::{self, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{unknown_flag, usage};
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::app::{direct_call, extensions};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;
use crate::base::variables::MARVIN_MCP_TOKEN;
use crate::cli::tool::stop_on_signals;
use crate::mcp::server::fixture::Fixture;
use crate::mcp::server::http::HttpServer;
use crate::mcp::server::own::Own;
use crate::mcp::server::{Server, stdio};
use crate::tools::project::command_watch::settle_at_end;

/// What can follow `serve`.
const FLAGS: [&str; 7] = [
    "--working-dir",
    "--tools",
    "--read-only",
    "--http",
    "--sandbox",
    "--sandbox-network",
    "--add-dir",
];

/// `marvin mcp serve …`.
pub(super) fn run(words: &[String], mut settings: Settings) -> Outcome<u8> {
    let serve = ServeArgs::read(words, &mut settings)?;
    let token = MARVIN_MCP_TOKEN.read(&settings.env).map(str::to_owned);
    // The commands are those of another program's model, and nobody reads them here.
    settings.access.sandbox.run_unattended();
    let mut session = direct_call::session_for_others(&settings)?;
    let mut warn = |words: String| say(&format!("Warning: {words}"));
    extensions::open_unasked(&session, &settings, &mut warn);
    // Any program of this machine could ask a server that asks for no token.
    let only_readers = serve.is_read_only || (serve.http.is_some() && token.is_none());
    session.policy.readonly |= only_readers;
    let session = Arc::new(session);
    let own = Own::new(Arc::clone(&session), only_readers);
    let server = Arc::new(Server::new(Box::new(own)));
    let stop = Cancel::new();
    let signal = stop_on_signals(&stop);
    match serve.http {
        Some(address) => {
            let server = HttpServer::open(server, address, token.as_deref(), &stop)?;
            say(&format!("listening on {}", server.address()));
            server.serve();
        }
        None => stdio::serve(server, BufReader::new(io::stdin()), io::stdout(), &stop),
    }
    settle_at_end(&session).into_iter().for_each(warn);
    Ok(match signal.load(Ordering::SeqCst) {
        0 => 0,
        signal => 128 + signal,
    })
}

/// `marvin debug mcp-fixture --http [HOST:]PORT`.
pub(in crate::cli) fn fixture(words: &[String]) -> Outcome<u8> {
    let [flag, at] = words else {
        return Err(Problem::input(
            "marvin debug mcp-fixture takes --http [HOST:]PORT.",
        ));
    };
    if flag != "--http" {
        return Err(unknown_flag("mcp-fixture", flag, &["--http"]));
    }
    let server = Arc::new(Server::new(Box::new(Fixture::new())));
    let stop = Cancel::new();
    let signal = stop_on_signals(&stop);
    let server = HttpServer::open(server, address(at)?, None, &stop)?;
    say(&format!("listening on {}", server.address()));
    server.serve();
    Ok(128 + signal.load(Ordering::SeqCst))
}

/// The words after `serve`.
#[derive(Default)]
struct ServeArgs {
    /// Only tools that change nothing are wanted.
    is_read_only: bool,
    /// Where to listen.
    http: Option<SocketAddr>,
}

impl ServeArgs {
    fn read(words: &[String], settings: &mut Settings) -> Outcome<Self> {
        let mut args = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.as_str(), None),
            };
            let mut value = || {
                let value = value.or_else(|| words.next().map(String::as_str));
                value.ok_or_else(|| usage("serve", &format!("{name} needs a value.")))
            };
            match name {
                "--working-dir" => settings.working_dir = Some(PathBuf::from(value()?)),
                "--tools" => settings.access.tools = Some(value()?.to_owned()),
                "--http" => args.http = Some(address(value()?)?),
                "--read-only" => args.is_read_only = true,
                "--sandbox" => settings.access.sandbox.flags().set_mode(value()?)?,
                "--sandbox-network" => {
                    let value = value()?;
                    settings.access.sandbox.flags().set_network(value)?;
                }
                "--add-dir" => settings.json.added_dirs.push(PathBuf::from(value()?)),
                _ => return Err(unknown_flag("serve", name, &FLAGS)),
            }
        }
        Ok(args)
    }
}

/// `[HOST:]PORT`, where the host is this machine: whoever reaches the server can call its tools.
fn address(text: &str) -> Outcome<SocketAddr> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("127.0.0.1", text));
    let host = match host.trim_matches(['[', ']']) {
        "localhost" => Some(IpAddr::from(Ipv4Addr::LOCALHOST)),
        host => host.parse().ok(),
    };
    match (host, port.parse()) {
        (Some(host), Ok(port)) if is_here(host) => Ok(SocketAddr::new(host, port)),
        (Some(_), Ok(_)) => Err(Problem::refused(format!(
            "{} is not an address of this machine alone, so nothing listens there.",
            one_line(text)
        ))
        .next("Use --http PORT, and a tunnel of your own for other machines.")),
        _ => Err(usage(
            "serve",
            &format!(
                "--http needs PORT or HOST:PORT, not \"{}\".",
                one_line(text)
            ),
        )),
    }
}

/// The addresses that the gate of the server knows as its own.
fn is_here(host: IpAddr) -> bool {
    host == IpAddr::from(Ipv4Addr::LOCALHOST) || host == IpAddr::from(Ipv6Addr::LOCALHOST)
}
