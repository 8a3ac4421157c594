//! Floor 8: the plain loop of requests and tool rounds that produces a reply.
//!
//! [`turn`] is the loop; [`system`] writes the system prompt, [`window`] fits a request into the model's window, `more_rounds` asks for more of them, `ending`
//! says what an end means. [`crate::app::session::turn_job`] calls it, on the turn's thread. It knows no screen and no session: what happens is an
//! event, and what tools want of the session is handed back.

pub(crate) mod ending;
mod more_rounds;
mod overhead;
pub(crate) mod prompts;
pub(crate) mod system;
pub(crate) mod turn;
mod window;
