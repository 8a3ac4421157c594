use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::{Date, date};
use proptest::prelude::*;

use super::exchange::ImportCount;
use super::file::Content;
use super::*;
use crate::base::cpu_time::CpuTime;
use crate::base::env::Env;
use crate::base::problem::ProblemKind;
use crate::disk::paths::Paths;

const NOW: &str = "2026-11-22T12:00:00+00:00[UTC]";

fn clock() -> Clock {
    Clock::new(&Env::from([("MARVIN_NOW", NOW)]))
}

fn store(home: &Path) -> MemoryStore {
    let paths = Paths::new(&Env::from([("MARVIN_CONFIG_DIR", home.to_str().unwrap())]));
    MemoryStore::open_alone(&paths.profile("main").unwrap(), &clock())
}

fn file(home: &Path, name: &str) -> PathBuf {
    home.join("profiles/main/memory").join(name)
}

fn write(home: &Path, name: &str, text: &str) {
    let path = file(home, name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn row(date: Date, summary: &str, topics: &[&str]) -> DiaryRow {
    DiaryRow::new(
        date,
        DiarySource::Text,
        summary,
        &texts(topics),
        "2026-01-01T00:00:00Z".parse().unwrap(),
    )
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn nothing_is_read_or_made_before_the_first_change() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    assert!(memory.diary_all().unwrap().is_empty());
    assert_eq!(memory.nodes().unwrap().len(), 4);
    assert_eq!(memory.search_nodes(&texts(&["told"]), 5).unwrap().len(), 1);
    memory.flush().unwrap();
    drop(memory);
    assert!(!home.path().join("profiles").exists());
}

#[test]
fn a_day_has_one_row_for_each_source_and_keeps_its_creation() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    let day = date(2026, 3, 1);
    memory.diary_put(row(day, "Tea.", &["drinks"])).unwrap();
    let mut later = row(
        day,
        "Tea and token=abc123secret.",
        &["Drinks", "drinks", "tea"],
    );
    later.created = Timestamp::MAX;
    memory.diary_put(later).unwrap();
    let spoken = DiaryRow {
        source: DiarySource::Voice,
        ..row(day, "Heard.", &[])
    };
    memory.diary_put(spoken).unwrap();
    let rows = memory.diary_all().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].summary, "Tea and token=[REDACTED]");
    assert_eq!(rows[0].topics, ["Drinks", "tea"]);
    assert_eq!(rows[0].created.to_string(), "2026-01-01T00:00:00Z");
    assert_eq!(
        memory
            .diary_get(day, DiarySource::Voice)
            .unwrap()
            .unwrap()
            .summary,
        "Heard."
    );
    let text = fs::read_to_string(file(home.path(), "diary.json")).unwrap();
    assert!(
        text.starts_with("{\"version\":1,\"rows\":[\n{\"date\":\"2026-03-01\",\"source\":\"text\""),
        "{text}"
    );
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file(home.path(), "diary.json")), 0o600);
    assert_eq!(mode(&file(home.path(), "")), 0o700);
}

