//! Tools that are registered at run time, beside the built-in ones.

use super::*;
use crate::base::cancel::Cancel;
use crate::base::cpu_time::CpuTime;
use crate::base::env::Env;
use crate::base::testing::assert_lacks;
use crate::chat::event::NullSink;
use crate::tools::engine::batch;
use crate::tools::engine::rules::Rules;
use crate::tools::{OUTSIDE, READ, all};

fn names(bounds: &ToolPolicy, max: usize) -> Vec<String> {
    let offer = Registry::default().offer(bounds, max, false);
    offer
        .tools
        .iter()
        .map(|tool| tool.name.to_string())
        .collect()
}

#[test]
fn every_default_is_a_value_that_its_schema_shows() {
    for tool in all() {
        let schema: Value = serde_json::from_str(tool.schema).unwrap();
        for field in tool.fields() {
            let shown = schema["properties"][field.name].get("default");
            assert_eq!(shown, field.default_value().as_ref(), "{}", tool.name);
            assert_eq!(shown.is_some(), field.default.is_some(), "{}", tool.name);
        }
    }
}

#[test]
fn a_summary_is_the_same_in_json() {
    for tool in all() {
        let read: String = serde_json::from_str(tool.summary_json).unwrap();
        assert_eq!(read, tool.summary);
        assert_eq!(read, read.trim());
    }
    let mut lamp = lamp("lamp_switch", READ);
    lamp.summary = "Says \"on\\off\"\n\u{1}.".to_owned();
    let summary = lamp.summary.clone();
    let offered = ToolRef::Owned(Arc::new(lamp)).offered();
    let read: String = serde_json::from_str(&offered.about_json).unwrap();
    assert_eq!(read, summary);
}

#[test]
fn q38_no_more_is_offered_than_a_request_may_hold_and_the_first_stay() {
    let whole = names(&ToolPolicy::default(), usize::MAX);
    assert!(whole.len() > 3);
    for max in [0, 1, 3, whole.len() - 1, whole.len(), whole.len() + 1] {
        let cut = names(&ToolPolicy::default(), max);
        assert_eq!(cut, whole[..max.min(whole.len())], "at most {max}");
    }
    let readonly = ToolPolicy {
        readonly: true,
        ..ToolPolicy::default()
    };
    let allowed = names(&readonly, usize::MAX);
    assert!(allowed.len() < whole.len());
    // The limit counts the tools that are offered, not those that are skipped.
    assert_eq!(names(&readonly, allowed.len()), allowed);
}

#[test]
fn what_the_run_has_brought_along_is_offered_before_others_but_leaves_half_to_them() {
    let registry = Registry::default();
    for n in 0..40 {
        let tool = lamp(&format!("own_{n}"), READ.of_run());
        registry.register(tool).unwrap();
    }
    let offered = |max: usize| {
        let offer = registry.offer(&ToolPolicy::default(), max, false);
        let names = offer.tools.iter().map(|tool| tool.name.to_string());
        let (own, others): (Vec<_>, Vec<_>) = names.partition(|name| name.starts_with("own_"));
        (own.len(), others.len())
    };
    let all = Registry::default().all().len();
    assert_eq!(offered(usize::MAX), (40, all));
    assert_eq!(offered(all), (40, all - 40));
    assert_eq!(offered(20), (10, 10));
    assert_eq!(offered(0), (0, 0));
    // --tools chooses among the others.
    let policy = ToolPolicy {
        groups: Some(Vec::new()),
        ..ToolPolicy::default()
    };
    assert_eq!(registry.offer(&policy, usize::MAX, false).tools.len(), 40);
    assert_eq!(registry.offer(&policy, 30, false).tools.len(), 30);
}

/// A session with a registered tool under the policy. The tool waits for its token when told to, and otherwise repeats its arguments.
fn with_lamp(bounds: ToolPolicy, effect: Rules) -> ToolContext {
    let session = SessionContext::new(Env::default(), bounds);
    session
        .registry()
        .register(lamp("lamp_switch", effect))
        .unwrap();
    ToolContext::new(Arc::new(session), Cancel::new(), Arc::new(NullSink))
}

fn lamp(name: &str, rules: Rules) -> OwnedTool {
    let schema = r#"{"type":"object","properties":{"on":{"type":"boolean"}}}"#;
    OwnedTool {
        name: name.to_owned(),
        module: "lamps".to_owned(),
        summary: "Switches the lamp.".to_owned(),
        schema: serde_json::value::RawValue::from_string(schema.to_owned()).unwrap(),
        rules,
        phrases: Arc::new(["switch the lamp to {on}".to_owned()]),
        run: Box::new(|ctx, args| {
            while args.contains_key("wait") {
                ctx.stop.check()?;
                std::thread::yield_now();
            }
            Ok(ToolOk::from(Value::from(args.clone()).to_string()))
        }),
    }
}

fn call(name: &str, args: &str) -> ToolCall {
    ToolCall::new("a", name, args)
}

