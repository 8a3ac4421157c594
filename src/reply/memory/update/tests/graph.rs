//! Facts in the knowledge graph.

use super::*;
use crate::base::testing::assert_has;

#[test]
fn known_facts_are_counted_and_not_stored_again() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    fact(
        &memory,
        "user",
        &["The user plays chess", "Plays chess at dawn"],
    );
    let before = memory.node("user").unwrap();
    let list = r#"[{"branch":"USER","fact":"the USER plays   chess"}]"#;
    let script = Script::new(&[SUMMARY, (Stage::GraphExtract, list)]);
    let (_, lines) = update(&memory, &script, &["User: x"]);
    assert_eq!(
        lines,
        ["🧠 Knowledge graph: nothing new (1 duplicate skipped)"]
    );
    assert_eq!(memory.node("user").unwrap(), before);
    let list = r#"[{"fact":"The user plays chess"},{"fact":"Plays chess"},{"fact":"plays chess at dawn"}]"#;
    let merge = r#"{"facts":["Plays chess","The user plays chess","Plays chess at dawn"]}"#;
    let script = Script::new(&[
        SUMMARY,
        (Stage::GraphExtract, list),
        (Stage::GraphMerge, merge),
    ]);
    let (_, lines) = update(&memory, &script, &["User: x"]);
    assert_eq!(
        lines[0],
        "🧠 Knowledge graph: learned 1 new fact (2 duplicates skipped)"
    );
}

#[test]
fn nothing_to_learn_is_not_worth_a_line_and_a_failure_costs_no_diary() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    for extract in [Some("[]"), Some("nothing"), Some("[{"), None] {
        let mut answers = vec![SUMMARY];
        answers.extend(extract.map(|text| (Stage::GraphExtract, text)));
        let (outcome, lines) = update(&memory, &Script::new(&answers), &["User: x"]);
        assert!(outcome.unwrap());
        assert_eq!(lines, [] as [&str; 0]);
    }
    assert_eq!(memory.nodes().unwrap().len(), 4);
}