#[test]
fn the_best_rows_are_found_in_every_script() {
    let rows = [
        row(
            date(2026, 1, 20),
            "The user bought waterproof hiking boots for Skye.",
            &["hiking"],
        ),
        row(
            date(2026, 2, 11),
            "The boots leak; they prefer trail shoes now.",
            &["preferences"],
        ),
        row(
            date(2026, 2, 12),
            "Пользователь завёл собаку по кличке Бим.",
            &["собаки"],
        ),
        row(
            date(2026, 2, 13),
            "用户养了一只黑猫，名字叫小雪。",
            &["宠物"],
        ),
        row(
            date(2026, 2, 14),
            "東京タワーの近くで寿司を食べた。",
            &["旅行"],
        ),
        row(date(2026, 2, 15), "ผู้ใช้ชอบกินข้าวผัดกะเพรา", &["อาหาร"]),
        row(
            date(2026, 2, 16),
            "사용자는 부산에서 수영을 배웁니다.",
            &["운동"],
        ),
        row(
            date(2026, 2, 17),
            "Die Straßenbahn nach Köln fuhr nicht.",
            &["Verkehr"],
        ),
        row(
            date(2026, 2, 18),
            "A long talk about gardens, roses, hedges, lawns, ponds, sheds, paths, boots and much else that fills the day.",
            &[],
        ),
    ];
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    rows.iter()
        .for_each(|row| memory.diary_put(row.clone()).unwrap());
    for (words, days) in [
        (&["hikes", "boot"][..], &["02-18", "02-11", "01-20"][..]),
        (&["hiking"], &["01-20"]),
        (&["waterproof boots"], &["02-18", "02-11", "01-20"]),
        (&["собаку"], &["02-12"]),
        // A beginning of four letters is enough.
        (&["соба"], &["02-12"]),
        (&["黑猫"], &["02-13"]),
        (&["猫"], &["02-13"]),
        (&["雪"], &["02-13"]),
        (&["東京"], &["02-14"]),
        (&["タワー"], &["02-14"]),
        (&["ข้าวผัด"], &["02-15"]),
        (&["부산"], &["02-16"]),
        (&["STRASSENBAHN"], &["02-17"]),
        (&["köln"], &["02-17"]),
        (&["zebra"], &[]),
        (&["", "!?"], &[]),
    ] {
        let found = memory.diary_search(&texts(words), None, None, 3).unwrap();
        let found: Vec<String> = found
            .iter()
            .map(|row| row.date.strftime("%m-%d").to_string())
            .collect();
        assert_eq!(found, days, "{words:?}");
    }
}

#[test]
fn rare_words_short_rows_and_topics_count_more() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    let day = |day| date(2026, 5, day);
    for (number, summary, topics) in [
        (1, "tea with milk and a word about the cat", &[][..]),
        (2, "tea", &[]),
        (3, "milk", &["tea"]),
        (4, "cello", &[]),
    ] {
        memory.diary_put(row(day(number), summary, topics)).unwrap();
    }
    let best = |words: &[&str]| {
        let found = memory.diary_search(&texts(words), None, None, 1).unwrap();
        found.first().map(|row| row.date.day())
    };
    assert_eq!(best(&["tea"]), Some(3), "a topic weighs two words");
    assert_eq!(best(&["tea", "cello"]), Some(4), "the rare word decides");
    assert_eq!(best(&["cat", "milk"]), Some(1), "two words beat one");
}

#[test]
fn days_are_chosen_before_the_cut_and_stand_alone_without_hits() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    for day in 1..=9 {
        memory
            .diary_put(row(date(2026, 1, day), "boots", &[]))
            .unwrap();
    }
    let days = |words: &[&str], from, to, k| -> Vec<i8> {
        let found = memory.diary_search(&texts(words), from, to, k).unwrap();
        found.iter().map(|row| row.date.day()).collect()
    };
    let (second, fourth) = (Some(date(2026, 1, 2)), Some(date(2026, 1, 4)));
    assert_eq!(days(&["boots"], second, fourth, 9), [4, 3, 2]);
    assert_eq!(days(&["boots"], None, second, 1), [2]);
    assert_eq!(days(&["zebra"], second, fourth, 2), [4, 3]);
    assert_eq!(days(&[], second, None, 1), [9]);
    assert_eq!(days(&["zebra"], None, None, 3), [] as [i8; 0]);
    assert_eq!(days(&["boots"], fourth, second, 3), [] as [i8; 0]);
}

#[test]
fn the_graph_is_seeded_once_and_its_fixed_parts_stay() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    let pets = memory
        .create(
            "user",
            " Pets ",
            "Their animals",
            &texts(&["Pixel is a greyhound", "pixel IS a  greyhound"]),
        )
        .unwrap();
    assert_eq!(
        (pets.name.as_str(), pets.data.as_str(), pets.tokens),
        ("Pets", "Pixel is a greyhound", 5)
    );
    let again = store(home.path());
    assert_eq!(again.nodes().unwrap().len(), 5);
    let ids = |id: &str| -> Vec<String> {
        let children = again.children(id).unwrap();
        children.into_iter().map(|node| node.id).collect()
    };
    assert_eq!(ids(ROOT), ["user", "directives", "world"]);
    assert_eq!(ids("user"), [pets.id.clone()]);
    for id in [ROOT, "user", "directives", "world"] {
        assert_eq!(
            again.delete(id).unwrap_err().kind,
            ProblemKind::Refused,
            "{id}"
        );
    }
    assert!(again.create(ROOT, "Fourth", "", &[]).is_err());
    assert!(again.create("nowhere", "x", "", &[]).is_err());
    assert!(again.create("user", " ", "", &[]).is_err());
    assert!(again.append(ROOT, &texts(&["a fact"])).is_err());
    assert_eq!(again.nodes().unwrap().len(), 5);
    let above = again.ancestors(&pets.id).unwrap();
    assert_eq!(
        above
            .iter()
            .map(|node| node.id.as_str())
            .collect::<Vec<_>>(),
        [ROOT, "user"]
    );
}