#[test]
fn a_registered_tool_is_offered_called_and_logged_like_a_built_in_one() {
    let ctx = with_lamp(ToolPolicy::default(), OUTSIDE);
    let offer = ctx
        .session
        .registry()
        .offer(&ctx.session.policy, usize::MAX, false);
    assert_eq!(offer.tools.len(), all().count() + 1);
    let offered = offer.tools.last().unwrap();
    assert_eq!(
        (&*offered.name, &*offered.about_json),
        ("lamp_switch", "\"Switches the lamp.\"")
    );
    assert!(offered.params_json.contains("boolean"));
    assert_eq!(
        offered.phrases.iter().collect::<Vec<_>>(),
        ["switch the lamp to {on}"]
    );
    // A string that contains an object is accepted, as for every tool.
    for args in [r#"{"on":true}"#, r#""{\"on\":true}""#] {
        let ended = batch::run_one(&ctx, &call("lamp_switch", args));
        assert_eq!(ended.output.text, r#"{"on":true}"#);
        assert_eq!(ended.end, CallEnd::Success);
    }
    let ended = batch::run_one(&ctx, &call("lamp_switch", "on"));
    assert!(ended.output.failed && ended.output.text.contains("must be a JSON object"));
    assert_lacks(&ended.output.text, &["Parameters: none"]);
    let plan = ctx.session.registry().plan(&call("lamp_switch", "{}"));
    assert_eq!((plan.parallel, plan.limit), (false, OUTSIDE.limit));
}

#[test]
fn a_registered_tool_is_found_by_what_a_model_makes_of_its_name() {
    let ctx = with_lamp(ToolPolicy::default(), READ);
    let registry = ctx.session.registry();
    for name in ["lamp_switch", " lamp_switch\n", "functions.lamp_switch"] {
        assert_eq!(registry.find_canonical(name).unwrap().name(), "lamp_switch");
    }
    assert!(registry.find_canonical("lamp").is_none());
    let hint = registry
        .unknown("lamp_swich", &ToolPolicy::default())
        .one_line();
    assert!(hint.contains("Did you mean \"lamp_switch\"?"), "{hint}");
}

#[test]
fn a_registered_tool_is_refused_by_its_effect_its_group_and_in_a_child() {
    let readonly = || ToolPolicy {
        readonly: true,
        ..ToolPolicy::default()
    };
    let named_files = ToolPolicy {
        writable: Some(Vec::new()),
        ..ToolPolicy::default()
    };
    let groups = ToolPolicy {
        groups: Some(vec!["files"]),
        ..ToolPolicy::default()
    };
    let child = ToolPolicy {
        depth: 1,
        ..ToolPolicy::default()
    };
    for (bounds, rules, is_refused) in [
        (readonly(), OUTSIDE, true),
        (readonly(), READ, false),
        (named_files, OUTSIDE, true),
        (groups, READ, true),
        (child, READ, true),
    ] {
        let ctx = with_lamp(bounds, rules);
        let offer = ctx
            .session
            .registry()
            .offer(&ctx.session.policy, usize::MAX, false);
        let is_offered = offer.tools.iter().any(|tool| tool.name == "lamp_switch");
        assert_eq!(is_offered, !is_refused);
        let ended = batch::run_one(&ctx, &call("lamp_switch", "{}"));
        assert_eq!(ended.output.failed, is_refused, "{}", ended.output.text);
        assert_eq!(ended.output.text.contains("not available here"), is_refused);
    }
}

#[test]
fn a_registered_tool_is_cancelled_with_the_turn_and_stopped_at_its_limit() {
    let ctx = with_lamp(ToolPolicy::default(), READ);
    let stop = ctx.stop.clone();
    let ended = std::thread::scope(|scope| {
        let running = scope.spawn(|| batch::run_one(&ctx, &call("lamp_switch", r#"{"wait":1}"#)));
        stop.fire();
        running.join().unwrap()
    });
    assert_eq!(ended.end, CallEnd::Stopped);
    let ctx = with_lamp(ToolPolicy::default(), READ.seconds(0));
    let ended = batch::run_one(&ctx, &call("lamp_switch", r#"{"wait":1}"#));
    assert_eq!(ended.end, CallEnd::Timeout);
}

#[test]
fn a_name_is_registered_once_and_only_if_providers_accept_it() {
    let registry = Registry::default();
    registry.register(lamp("lamp-1_x", READ)).unwrap();
    for name in ["lamp-1_x", "read_file", "", "a b", "lämp", &"x".repeat(65)] {
        assert!(registry.register(lamp(name, READ)).is_err(), "{name}");
    }
    assert_eq!(
        registry
            .offer(&ToolPolicy::default(), usize::MAX, false)
            .tools
            .len(),
        all().count() + 1
    );
}

#[test]
fn ten_times_as_many_tools_take_about_ten_times_as_long_to_register() {
    let registering = |count: usize| {
        let least = (0..3).map(|_| {
            let registry = Registry::default();
            let tools: Vec<OwnedTool> = (0..count)
                .map(|n| lamp(&format!("server__lamp_{n}"), READ))
                .collect();
            let since = CpuTime::now();
            for tool in tools {
                assert!(registry.find(&tool.name).is_none());
                registry.register(tool).unwrap();
            }
            since.elapsed()
        });
        least.min().unwrap()
    };
    let (few, many) = (registering(500), registering(5_000));
    assert!(many < few * 30, "{few:?} and {many:?}");
}
