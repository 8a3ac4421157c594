//! Calls of models: those of auxiliary stages, each with the model of its role, and the one that answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::prompt_dump;
use super::stage::{ChatRequest, Stage, StageModel, StageModelRole, StageRequest};
use crate::base::cancel::Cancel;
use crate::base::embedding::Embedding;
use crate::base::problem::{Outcome, Problem};
use crate::chat::message::Message;
use crate::formats::model_text;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::fallback::{AttemptState, Decision, decide};
use crate::llm::provider::{CallOptions, Delta, Effort, Offer, Reply, Request};
use crate::model_call::ask::{self, announce_wait, ask_once, retries};
use crate::model_call::model_target::ModelTarget;
use crate::net::service::time_limit::timed;
use crate::reply::settings::ReplySettings;
use crate::tools::engine::context::ToolContext;

/// How much longer than the stage the connection of a reply in one piece may wait: the stage's own clock is the one that ends it.
const CONNECTION_SLACK: Duration = Duration::from_secs(5);

/// Calls the models of the flow at one provider. Every call is counted like one of a conversation; only the answer may be another provider's.
///
/// A call that is cut off closes all connections of its provider, so what runs beside a reply (the memory update) needs a [`ModelTarget`] of its own.
pub(crate) struct StageCaller {
    ctx: ToolContext,
    target: Arc<ModelTarget>,
    settings: ReplySettings,
    /// The reasoning effort that the user chose.
    effort: Option<Effort>,
    /// How often a server that could not be reached was waited for since it last answered: all calls of a reply wait for it together.
    waited: AtomicUsize,
}

/// The parts in which the calls differ.
struct Call<'a> {
    stage: Stage,
    target: &'a ModelTarget,
    model: &'a str,
    system: &'a str,
    messages: &'a [Message],
    offer: &'a Offer,
    think: bool,
    stream: bool,
    limit: Duration,
}

impl StageCaller {
    pub(crate) fn new(
        ctx: &ToolContext,
        target: &Arc<ModelTarget>,
        settings: &ReplySettings,
        effort: Option<Effort>,
    ) -> Self {
        Self {
            ctx: ctx.clone(),
            target: Arc::clone(target),
            settings: settings.clone(),
            effort,
            waited: AtomicUsize::new(0),
        }
    }

    /// Asks the chat model, which is that of `target`; pieces go to `on_piece` as they arrive.
    ///
    /// # Errors
    /// The provider's failure, after repeats that fit into the time of the stage.
    pub(crate) fn chat(
        &self,
        target: &ModelTarget,
        request: &ChatRequest<'_>,
        on_piece: &mut dyn FnMut(Delta<'_>),
    ) -> Result<Reply, Failure> {
        let call = Call {
            stage: Stage::Chat,
            target,
            model: &target.model,
            system: request.system,
            messages: request.messages,
            offer: request.offer,
            think: self.settings.thinking_enabled,
            stream: request.stream,
            limit: self.settings.chat_limit,
        };
        if self.settings.prompt_dump {
            prompt_dump::write(&self.ctx, &target.model, request);
        }
        self.call(&call, on_piece)
    }

    /// The name of the model of a stage.
    pub(crate) fn model(&self, stage: Stage) -> &str {
        let settings = &self.settings;
        let names = match stage.role() {
            StageModelRole::Chat => ["", ""],
            StageModelRole::Planner => [settings.planner_model.as_str(), ""],
            StageModelRole::Router => [
                settings.router_model.as_str(),
                settings.judge_model.as_str(),
            ],
            StageModelRole::Judge => [settings.judge_model.as_str(), ""],
        };
        let own = names.into_iter().find(|name| !name.is_empty());
        own.unwrap_or(&self.target.model)
    }

    fn call(&self, call: &Call<'_>, on: &mut dyn FnMut(Delta<'_>)) -> Result<Reply, Failure> {
        let (target, model) = (call.target, call.model);
        let provider = &target.provider;
        let other = (model != target.model).then(|| target.prices.facts(provider.name(), model));
        // What the user chose is for answers; the other stages are quick and never think.
        let effort = self.effort.filter(|_| call.stage == Stage::Chat);
        let info = other.as_ref().unwrap_or(&target.info);
        let request = Request {
            system: call.system,
            effort: effort.unwrap_or(Effort::Low),
            effort_chosen: effort.is_some(),
            // One that keeps the conversation itself has to know that the rounds of a reply belong together.
            cache_key: if provider.keeps_conversation() {
                "reply"
            } else {
                ""
            },
            options: CallOptions {
                stream: call.stream,
                temperature: call.stage.temperature(),
                think: Some(call.think),
                window: Some(call.stage.window(&self.settings)),
                limit: (!call.stream).then_some(call.limit + CONNECTION_SLACK),
                ..CallOptions::default()
            },
            ..Request::new(model, info, call.messages, call.offer)
        };
        self.repeat(call, &request, on)
    }