#[test]
fn children_of_a_deleted_node_move_up() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    let pets = memory.create("user", "Pets", "", &[]).unwrap();
    let dogs = memory.create(&pets.id, "Dogs", "", &[]).unwrap();
    let old = memory.create(&dogs.id, "Old dogs", "", &[]).unwrap();
    memory.delete(&dogs.id).unwrap();
    assert_eq!(memory.node(&old.id).unwrap().unwrap().parent, Some(pets.id));
    assert!(memory.node(&dogs.id).unwrap().is_none());
    let mut below = old.id;
    for _ in 4..=MAX_DEPTH {
        below = memory.create(&below, "Deeper", "", &[]).unwrap().id;
    }
    let problem = memory.create(&below, "Too deep", "", &[]).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Limit);
    assert_eq!(memory.branch(&below).unwrap(), Some(Branch::User));
}

#[test]
fn what_is_used_comes_first_and_old_uses_fade() {
    let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
    let used = |accesses: u64, days_ago: i64| Node {
        accesses,
        last_access: now - jiff::SignedDuration::from_hours(24 * days_ago),
        ..Node::default()
    };
    assert_eq!(used(4, 0).decayed_score(now), 4.0);
    assert_eq!(used(4, 14).decayed_score(now), 2.0);
    assert_eq!(
        used(4, -400).decayed_score(now),
        4.0,
        "a clock that was wrong"
    );
    assert!(used(u64::MAX, 1).decayed_score(now).is_finite());

    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    let one = memory.create("user", "Tea", "", &[]).unwrap();
    let two = memory.create("user", "Tea too", "", &[]).unwrap();
    let found = |memory: &MemoryStore| -> Vec<String> {
        let found = memory.find_nodes(&texts(&["tea"]), 5).unwrap();
        found.into_iter().map(|node| node.id).collect()
    };
    memory.touch(&two.id).unwrap();
    assert_eq!(found(&memory), [two.id.clone(), one.id.clone()]);
    assert_eq!(memory.children("user").unwrap()[0].id, two.id);
    assert_eq!(found(&store(home.path())).len(), 2);
    memory.flush().unwrap();
    assert_eq!(
        store(home.path()).node(&two.id).unwrap().unwrap().accesses,
        1
    );
    // What is not written when the memory is closed is written then.
    memory.touch(&one.id).unwrap();
    drop(memory);
    assert_eq!(
        store(home.path()).node(&one.id).unwrap().unwrap().accesses,
        1
    );
}

#[test]
fn names_and_descriptions_count_three_and_facts_one() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    let fact = memory
        .create(
            "world",
            "Coast",
            "",
            &texts(&["Corvid LIGHTHOUSE was built in 1871"]),
        )
        .unwrap();
    let name = memory.create("world", "Lighthouses", "", &[]).unwrap();
    let both = memory
        .create("world", "Sea lighthouses", "All about a lighthouse", &[])
        .unwrap();
    memory
        .create("user", "灯台", "", &texts(&["ユーザーは灯台が好き"]))
        .unwrap();
    let found = |words: &[&str], k| -> Vec<String> {
        let found = memory.find_nodes(&texts(words), k).unwrap();
        found.into_iter().map(|node| node.id).collect()
    };
    assert_eq!(
        found(&["lighthouse"], 9),
        [both.id.clone(), name.id.clone(), fact.id.clone()]
    );
    assert_eq!(found(&["lighthouse"], 1), [both.id]);
    assert_eq!(
        found(&["corvid", "1871", "built", "LightHouse"], 2)[1..],
        found(&["1871"], 1)[..]
    );
    assert_eq!(found(&["灯台"], 9).len(), 1);
    assert_eq!(found(&["台が"], 9).len(), 1, "a part of a word");
    assert_eq!(
        found(&["everything"], 9),
        [] as [String; 0],
        "the root is no hit"
    );
    assert_eq!(found(&["", " "], 9), [] as [String; 0]);
}

