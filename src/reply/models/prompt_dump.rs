//! Chat requests as files, for those who want to see what the model is told.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::stage::ChatRequest;
use crate::base::problem::Outcome;
use crate::chat::event::{Event, Level};
use crate::disk::atomic::{self, Access};
use crate::reply::dialogue::carry_over::scrubbed_value;
use crate::tools::engine::context::ToolContext;

/// Set once the user was told that requests are written.
#[derive(Debug, Default)]
struct DumpNotice(AtomicBool);

/// Writes a request of the chat model below the profile's memory folder, without secrets. A failure is a notice.
pub(crate) fn write(ctx: &ToolContext, model: &str, request: &ChatRequest<'_>) {
    let notice = |text: String| ctx.listener.emit(Event::Notice(Level::Warning, text));
    match dump(ctx, model, request) {
        Ok(folder) => {
            let is_told = ctx.session.modules.get::<DumpNotice>();
            if !is_told.0.swap(true, Ordering::Relaxed) {
                notice(format!(
                    "Every request of the chat model is written to {folder} (prompt_dump)."
                ));
            }
        }
        Err(problem) => notice(format!("The request was not written: {problem}")),
    }
}

fn dump(ctx: &ToolContext, model: &str, request: &ChatRequest<'_>) -> Outcome<String> {
    let session = &ctx.session;
    let folder = session
        .paths
        .profile(&session.profile())?
        .memory()
        .join("prompts");
    let tools: Vec<&str> = request.offer.tools.iter().map(|tool| &*tool.name).collect();
    let dump = scrubbed_value(json!({
        "time": session.clock.utc(),
        "model": model,
        "system": request.system,
        "messages": serde_json::to_value(request.messages).unwrap_or(Value::Null),
        "tools": tools,
    }));
    let text = serde_json::to_vec_pretty(&dump).unwrap_or_default();
    let stamp = session.clock.stamp();
    let free = (1u32..)
        .map(|n| folder.join(format!("{stamp}-{n:03}.json")))
        .find(|path| !path.exists());
    if let Some(path) = free {
        atomic::write(&path, &text, Access::Private)?;
    }
    Ok(folder.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::env::Env;
    use crate::base::testing::assert_has;
    use crate::chat::event::EventSink;
    use crate::chat::message::Message;
    use crate::llm::provider::Offer;
    use crate::tools::engine::context::SessionContext;
    use crate::tools::engine::policy::ToolPolicy;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::{Arc, Mutex};

    #[derive(Default)]
    struct Notices(Mutex<Vec<String>>);

    impl EventSink for Notices {
        fn emit(&self, event: Event) {
            if let Event::Notice(_, text) = event {
                self.0.lock().unwrap().push(text);
            }
        }
    }

    #[test]
    fn requests_are_private_files_without_secrets_and_the_user_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::from([("MARVIN_CONFIG_DIR", dir.path().to_str().unwrap())]);
        let session = Arc::new(SessionContext::new(env, ToolPolicy::default()));
        session.set_profile("main");
        let folder = session
            .paths
            .profile("main")
            .unwrap()
            .memory()
            .join("prompts");
        let notices = Arc::new(Notices::default());
        let ctx = ToolContext::new(session, Cancel::new(), notices.clone());
        let messages = [Message::user("mail ada@example.org")];
        let request = ChatRequest {
            system: "[Context: now]",
            messages: &messages,
            offer: &Offer::none(),
            stream: false,
        };
        write(&ctx, "m", &request);
        write(&ctx, "m", &request);
        let files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        assert_eq!(files.len(), 2);
        let text = std::fs::read_to_string(&files[0]).unwrap();
        assert_has(&text, &["[REDACTED_EMAIL]", "[Context: now]"]);
        let mode = std::fs::metadata(&files[0]).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(notices.0.lock().unwrap().len(), 1);
    }
}