    /// Sends the request, and again where that helps and the time of the stage allows it.
    fn repeat(
        &self,
        call: &Call<'_>,
        request: &Request<'_>,
        on: &mut dyn FnMut(Delta<'_>),
    ) -> Result<Reply, Failure> {
        let until = Instant::now() + call.limit;
        let mut state = AttemptState::default();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let send = |stop: &_| ask_once(&self.ctx, call.target, request, on, stop);
            let (answered, is_late) = timed(&self.ctx.stop, left, send)
                .map_err(|problem| Failure::new(FailureKind::Server, problem))?;
            let failure = match answered {
                Ok(reply) => {
                    self.waited.store(0, Ordering::Relaxed);
                    return Ok(reply);
                }
                Err(failure) if is_late && failure.kind == FailureKind::Cancelled => {
                    return Err(too_slow(request.model, call.limit));
                }
                Err(failure) => failure,
            };
            let left = until.saturating_duration_since(Instant::now());
            if failure.passing.is_some() {
                state.waited = state.waited.max(self.waited.load(Ordering::Relaxed));
            }
            match decide(&failure, state.limited_to(retries(&self.ctx))) {
                Decision::Wait(wait) if wait < left => {
                    state.waited += 1;
                    if failure.passing.is_some() {
                        self.waited.fetch_max(state.waited, Ordering::Relaxed);
                    }
                    // Auxiliary stages wait for a rate limit in silence.
                    if call.stage == Stage::Chat || failure.passing.is_some() {
                        announce_wait(&self.ctx, call.target, &failure, (wait, state.waited));
                    }
                    if !self.ctx.stop.sleep(wait) {
                        return Err(Failure::cancelled());
                    }
                }
                Decision::Again => state.repeated = true,
                _ => return Err(failure),
            }
        }
    }
}

impl StageModel for StageCaller {
    fn ask(&self, request: &StageRequest<'_>) -> Outcome<String> {
        let system = format!("Stage: {}\n{}", request.stage.id(), request.system);
        let messages = [Message::user(request.user)];
        let call = Call {
            stage: request.stage,
            target: &self.target,
            model: self.model(request.stage),
            system: &system,
            messages: &messages,
            offer: &Offer::none(),
            think: false,
            stream: false,
            limit: request.limit,
        };
        let reply = self.call(&call, &mut |_| {});
        let reply = reply.map_err(|failure| *failure.problem)?;
        Ok(model_text::without_thoughts(&reply.text).trim().to_owned())
    }

    fn embed(&self, texts: &[String]) -> Outcome<Vec<Embedding>> {
        let (model, limit) = (&self.settings.embed_model, self.settings.embed_limit);
        if model.is_empty() {
            return Err(Problem::config("No model for embeddings is set.").next("Set embed_model."));
        }
        let send = |stop: &Cancel| ask::embed(&self.ctx, &self.target, model, texts, stop);
        match timed(&self.ctx.stop, limit, send)? {
            (Err(problem), true) if problem.is_cancelled() => Err(*too_slow(model, limit).problem),
            (answered, _) => answered,
        }
    }
}