#[test]
fn listeners_hear_of_changes_until_they_go_and_may_panic() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    let heard: Arc<Mutex<Vec<Mutation>>> = Arc::default();
    let panics = Arc::new(AtomicUsize::new(0));
    let count = panics.clone();
    let _panicking = memory.on_mutation(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        std::panic::resume_unwind(Box::new("a listener"));
    });
    let (list, inner) = (heard.clone(), memory.clone());
    let guard = memory.on_mutation(move |mutation| {
        // It may use the memory.
        inner.nodes().unwrap();
        list.lock().unwrap().push(mutation.clone());
    });
    let pets = memory.create("user", "Pets", "", &[]).unwrap();
    memory.append(&pets.id, &texts(&["A fact"])).unwrap();
    memory.append(&pets.id, &texts(&["a fact"])).unwrap();
    memory.update(&pets.id, "Animals", "").unwrap();
    assert!(
        memory
            .replace_facts(&pets.id, "A fact", &texts(&["Another"]))
            .unwrap()
    );
    assert!(
        !memory
            .replace_facts(&pets.id, "A fact", &texts(&["Lost"]))
            .unwrap()
    );
    memory.touch(&pets.id).unwrap();
    memory.flush().unwrap();
    memory.append("directives", &texts(&["Be brief"])).unwrap();
    memory.delete(&pets.id).unwrap();
    assert!(memory.create("nowhere", "x", "", &[]).is_err());
    drop(guard);
    memory.append("world", &texts(&["Unheard"])).unwrap();
    let heard = heard.lock().unwrap();
    let told: Vec<_> = heard.iter().map(|one| (one.action, one.branch)).collect();
    use MutationAction::{Append, Create, Delete, Update};
    assert_eq!(
        told,
        [
            (Create, Some(Branch::User)),
            (Append, Some(Branch::User)),
            (Update, Some(Branch::User)),
            (Update, Some(Branch::User)),
            (Append, Some(Branch::Directives)),
            (Delete, Some(Branch::User)),
        ]
    );
    assert_eq!(panics.load(Ordering::SeqCst), 7);
}

#[test]
fn a_process_has_one_memory_for_each_folder() {
    let home = tempfile::tempdir().unwrap();
    let paths = Paths::new(&Env::from([(
        "MARVIN_CONFIG_DIR",
        home.path().to_str().unwrap(),
    )]));
    let open = |name: &str| MemoryStore::open(&paths.profile(name).unwrap(), &clock());
    let (one, same, other) = (open("main"), open("main"), open("other"));
    let heard = Arc::new(AtomicUsize::new(0));
    let counts = [heard.clone(), heard.clone()];
    let [count, erased] = counts;
    let _guard = one.on_mutation(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let _erased = one.on_erase(move |target| {
        assert_eq!(*target, EraseTarget::Word("tea".to_owned()));
        erased.fetch_add(10, Ordering::SeqCst);
    });
    same.append("user", &texts(&["A fact"])).unwrap();
    other.append("user", &texts(&["A fact"])).unwrap();
    assert_eq!(heard.load(Ordering::SeqCst), 1);
    // Nothing is written about it yet, but it may have been said.
    same.erase(&EraseTarget::Word("tea".to_owned())).unwrap();
    assert_eq!(heard.load(Ordering::SeqCst), 11);
    assert_eq!(one.saved_through().unwrap(), Some(one.now()));
}

#[test]
fn what_was_said_is_covered_by_word_day_or_everything() {
    let said: Timestamp = "2026-11-21T23:59:00Z".parse().unwrap();
    let word = |word: &str| EraseTarget::Word(word.to_owned());
    for (target, covers) in [
        (EraseTarget::All, true),
        (word(" MY tea"), true),
        (word("coffee"), false),
        (EraseTarget::Day(date(2026, 11, 21)), true),
        (EraseTarget::Day(date(2026, 11, 22)), false),
        (EraseTarget::Node("user".to_owned()), false),
    ] {
        assert_eq!(target.covers("About my  Tea.", said), covers, "{target:?}");
    }
}

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
        memory.append("user", &texts(&["A fact"])).unwrap();
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
    assert_eq!(
        memory.saved_through().unwrap().unwrap().to_string(),
        "2026-01-02T00:00:00Z"
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
    assert_eq!(memory.saved_through().unwrap(), Some(memory.now()));
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
    memory.append("a", &texts(&["more"])).unwrap();
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
        .set_len(65 << 20)
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
                    memory.diary_put(row(day, "A day", &[])).unwrap();
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
            .diary_replace(Some(&before), before.clone(), None)
            .unwrap()
    );
    assert_eq!(memory.diary_all().unwrap()[0].summary, "Another summary");
}

