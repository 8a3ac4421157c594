//! Files that are broken, odd, too large, or written by several processes.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::store::memory::file::Content;

#[test]
fn files_that_are_not_understood_are_set_aside_with_one_warning() {
    let node = |id: &str, parent: &str| {
        format!(
            r#"{{"id":"{id}","parent":{parent},"name":"N","description":"","data":"","last_access":"2026-01-01T00:00:00Z","created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z"}}"#
        )
    };
    for (name, text, why) in [
        (
            "diary.json",
            "{\"version\":1,\"rows\":[".to_owned(),
            "line 1",
        ),
        ("diary.json", "[]".to_owned(), "invalid"),
        (
            "diary.json",
            "{\"version\":2,\"rows\":[]}".to_owned(),
            "version 2",
        ),
        ("graph.json", "{\"version\":1}]".to_owned(), "trailing"),
        (
            "graph.json",
            "{\"version\":7,\"nodes\":[]}".to_owned(),
            "version 7",
        ),
        (
            "graph.json",
            format!(
                "{{\"version\":1,\"nodes\":[{}]}}",
                node("hobbies", "\"root\"")
            ),
            "\"hobbies\"",
        ),
        (
            "graph.json",
            format!(
                "{{\"version\":1,\"nodes\":[{}]}}",
                node("user", "\"world\"")
            ),
            "\"user\"",
        ),
        (
            "graph.json",
            format!(
                "{{\"version\":1,\"nodes\":[{}]}}",
                node("root", "null").replace("\"data\":\"\"", "\"data\":\"x\"")
            ),
            "root",
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), name, &text);
        let memory = store(home.path());
        assert!(memory.diary_all().unwrap().is_empty());
        assert_eq!(memory.nodes().unwrap().len(), 4);
        let warnings = memory.take_warnings();
        assert_eq!(warnings.len(), 1, "{text}");
        assert!(
            warnings[0].contains(why) && warnings[0].contains(".bad-20261122_120000"),
            "{warnings:?}"
        );
        assert!(memory.take_warnings().is_empty());
        let aside = file(home.path(), &format!("{name}.bad-20261122_120000"));
        assert_eq!(fs::read_to_string(aside).unwrap(), text);
        let again = store(home.path());
        assert_eq!(
            (again.nodes().unwrap().len(), again.take_warnings().len()),
            (4, 0)
        );
        append(&memory, "user", &["A fact"]);
    }
}

#[test]
fn a_broken_row_does_not_cost_the_others() {
    let home = tempfile::tempdir().unwrap();
    let text = r#"{"version":1,"saved_through":"2026-01-02T00:00:00Z","rows":[{"date":"yesterday","summary":"x"},{"date":"2026-01-01","summary":"Tea."}]}"#;
    write(home.path(), "diary.json", text);
    let memory = store(home.path());
    assert_eq!(memory.diary_all().unwrap()[0].summary, "Tea.");
    assert_eq!(memory.take_warnings().len(), 1);
    let aside = file(home.path(), "diary.json.records.bad-20261122_120000");
    assert_eq!(
        fs::read_to_string(aside).unwrap(),
        "{\"date\":\"yesterday\",\"summary\":\"x\"}\n"
    );
    assert_eq!(
        memory.saved_rows().unwrap().through().unwrap().to_string(),
        "2026-01-02T00:00:00Z"
    );
}