#[test]
fn a_merge_replaces_the_facts_unless_it_cannot_be_trusted() {
    let list = r#"[{"branch":"USER","fact":"The user lives in Leeds."}]"#;
    for (merge, left, learned) in [
        (
            Some("```json\n{\"facts\":[\"The user lives in Leeds\",\"Plays {chess}\"]}\n```"),
            &["The user lives in Leeds", "Plays {chess}"][..],
            1,
        ),
        (Some("{\"facts\":[\"Moved a lot\"]}"), &["Moved a lot"], 0),
        (
            Some("{\"facts\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\"]}"),
            &[
                "Lives in Bristol",
                "Plays {chess}",
                "The user lives in Leeds.",
            ],
            1,
        ),
        (
            Some("{\"facts\":[]}"),
            &[
                "Lives in Bristol",
                "Plays {chess}",
                "The user lives in Leeds.",
            ],
            1,
        ),
        (
            Some("no idea"),
            &[
                "Lives in Bristol",
                "Plays {chess}",
                "The user lives in Leeds.",
            ],
            1,
        ),
        (
            None,
            &[
                "Lives in Bristol",
                "Plays {chess}",
                "The user lives in Leeds.",
            ],
            1,
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        let memory = store(home.path());
        fact(&memory, "user", &["Lives in Bristol", "Plays {chess}"]);
        let mut answers = vec![SUMMARY, (Stage::GraphExtract, list)];
        answers.extend(merge.map(|text| (Stage::GraphMerge, text)));
        let (_, lines) = update(&memory, &Script::new(&answers), &["User: x"]);
        assert_eq!(facts(&memory, "user"), left, "{merge:?}");
        let said = match learned {
            0 => "🧠 Knowledge graph: nothing new",
            _ => "🧠 Knowledge graph: learned 1 new fact",
        };
        assert_eq!(lines[0], said);
    }
    let long: Vec<String> = (0..9).map(|number| format!("\"{number}\"")).collect();
    assert!(
        merge::parse("{\"facts\":[\"new\"]}", 9, 1).is_none(),
        "eight facts lost"
    );
    assert!(merge::parse(&format!("{{\"facts\":[{}]}}", long.join(",")), 9, 1).is_some());
}

#[test]
fn facts_that_another_process_added_meanwhile_survive_a_merge() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    fact(&memory, "user", &["Has a cat"]);
    let other = store(home.path());
    let mut script = Script::new(&[
        SUMMARY,
        (Stage::GraphExtract, r#"[{"fact":"Has a hen"}]"#),
        (Stage::GraphMerge, r#"{"facts":["Has a cat and a hen"]}"#),
    ]);
    script.meanwhile = Some(Box::new(move |stage| {
        if stage == Stage::GraphMerge {
            fact(&other, "user", &["Has a dog"]);
        }
    }));
    fact(&memory, "world", &["x"]);
    update(&memory, &script, &["User: x"]).0.unwrap();
    let left = facts(&memory, "user");
    assert!(left.contains(&"Has a dog".to_owned()), "{left:?}");
}

#[test]
fn a_fact_goes_as_deep_as_the_model_knows_the_way() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    let pets = memory.create("user", "Pets", "Animals", &[]).unwrap();
    let hens = memory.create(&pets.id, "Hens", "", &[]).unwrap();
    let cars = memory.create("user", "Cars", "", &[]).unwrap();
    memory.touch(&cars.id).unwrap();
    let place = |answers: &[&str]| {
        let answers: Vec<_> = answers
            .iter()
            .map(|text| (Stage::GraphPick, *text))
            .collect();
        let script = Script::new(&answers);
        let fact = Fact {
            branch: Branch::User,
            text: "Ada is a hen".to_owned(),
        };
        let id = place::node_of(&memory, &script, &fact, &Cancel::new()).unwrap();
        (id, script)
    };
    let (id, script) = place(&["2", "1."]);
    assert_eq!(id, hens.id);
    assert_has(&script.user(0), &["1. Cars: \n2. Pets: Animals"]);
    assert_eq!(script.stages().len(), 2, "a leaf needs no call");
    assert_eq!(place(&["2", "NONE"]).0, pets.id);
    assert_eq!(place(&["2"]).0, pets.id, "a failure ends the way");
    assert_eq!(place(&["none"]).0, "user");
    assert_eq!(place(&["3"]).0, "user");
    for (answer, number) in [
        ("2", Some(2)),
        (" **2**", Some(2)),
        ("2. Pets", Some(2)),
        ("0", None),
        ("-1", None),
        ("Pets", None),
        ("", None),
        ("99999999999999999999999", None),
    ] {
        assert_eq!(place::number(answer, 2), number, "{answer}");
    }
}

#[test]
fn a_node_that_grew_too_large_is_split() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    let many: Vec<String> = (0..60)
        .map(|number| {
            format!(
                "The user once visited the town number {number} {}",
                "and liked it very much ".repeat(4)
            )
        })
        .collect();
    memory.append("user", &many).unwrap();
    assert!(memory.node("user").unwrap().unwrap().tokens > SPLIT_TOKENS);
    let quoted = |facts: &[String]| -> String {
        facts
            .iter()
            .map(|fact| format!("\"{fact}\""))
            .collect::<Vec<_>>()
            .join(",")
    };
    let child = |name: &str, facts: &[String]| {
        format!(
            "{{\"name\":\"{name}\",\"description\":\"d\",\"facts\":[{}]}}",
            quoted(facts)
        )
    };
    let answer = |children: &[String]| {
        format!(
            "{{\"summary\":\"Towns.\",\"children\":[{}]}}",
            children.join(",")
        )
    };
    let (left, right) = many.split_at(30);
    for (children, parts) in [
        (vec![child("A", left)], 0),
        (vec![child("A", left), child("", right)], 0),
        (vec![child("A", left), child("B", &[])], 0),
        (vec![child("A", &left[..10]), child("B", &right[..10])], 0),
        (
            vec![
                child("A", &left[..1]),
                child("B", &left[1..2]),
                child("C", &left[2..3]),
                child("D", &left[3..4]),
                child("E", &left[4..5]),
                child("F", right),
            ],
            0,
        ),
        (vec![child("A", left), child("B", right)], 2),
    ] {
        let script = answer(&children);
        let script = Script::new(&[(Stage::GraphSplit, &script)]);
        assert_eq!(
            split::split_if_large(&memory, &script, "user").unwrap(),
            parts > 0
        );
        assert_eq!(memory.children("user").unwrap().len(), parts);
    }
    assert_eq!(facts(&memory, "user"), ["Towns."]);
    // What is small enough is not asked about.
    let script = Script::new(&[]);
    assert!(!split::split_if_large(&memory, &script, "user").unwrap());
    assert!(script.stages().is_empty());
}