#[test]
fn a_failed_write_leaves_file_and_memory_as_they_were() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    memory.append("user", &texts(&["One"])).unwrap();
    let path = file(home.path(), "graph.json");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(memory.append("user", &texts(&["Two"])).is_err());
    fs::remove_dir(&path).unwrap();
    assert_eq!(memory.node("user").unwrap().unwrap().data, "");
    memory.append("user", &texts(&["Three"])).unwrap();
    assert_eq!(
        store(home.path()).node("user").unwrap().unwrap().data,
        "Three"
    );
    assert_eq!(names(&file(home.path(), "")), ["graph.json", "lock"]);
}

#[test]
fn a_split_moves_the_facts_down_in_one_write() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    memory
        .append("user", &texts(&["Plays chess", "Has a dog"]))
        .unwrap();
    let part = |name: &str, fact: &str| NewNode {
        name: name.to_owned(),
        description: String::new(),
        facts: texts(&[fact]),
    };
    let parts = [part("Games", "Plays chess"), part("Pets", "Has a dog")];
    assert!(
        !memory
            .split("user", "Plays chess", "About them", &parts)
            .unwrap()
    );
    assert!(
        memory
            .split("user", "Plays chess\nHas a dog", "About them", &parts)
            .unwrap()
    );
    let user = memory.node("user").unwrap().unwrap();
    assert_eq!(user.data, "About them");
    assert_eq!(memory.children("user").unwrap().len(), 2);
}

#[test]
fn an_export_comes_back_and_an_import_adds() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    memory
        .diary_put(row(date(2026, 1, 1), "Tea.", &["tea"]))
        .unwrap();
    let pets = memory
        .create("user", "Pets", "Animals", &texts(&["A dog"]))
        .unwrap();
    memory
        .create(&pets.id, "Dogs", "", &texts(&["Pixel"]))
        .unwrap();
    let bytes = serde_json::to_vec(&memory.export().unwrap()).unwrap();
    let parse = || MemoryExport::parse(&bytes).unwrap();

    let elsewhere = tempfile::tempdir().unwrap();
    let other = store(elsewhere.path());
    other
        .diary_put(row(date(2026, 1, 1), "Milk.", &["Tea", "milk"]))
        .unwrap();
    other
        .create("user", "PETS", "", &texts(&["A cat"]))
        .unwrap();
    let count = other.import(parse()).unwrap();
    assert_eq!(
        count,
        ImportCount {
            new_rows: 0,
            changed_rows: 1,
            new_nodes: 1,
            new_facts: 2
        }
    );
    assert_eq!(other.import(parse()).unwrap(), ImportCount::default());
    let rows = other.diary_all().unwrap();
    assert_eq!(
        (rows[0].summary.as_str(), rows[0].topics.len()),
        ("Milk. Tea.", 2)
    );
    let children = other.children("user").unwrap();
    assert_eq!(
        (children.len(), children[0].data.as_str()),
        (1, "A cat\nA dog")
    );
    assert_eq!(other.children(&children[0].id).unwrap()[0].data, "Pixel");

    // The files themselves are imported, too, and nothing else.
    let graph = fs::read(file(home.path(), "graph.json")).unwrap();
    let third = tempfile::tempdir().unwrap();
    let count = store(third.path())
        .import(MemoryExport::parse(&graph).unwrap())
        .unwrap();
    assert_eq!((count.new_nodes, count.new_facts), (2, 2));
    for wrong in [
        "",
        "[]",
        "{}",
        "{\"version\":2}",
        "{\"version\":1,\"rows\":7}",
    ] {
        assert!(MemoryExport::parse(wrong.as_bytes()).is_err(), "{wrong}");
    }
}