fn too_slow(model: &str, limit: Duration) -> Failure {
    let seconds = limit.as_secs_f64().ceil();
    let problem = Problem::timeout(format!("{model} did not answer within {seconds} s."));
    Failure::new(FailureKind::Stalled, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::env::Env;
    use crate::base::problem::ProblemKind;
    use crate::chat::event::NullSink;
    use crate::reply::testing::{Answer, ModelServer};
    use crate::tools::engine::context::SessionContext;
    use crate::tools::engine::policy::ToolPolicy;
    use serde_json::json;

    const NOW: Duration = Duration::ZERO;
    const HELLO: Answer = (
        NOW,
        200,
        r#"{"message":{"content":"<think>x</think>hello"},"done":true,"prompt_eval_count":7,"eval_count":2}"#,
    );

    fn caller(
        target: &Arc<ModelTarget>,
        settings: &ReplySettings,
    ) -> (StageCaller, Arc<SessionContext>) {
        let session = Arc::new(SessionContext::new(Env::default(), ToolPolicy::default()));
        let ctx = ToolContext::new(Arc::clone(&session), Cancel::new(), Arc::new(NullSink));
        (StageCaller::new(&ctx, target, settings, None), session)
    }

    fn request(stage: Stage, limit: Duration) -> StageRequest<'static> {
        StageRequest {
            stage,
            system: "Pick.",
            user: "hi",
            limit,
        }
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn texts_become_vectors_in_time_or_not_at_all() {
        const VECTORS: Answer = (
            NOW,
            200,
            r#"{"embeddings":[[3,0],[0,4]],"prompt_eval_count":5}"#,
        );
        let late = (Duration::from_secs(60), 200, "{}");
        let server = ModelServer::new(&[VECTORS, (NOW, 404, r#"{"error":"no model"}"#), late]);
        let target = server.target("ollama", "small", &[]);
        let settings = ReplySettings {
            embed_model: "nomic".to_owned(),
            ..ReplySettings::default()
        };
        let (model, session) = caller(&target, &settings);
        let texts = ["tea".to_owned(), "boats".to_owned()];
        let vectors = model.embed(&texts).unwrap();
        assert_eq!(vectors[0].cosine(&vectors[1]), Some(0.0));
        assert_eq!(session.ledger.totals().tokens().input, 5);
        let (path, body) = server.requests().remove(0);
        assert_eq!(path, "/api/embed");
        assert_eq!(body, json!({"model": "nomic", "input": ["tea", "boats"]}));
        let refused = model.embed(&texts).unwrap_err();
        assert!(refused.what.contains("no model"), "{refused:?}");
        let quick = ReplySettings {
            embed_limit: Duration::from_millis(20),
            ..settings
        };
        let (model, _session) = caller(&target, &quick);
        assert_eq!(model.embed(&texts).unwrap_err().kind, ProblemKind::Timeout);
        let (model, _session) = caller(&target, &ReplySettings::default());
        assert_eq!(model.embed(&texts).unwrap_err().kind, ProblemKind::Config);
    }

    #[test]
    fn a_stage_sends_two_messages_in_one_piece_and_is_counted() {
        let server = ModelServer::new(&[HELLO, HELLO]);
        let target = server.target("ollama", "gemma4:e2b", &[]);
        let settings = ReplySettings {
            judge_model: "qwen3:4b".to_owned(),
            ..ReplySettings::default()
        };
        let (caller, session) = caller(&target, &settings);
        assert_eq!(caller.ask(&request(Stage::Router, LONG)).unwrap(), "hello");
        assert_eq!(
            caller.ask(&request(Stage::MemoryDigest, LONG)).unwrap(),
            "hello"
        );
        let sent = server.requests();
        let messages = |id: &str| {
            json!([
                {"role": "system", "content": format!("Stage: {id}\nPick.")},
                {"role": "user", "content": "hi"},
            ])
        };
        assert_eq!(
            sent[0],
            (
                "/api/chat".to_owned(),
                json!({
                    "model": "qwen3:4b", "messages": messages("router"), "stream": false, "think": false,
                    "options": {"num_ctx": 8192, "temperature": 0.0},
                })
            )
        );
        assert_eq!(
            sent[1].1,
            json!({
                "model": "gemma4:e2b", "messages": messages("memory_digest"), "stream": false, "think": false,
                "options": {"num_ctx": 4096},
            })
        );
        let totals = session.ledger.totals();
        let tokens = totals.provider_tokens["ollama"];
        assert_eq!((totals.turns, tokens.input, tokens.output), (2, 14, 4));
        assert_eq!(totals.model_turns["qwen3:4b"], 1);
    }

    #[test]
    fn roles_have_models_of_their_own_and_fall_back_to_the_chat_model() {
        let server = ModelServer::new(&[]);
        let target = server.target("ollama", "chat", &[]);
        let names = |router: &str, judge: &str, planner: &str| {
            let settings = ReplySettings {
                router_model: router.to_owned(),
                judge_model: judge.to_owned(),
                planner_model: planner.to_owned(),
                ..ReplySettings::default()
            };
            let (caller, _) = caller(&target, &settings);
            [
                Stage::Chat,
                Stage::Planner,
                Stage::Router,
                Stage::LoopDigest,
            ]
            .map(|stage| caller.model(stage).to_owned())
        };
        assert_eq!(names("", "", ""), ["chat", "chat", "chat", "chat"]);
        assert_eq!(names("r", "", ""), ["chat", "chat", "r", "chat"]);
        assert_eq!(names("", "j", ""), ["chat", "chat", "j", "j"]);
        assert_eq!(names("r", "j", "p"), ["chat", "p", "r", "j"]);
    }

    #[test]
    fn a_model_that_refuses_the_thinking_switch_is_asked_without_it_and_that_is_remembered() {
        let refusal = (NOW, 400, r#"{"error":"\"m\" does not support thinking"}"#);
        let server = ModelServer::new(&[refusal, HELLO, HELLO, refusal, refusal]);
        let target = server.target("ollama", "m", &[]);
        let (caller, _) = caller(&target, &ReplySettings::default());
        for _ in 0..2 {
            assert_eq!(caller.ask(&request(Stage::Planner, LONG)).unwrap(), "hello");
        }
        let thinks = |server: &ModelServer| -> Vec<bool> {
            let requests = server.requests();
            requests
                .iter()
                .map(|(_, body)| body.get("think").is_some())
                .collect()
        };
        assert_eq!(thinks(&server), [true, false, false]);
        assert!(
            caller.ask(&request(Stage::Planner, LONG)).is_err(),
            "only once"
        );
        assert_eq!(server.requests().len(), 4);
    }

    #[test]
    fn a_server_without_the_path_of_ollama_is_asked_as_a_compatible_one_from_then_on() {
        let chat = (NOW, 200, r#"{"choices":[{"message":{"content":"hello"}}]}"#);
        let server = ModelServer::new(&[(NOW, 404, "404 page not found"), chat, chat]);
        let target = server.target("ollama", "m", &[]);
        let (caller, _) = caller(&target, &ReplySettings::default());
        for _ in 0..2 {
            assert_eq!(caller.ask(&request(Stage::Router, LONG)).unwrap(), "hello");
        }
        let paths: Vec<String> = server
            .requests()
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        assert_eq!(
            paths,
            ["/api/chat", "/v1/chat/completions", "/v1/chat/completions"]
        );
    }

    #[test]
    fn the_limit_of_the_stage_holds_and_not_that_of_the_first_byte() {
        let slow = (Duration::from_millis(1_300), HELLO.1, HELLO.2);
        let server = ModelServer::new(&[slow, slow]);
        let target = server.target("ollama", "m", &[("MARVIN_FIRST_BYTE_TIMEOUT", "1")]);
        let (caller, _) = caller(&target, &ReplySettings::default());
        assert_eq!(caller.ask(&request(Stage::Router, LONG)).unwrap(), "hello");
        let problem = caller
            .ask(&request(Stage::Router, Duration::from_millis(50)))
            .unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Timeout);
        assert_eq!(problem.what, "m did not answer within 1 s.");
    }

    #[test]
    fn a_stopped_reply_stops_the_call() {
        let server = ModelServer::new(&[(LONG, 200, "{}")]);
        let target = server.target("ollama", "m", &[]);
        let (caller, _) = caller(&target, &ReplySettings::default());
        let stop = caller.ctx.stop.clone();
        let asked = std::thread::scope(|scope| {
            let asking = scope.spawn(|| caller.ask(&request(Stage::Router, LONG)));
            while server.requests().is_empty() {
                std::thread::yield_now();
            }
            let since = Instant::now();
            stop.fire();
            let asked = asking.join().unwrap();
            assert!(since.elapsed() < Duration::from_secs(5));
            asked
        });
        assert!(asked.unwrap_err().is_cancelled());
    }

    #[test]
    fn a_rate_limit_is_waited_for_only_within_the_time_of_the_stage() {
        let limited = (NOW, 429, r#"{"error":"too many requests"}"#);
        let server = ModelServer::new(&[limited, HELLO]);
        let target = server.target("ollama", "m", &[]);
        let (caller, _) = caller(&target, &ReplySettings::default());
        assert!(
            caller
                .ask(&request(Stage::Router, Duration::from_secs(20)))
                .is_err()
        );
        assert_eq!(server.requests().len(), 1);
    }

    #[test]
    fn the_chat_call_carries_tools_and_thinking_and_fails_with_its_status() {
        let no_tools = (NOW, 400, r#"{"error":"m does not support tools"}"#);
        let server = ModelServer::new(&[no_tools, HELLO]);
        let target = server.target("ollama", "m", &[]);
        let settings = ReplySettings {
            thinking_enabled: true,
            num_ctx: 2_048,
            ..ReplySettings::default()
        };
        let (caller, session) = caller(&target, &settings);
        let offer = session.registry().offer(&session.policy, 1, false);
        let messages = [Message::user("hi")];
        let chat = |offer: &Offer| {
            let request = ChatRequest {
                system: "[Context: now]",
                messages: &messages,
                offer,
                stream: false,
            };
            caller.chat(&target, &request, &mut |_| {})
        };
        let failure = chat(&offer).unwrap_err();
        assert_eq!(
            failure
                .answer
                .map(|answer| (answer.status, answer.mentions_tools)),
            Some((400, true))
        );
        assert_eq!(
            server.requests().len(),
            1,
            "another form of request is the caller's decision"
        );
        assert_eq!(chat(&Offer::none()).unwrap().text, "<think>x</think>hello");
        let sent = server.requests();
        assert_eq!(sent[0].1["tools"].as_array().map(Vec::len), Some(1));
        assert_eq!(sent[1].1.get("tools"), None);
        assert_eq!(
            (&sent[1].1["think"], &sent[1].1["options"]),
            (&json!(true), &json!({"num_ctx": 2048}))
        );
    }
}
