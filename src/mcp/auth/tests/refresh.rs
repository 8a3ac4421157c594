//! Tokens that end, in one process and in several.

use serde_json::Value;

use super::world::World;
use crate::mcp::auth::policy::SignInPolicy;

#[test]
fn a_token_is_refreshed_before_it_ends_and_once_when_it_is_refused() {
    let world = World::new(|state| state.life = Some(59));
    let session = world.session(world.console(), Value::Null);
    assert_eq!(world.ask(&session).unwrap(), 200);
    world.state.lock().life = Some(3_600);
    let before = world.asked("POST /token");
    let quiet = world.session(SignInPolicy::Never, Value::Null);
    assert_eq!(world.ask(&quiet).unwrap(), 200);
    assert_eq!(world.ask(&quiet).unwrap(), 200);
    assert_eq!(world.asked("POST /token"), before + 1);
    world.state.lock().access.clear();
    assert_eq!(world.ask(&quiet).unwrap(), 200);
    assert_eq!(world.asked("POST /token"), before + 2);
    let state = world.state.lock();
    let (_, form) = state
        .log
        .iter()
        .rev()
        .find(|(what, _)| what == "POST /token")
        .unwrap();
    let form = super::world::form(form);
    assert_eq!(form["resource"], format!("{}/mcp", state.server));
    assert_eq!(form["client_id"], "client-0-1");
}

#[test]
fn only_the_answer_that_it_is_invalid_ends_a_sign_in() {
    let world = World::new(|state| state.life = Some(1));
    let session = world.session(world.console(), Value::Null);
    assert_eq!(world.ask(&session).unwrap(), 200);
    let quiet = world.session(SignInPolicy::Never, Value::Null);
    let file = world.file();
    assert!(file.contains("REFRESH-"));
    for status in [500, 429, 400] {
        world.state.lock().broken = Some(status);
        // The server still takes the old one.
        assert_eq!(world.ask(&quiet).unwrap(), 200);
        assert_eq!(world.file(), file);
    }
    let access = std::mem::take(&mut world.state.lock().access);
    let problem = world.ask(&quiet).unwrap_err().one_line();
    assert!(problem.contains("gave no token"), "{problem}");
    assert_eq!(world.file(), file);
    world.state.lock().access = access;
    world.state.lock().broken = None;
    world.state.lock().refresh.clear();
    let problem = world.ask(&quiet).unwrap_err().one_line();
    assert!(problem.contains("marvin mcp login tasks"), "{problem}");
    assert!(!world.file().contains("REFRESH-") && world.file().contains("client-0-1"));
    // Whoever may ask the user goes on at once.
    assert_eq!(world.ask(&session).unwrap(), 200);
    assert_eq!(world.state.lock().clients.len(), 1);
}

#[test]
fn a_server_that_has_forgotten_marvin_gets_to_know_it_anew() {
    let world = World::new(|state| state.life = Some(1));
    let session = world.session(world.console(), Value::Null);
    assert_eq!(world.ask(&session).unwrap(), 200);
    {
        let mut state = world.state.lock();
        state.access.clear();
        state.forgotten = 1;
    }
    let quiet = world.session(SignInPolicy::Never, Value::Null);
    let problem = world.ask(&quiet).unwrap_err().one_line();
    assert!(problem.contains("marvin mcp login tasks"), "{problem}");
    assert!(!world.file().contains("client-0-1"), "{}", world.file());
    // Whoever may ask the user goes on at once.
    assert_eq!(world.ask(&session).unwrap(), 200);
    assert_eq!(world.state.lock().clients.len(), 2);
}

#[test]
fn a_running_session_takes_what_another_process_wrote() {
    let world = World::new(|_| {});
    let running = world.session(SignInPolicy::Never, Value::Null);
    world.ask(&running).unwrap_err();
    let session = world.session(world.console(), Value::Null);
    assert_eq!(world.ask(&session).unwrap(), 200);
    assert_eq!(world.ask(&running).unwrap(), 200);
    assert_eq!(world.state.lock().visits.len(), 1);
}

/// Of each of two sessions.
const REQUESTS: usize = 250;

#[test]
fn sessions_that_refresh_at_once_are_never_signed_out() {
    // Each token is as good as over, and a refresh token that is used twice ends all.
    let world = World::new(|state| state.life = Some(1));
    let session = world.session(world.console(), Value::Null);
    assert_eq!(world.ask(&session).unwrap(), 200);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let session = world.session(SignInPolicy::Never, Value::Null);
                for _ in 0..REQUESTS {
                    assert_eq!(world.ask(&session).unwrap(), 200);
                }
            });
        }
    });
    assert_eq!(world.state.lock().visits.len(), 1);
    assert!(
        world.state.lock().count > 250,
        "{}",
        world.state.lock().count
    );
}