/// The bytes of all files below the memory folder.
fn all_bytes(dir: &Path) -> String {
    let mut out = String::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => out.push_str(&all_bytes(&path)),
            false => out.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap())),
        }
        out.push_str(&path.display().to_string());
    }
    out.to_lowercase()
}

fn full(home: &Path) -> MemoryStore {
    let memory = store(home);
    memory
        .diary_put(row(date(2026, 1, 1), "Their dog is Pixel.", &["dogs"]))
        .unwrap();
    memory
        .diary_put(row(date(2026, 1, 2), "Tea.", &["Pixel"]))
        .unwrap();
    memory
        .diary_put(row(date(2026, 1, 3), "Tea.", &["drinks"]))
        .unwrap();
    memory
        .append("user", &texts(&["Has a dog, PIXEL", "Likes tea"]))
        .unwrap();
    let pets = memory.create("user", "Pets", "Such as Pixel", &[]).unwrap();
    let pixel = memory
        .create(&pets.id, "Pixel", "", &texts(&["Is fast"]))
        .unwrap();
    memory
        .create(&pixel.id, "Food", "", &texts(&["Eats rice"]))
        .unwrap();
    write(
        home,
        "graph.json.bad-20260101_000000",
        r#"{"x":"P\u0069xel"#,
    );
    write(
        home,
        "diary.json.bad-20260101_000000",
        r#"{"x":"tea, 2026-01-03"#,
    );
    write(home, ".diary.jsonAbC.tmp", "half");
    write(home, "vectors.json", "{\"Pixel\":[1.0]}");
    fs::create_dir_all(file(home, "prompts")).unwrap();
    write(home, "prompts/1.json", "about pixel");
    write(home, "prompts/2.json", "about tea");
    memory
}

#[test]
fn no_byte_of_a_forgotten_word_stays() {
    let home = tempfile::tempdir().unwrap();
    let memory = full(home.path());
    let target = EraseTarget::Word(" pixel ".to_owned());
    let preview = memory.preview(&target).unwrap();
    let before = all_bytes(&file(home.path(), ""));
    assert!(before.contains("pixel"));
    assert_eq!(memory.erase(&target).unwrap(), preview);
    assert_eq!(
        (preview.rows.len(), preview.facts.len(), preview.files.len()),
        (2, 3, 4),
        "{preview:?}"
    );
    assert_eq!(preview.nodes, ["User > Pets > Pixel"]);
    let after = all_bytes(&file(home.path(), ""));
    assert!(
        !after.contains("pixel") && !after.contains("p\\u0069xel"),
        "{after}"
    );
    let left = store(home.path());
    assert_eq!(left.diary_all().unwrap().len(), 1);
    assert_eq!(left.node("user").unwrap().unwrap().data, "Likes tea");
    let pets = left.children("user").unwrap().remove(0);
    assert_eq!(
        left.children(&pets.id).unwrap()[0].data,
        "Eats rice",
        "it moved up"
    );
    assert!(left.preview(&target).unwrap().is_empty());
    assert!(left.preview(&EraseTarget::Word(" ".to_owned())).is_err());
    assert!(names(&file(home.path(), "")).contains(&"diary.json.bad-20260101_000000".to_owned()));
}

