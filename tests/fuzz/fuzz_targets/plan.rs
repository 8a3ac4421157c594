//! Plans of the reply flow: a few short steps, whatever a model wrote.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::reply::Plan;

fuzz_target!(|answer: &str| {
    let plan = Plan::parse(answer);
    assert!(plan.steps().len() <= 5);
    for step in plan.steps() {
        assert!(step.chars().count() <= 201 && !step.trim().is_empty());
    }
    assert!(plan.tool_steps().len() < plan.steps().len().max(1));
    plan.memory_topic();
});
