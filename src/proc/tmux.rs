//! tmux(1) around Marvin, as its environment tells.

use crate::base::env::Env;

/// The variable with the socket of the tmux that the terminal belongs to.
const SOCKET: &str = "TMUX";

/// True when tmux is the terminal itself. GNU screen sets `STY`; with both variables nothing tells which one is the inner.
pub(crate) fn is_terminal(env: &Env) -> bool {
    env.get(SOCKET).is_some() && env.get("STY").is_none()
}

/// What a child needs to talk to that tmux.
pub(super) fn socket(env: &Env) -> Option<(String, String)> {
    let socket = env.get(SOCKET)?;
    Some((SOCKET.to_owned(), socket.to_owned()))
}