#[test]
fn a_day_a_node_and_everything_can_be_forgotten() {
    let home = tempfile::tempdir().unwrap();
    let memory = full(home.path());
    let day = memory.erase(&EraseTarget::Day(date(2026, 1, 3))).unwrap();
    assert_eq!(day.rows.len(), 1);
    assert!(
        day.files
            .iter()
            .any(|path| path.ends_with("diary.json.bad-20260101_000000"))
    );
    let heard = Arc::new(AtomicUsize::new(0));
    let count = heard.clone();
    let _guard = memory.on_mutation(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    assert!(
        memory
            .erase(&EraseTarget::Node("nowhere".to_owned()))
            .is_err()
    );
    let user = memory.erase(&EraseTarget::Node("user".to_owned())).unwrap();
    assert_eq!((user.nodes.len(), user.facts.len()), (3, 4));
    assert_eq!(heard.load(Ordering::SeqCst), 4);
    assert_eq!(memory.nodes().unwrap().len(), 4);
    assert_eq!(memory.diary_all().unwrap().len(), 2);
    memory.erase(&EraseTarget::All).unwrap();
    assert_eq!(
        names(&file(home.path(), "")),
        ["diary.json", "graph.json", "lock"]
    );
    let left = store(home.path());
    assert!(left.diary_all().unwrap().is_empty());
    assert_eq!(
        left.saved_through().unwrap(),
        Some(memory.now()),
        "not written anew from the log"
    );
}

fn many(count: u32) -> (Vec<DiaryRow>, Vec<Node>) {
    let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
    let words = [
        "garden", "bicycle", "train", "recipe", "cello", "mountain", "river", "museum", "coffee",
        "window",
    ];
    let text = |seed: u32, length: u32| -> String {
        (0..length)
            .map(|at| {
                let mixed = (seed + 1)
                    .wrapping_mul(2_654_435_761)
                    .wrapping_add(at.wrapping_mul(40_503))
                    >> 7;
                let word = words[(mixed % 10) as usize];
                if mixed % 7 == 0 {
                    format!("{word}{} ", mixed % 3_000)
                } else {
                    format!("{word} ")
                }
            })
            .collect()
    };
    let rows = (0..count)
        .map(|number| {
            let day = date(1990, 1, 1)
                .checked_add(jiff::Span::new().days(number))
                .unwrap();
            row(day, &text(number, 40), &["garden", "trains"])
        })
        .collect();
    let nodes = (0..count)
        .map(|number| {
            let mut node = Node::new(
                format!("n{number}"),
                Some("user"),
                &text(number, 2),
                &text(number, 6),
                now,
            );
            node.set_data(text(number, 40));
            node
        })
        .collect();
    (rows, nodes)
}

/// The CPU time of reading both files, of the first searches and of later ones.
fn times(count: u32) -> [Duration; 3] {
    let (rows, nodes) = many(count);
    let mut diary = Diary::default();
    diary.set_rows(rows);
    let graph = Graph::of(nodes, Timestamp::UNIX_EPOCH);
    let (diary, graph) = (diary.bytes().unwrap(), graph.bytes().unwrap());
    let begun = CpuTime::now();
    let (mut diary, _) = Diary::parse(&diary, &clock());
    let (mut graph, _) = Graph::parse(&graph, &clock());
    let read = begun.elapsed();
    let words = texts(&["garden", "cello17", "mount", "window", "zebra"]);
    let mut search = || {
        assert_eq!(diary.search(&words, None, None, 3).len(), 3);
        assert_eq!(graph.search(&words, 5, Timestamp::UNIX_EPOCH).len(), 5);
    };
    let begun = CpuTime::now();
    search();
    let first = begun.elapsed();
    let begun = CpuTime::now();
    (0..10).for_each(|_| search());
    [read, first, begun.elapsed() / 10]
}

#[test]
fn ten_times_the_rows_take_about_ten_times_as_long() {
    let (few, many) = (times(1_000), times(10_000));
    eprintln!("1,000: {few:?}, 10,000: {many:?}");
    for (name, few, many) in [
        ("read", few[0], many[0]),
        ("first", few[1], many[1]),
        ("search", few[2], many[2]),
    ] {
        // Twice as much for caches; quadratic would be a hundred times.
        assert!(
            many < few * 25 + Duration::from_millis(20),
            "{name}: {few:?} {many:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_set_aside(text in "(\\{\"version\":1,\"(rows|nodes)\":\\[)?[\\[\\]{}\",:a-z0-9\\\\ ]{0,60}") {
        let (mut diary, _) = Diary::parse(text.as_bytes(), &clock());
        diary.search(&[text.clone()], None, None, 3);
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