#[test]
fn a_record_that_cannot_be_read_is_set_aside_alone() {
    let row = |day: u32| format!("{{\"date\":\"2026-01-0{day}\",\"summary\":\"Tea {day}.\"}}");
    let stamps = r#""last_access":"2026-01-01T00:00:00Z","created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z""#;
    let node = |id: &str| {
        format!(
            "{{\"id\":\"{id}\",\"parent\":\"user\",\"name\":\"N\",\"data\":\"Tea {id}.\",{stamps}}}"
        )
    };
    let diary =
        |lines: &[&str]| format!("{{\"version\":1,\"rows\":[\n{}\n]}}\n", lines.join(",\n"));
    let graph =
        |lines: &[&str]| format!("{{\"version\":1,\"nodes\":[\n{}\n]}}\n", lines.join(",\n"));
    let torn = "{\"date\":\"2026-01-02\",\"summary\":\"Tor";
    let quote = "{\"date\":\"2026-01-02\",\"summary\":\"A \"quote\".\"}";
    let (one, three) = (row(1), row(3));
    let cut = diary(&[&one, &three, torn]);
    let cut = cut.split_at(cut.rfind("Tor").unwrap()).0;
    for (name, text, kept, lost) in [
        (DIARY, diary(&[&one, quote, &three]), 2, Some(quote)),
        (DIARY, diary(&[&one, "7", &three]), 2, Some("7")),
        (DIARY, diary(&[&one, torn, &three]), 2, Some(torn)),
        (
            DIARY,
            cut.to_owned(),
            2,
            Some(torn.split_at(torn.len() - 3).0),
        ),
        // A comma is missing: nothing is lost.
        (DIARY, diary(&[&one, &three]).replace(",\n", "\n"), 2, None),
        (
            GRAPH,
            graph(&[&node("a"), "{\"id\":[]}", &node("b")]),
            2,
            Some("{\"id\":[]}"),
        ),
        (GRAPH, graph(&[&node("a"), torn, &node("b")]), 2, Some(torn)),
    ] {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), name, &text);
        let memory = store(home.path());
        let count = |memory: &MemoryStore| match name {
            DIARY => memory.diary_all().unwrap().len(),
            _ => memory.nodes().unwrap().len() - 4,
        };
        assert_eq!(count(&memory), kept, "{text}");
        assert_eq!(memory.take_warnings().len(), 1, "{text}");
        let aside = file(home.path(), &format!("{name}.records.bad-20261122_120000"));
        let set_aside = fs::read_to_string(aside).ok();
        assert_eq!(set_aside, lost.map(|lost| format!("{lost}\n")), "{text}");
        let again = store(home.path());
        assert_eq!((count(&again), again.take_warnings().len()), (kept, 0));
        // Forgetting finds what was set aside.
        let erased = memory.erase(&EraseTarget::All).unwrap();
        assert_eq!(erased.files.len(), usize::from(lost.is_some()));
    }
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(file(home.path(), "")).unwrap();
    let bytes = [
        diary(&[&one]).as_bytes().split_at(21).0,
        b"\n{\"date\":\"\xff\"},\n",
        one.as_bytes(),
        b"\n]}",
    ]
    .concat();
    fs::write(file(home.path(), DIARY), bytes).unwrap();
    assert_eq!(store(home.path()).diary_all().unwrap().len(), 1);
}

#[test]
fn what_a_killed_write_left_goes_with_the_next_one() {
    let (home, memory) = new_store();
    put(&memory, date(2026, 1, 1), "Tea.", &[]);
    let ours = [
        ".diary.jsonAbC123.tmp",
        ".graph.jsonx.tmp",
        ".diary.indexQ.tmp",
        ".vectors.jsonQ.tmp",
    ];
    let others = [".notes.tmp", "diary.json.tmp", ".diary.json.swp"];
    for name in ours.iter().chain(&others) {
        write(home.path(), name, "half");
    }
    memory.diary_all().unwrap();
    assert!(
        file(home.path(), ours[0]).exists(),
        "reading removes nothing"
    );
    put(&memory, date(2026, 1, 2), "Tea.", &[]);
    let left = names(&file(home.path(), ""));
    assert!(
        ours.iter().all(|name| !left.contains(&(*name).to_owned())),
        "{left:?}"
    );
    assert!(
        others.iter().all(|name| left.contains(&(*name).to_owned())),
        "{left:?}"
    );
}

#[test]
fn odd_files_are_read_as_well_as_they_can_be() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "graph.json", "");
    write(
        home.path(),
        "diary.json",
        "\u{feff}{\"version\":1,\"saved_through\":\"2999-01-01T00:00:00Z\",\"rows\":[{\"date\":\"2999-01-01\",\"summary\":\"From a clock that was wrong.\",\"theirs\":7},{\"date\":\"2026-01-01\",\"source\":\"fax\",\"summary\":\"Tea.\"},{\"date\":\"2026-01-01\",\"summary\":\"Milk.\"}]}",
    );
    let memory = store(home.path());
    let rows = memory.diary_all().unwrap();
    assert_eq!(rows.len(), 2, "rows of one day and source are one");
    assert_eq!(rows[0].summary, "Tea. Milk.");
    assert_eq!(memory.saved_rows().unwrap().through(), Some(memory.now()));
    assert_eq!(
        memory
            .diary_search(&texts(&["clock"]), None, None, 3)
            .unwrap()
            .len(),
        1
    );
    assert!(memory.take_warnings().is_empty());
    // Circles, missing parents, ids twice.
    let stamps = r#""last_access":"9999-01-01T00:00:00Z","created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z""#;
    let nodes: Vec<String> = [("a", "b"), ("b", "a"), ("c", "gone"), ("c", "user"), ("user", "root"), ("user", "root"), ("d", "d")]
        .iter()
        .map(|(id, parent)| format!(r#"{{"id":"{id}","parent":"{parent}","name":"Tea","description":null,"data":"x",{stamps}}}"#))
        .collect();
    write(
        home.path(),
        "graph.json",
        &format!("{{\"version\":1,\"nodes\":[{}]}}", nodes.join(",")),
    );
    assert_eq!(memory.nodes().unwrap().len(), 7 + 3);
    assert_eq!(memory.branch("a").unwrap(), None);
    assert_eq!(memory.find_nodes(&texts(&["tea"]), 20).unwrap().len(), 7);
    append(&memory, "a", &["more"]);
    memory.delete("b").unwrap();
    let again = store(home.path());
    assert_eq!(again.nodes().unwrap().len(), 9);
    assert!(again.take_warnings().is_empty());
    memory.erase(&EraseTarget::Node("d".to_owned())).unwrap();
}

#[test]
fn a_file_that_is_too_large_is_refused_and_left() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "diary.json", "");
    let path = file(home.path(), "diary.json");
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(257 << 20)
        .unwrap();
    let problem = store(home.path()).diary_all().unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Limit);
    assert!(problem.what.contains("diary.json"));
    assert_eq!(names(&file(home.path(), "")), ["diary.json"]);
}

