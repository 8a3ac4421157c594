//! Who answers, without a provider or a disk.

use super::*;
use crate::base::env::Env;
use crate::llm::models::ModelRegistry;

struct Alone {
    model: Model,
    run: Run,
    orders: Orders,
}

impl Alone {
    fn new() -> Self {
        let spending = Spending {
            prices: Arc::new(ModelRegistry::default()),
            max_cost: None,
            successor: None,
        };
        Self {
            model: Model::new(spending, None),
            run: Run::for_tests(),
            orders: Orders::default(),
        }
    }

    fn chosen(&mut self, outcome: Outcome<Box<ModelTarget>>) -> Vec<UiUpdate> {
        let facts = Facts {
            is_new: true,
            ..Facts::default()
        };
        (self.model).chosen(outcome, &self.run, &facts, &mut self.orders);
        self.orders.take_updates()
    }

    fn offline(&self) -> Box<ModelTarget> {
        let choice = ModelChoice {
            provider: Some("offline".to_owned()),
            model: None,
        };
        let env = Env::default();
        let target = setup::model_target(&choice, self.model.spending(), &env, &mut |_| {});
        Box::new(target.unwrap())
    }
}

#[test]
fn the_first_choice_is_greeted_and_a_later_one_told_in_a_line() {
    let mut alone = Alone::new();
    assert!(alone.model.is_being_chosen());
    let first = alone.offline();
    let shown = alone.chosen(Ok(first));
    assert!(matches!(&shown[..], [UiUpdate::Listing(_)]), "{shown:?}");
    let second = alone.offline();
    let shown = alone.chosen(Ok(second));
    assert!(matches!(&shown[..], [UiUpdate::Remark(_)]), "{shown:?}");
    assert!(!alone.model.is_being_chosen());
}

#[test]
fn a_change_that_fails_keeps_the_model_and_a_first_choice_that_fails_says_why() {
    let mut alone = Alone::new();
    let problem = || Problem::config("No key. Choose --provider NAME.");
    alone.chosen(Err(problem()));
    let Backend::Failed(reason) = alone.model.backend() else {
        panic!("somebody answers");
    };
    assert!(reason.contains("/model PROVIDER"), "{reason}");
    let offline = alone.offline();
    alone.chosen(Ok(offline));
    let shown = alone.chosen(Err(problem()));
    assert!(matches!(&shown[..], [UiUpdate::Failed(_)]), "{shown:?}");
    assert!(alone.model.target().is_some());
}

#[test]
fn an_effort_is_taken_or_refused() {
    let mut alone = Alone::new();
    let (run, orders) = (&alone.run, &mut alone.orders);
    assert!(alone.model.change_effort("enormous", run, orders).is_err());
    assert_eq!(alone.model.effort(), None);
    alone.model.change_effort("high", run, orders).unwrap();
    assert_eq!(alone.model.effort(), Some(Effort::High));
    let shown = orders.take_updates();
    assert!(
        matches!(&shown[..], [UiUpdate::Remark(words)] if words.contains("from the next message on"))
    );
}