#[test]
fn several_writers_at_once_lose_nothing() {
    let home = tempfile::tempdir().unwrap();
    let stores: Vec<MemoryStore> = (0..4).map(|_| store(home.path())).collect();
    std::thread::scope(|scope| {
        for (number, memory) in stores.iter().enumerate() {
            scope.spawn(move || {
                for turn in 0..5 {
                    let day = date(2026, 1, 1 + i8::try_from(number * 5 + turn).unwrap());
                    put(memory, day, "A day", &[]);
                    memory
                        .append("user", &[format!("Fact {number} {turn}")])
                        .unwrap();
                    memory.touch("user").unwrap();
                }
            });
        }
    });
    stores.iter().for_each(|memory| memory.flush().unwrap());
    let memory = store(home.path());
    assert_eq!(memory.diary_all().unwrap().len(), 20);
    let user = memory.node("user").unwrap().unwrap();
    assert_eq!((user.facts().count(), user.accesses), (20, 20));
    // A process that summarised the same day meanwhile is noticed.
    let before = memory.diary_all().unwrap().remove(0);
    stores[0]
        .diary_put(row(before.date, "Another summary", &[]))
        .unwrap();
    assert!(
        !memory
            .diary_replace(Some(&before), before.clone(), &[])
            .unwrap()
    );
    assert_eq!(memory.diary_all().unwrap()[0].summary, "Another summary");
}

#[test]
fn a_failed_write_leaves_file_and_memory_as_they_were() {
    let (home, memory) = new_store();
    append(&memory, "user", &["One"]);
    let path = file(home.path(), "graph.json");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(memory.append("user", &texts(&["Two"])).is_err());
    fs::remove_dir(&path).unwrap();
    assert_eq!(memory.node("user").unwrap().unwrap().data, "");
    append(&memory, "user", &["Three"]);
    assert_eq!(
        store(home.path()).node("user").unwrap().unwrap().data,
        "Three"
    );
    assert_eq!(names(&file(home.path(), "")), ["graph.json", "lock"]);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_set_aside(text in "(\\{\"version\":1,\"(rows|nodes)\":\\[)?[\\[\\]{}\",:a-z0-9\\\\ ]{0,60}") {
        let (mut diary, _) = Diary::parse(text.as_bytes(), &clock());
        diary.search(std::slice::from_ref(&text), None, None, 3, None);
        let (again, damage) = Diary::parse(&diary.bytes().unwrap(), &clock());
        prop_assert_eq!(again.rows(), diary.rows());
        prop_assert!(damage.is_none());
        let (graph, _) = Graph::parse(text.as_bytes(), &clock());
        let (again, damage) = Graph::parse(&graph.bytes().unwrap(), &clock());
        prop_assert_eq!(again.nodes(), graph.nodes());
        prop_assert!(damage.is_none());
    }

    #[test]
    fn any_tree_of_nodes_is_walked_to_its_end(links in proptest::collection::vec((0_usize..12, 0_usize..12), 0..16)) {
        let now = Timestamp::UNIX_EPOCH;
        let id = |number: usize| match number {
            0..=2 => Branch::ALL[number].id().to_owned(),
            number => format!("n{number}"),
        };
        let nodes = links.iter().filter(|(child, _)| *child > 2);
        let nodes: Vec<Node> = nodes.map(|(child, parent)| Node::new(id(*child), Some(&id(*parent)), "N", "", now)).collect();
        let (graph, damage) = Graph::parse(&Graph::of(nodes, now).bytes().unwrap(), &clock());
        prop_assert!(damage.is_none());
        for node in graph.nodes() {
            graph.ancestors(&node.id);
            graph.branch(&node.id);
            graph.subtree(&node.id);
        }
        let mut graph = graph;
        let ids: HashSet<String> = graph.nodes().iter().map(|node| node.id.clone()).collect();
        graph.remove(&ids);
        prop_assert_eq!(graph.nodes().len(), 4);
    }
}
