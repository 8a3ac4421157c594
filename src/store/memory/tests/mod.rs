//! The memory on real files.

mod damage;
mod erase;
mod index;
mod kill;
mod speed;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use jiff::civil::{Date, date};

use super::diary::Diary;
use super::indexed_diary::IndexedDiary;
use super::listeners::MutationAction;
use super::*;
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

fn new_store() -> (tempfile::TempDir, MemoryStore) {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    (home, memory)
}

fn put(memory: &MemoryStore, date: Date, summary: &str, topics: &[&str]) {
    memory.diary_put(row(date, summary, topics)).unwrap();
}

fn create(
    memory: &MemoryStore,
    parent: &str,
    name: &str,
    description: &str,
    facts: &[&str],
) -> Node {
    let node = memory.create(parent, name, description, &texts(facts));
    node.unwrap()
}

fn append(memory: &MemoryStore, node: &str, facts: &[&str]) {
    memory.append(node, &texts(facts)).unwrap();
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
    let (home, memory) = new_store();
    assert!(memory.diary_all().unwrap().is_empty());
    assert_eq!(memory.nodes().unwrap().len(), 4);
    assert_eq!(memory.search_nodes(&texts(&["told"]), 5).unwrap().len(), 1);
    memory.flush().unwrap();
    drop(memory);
    assert!(!home.path().join("profiles").exists());
}

#[test]
fn a_day_has_one_row_for_each_source_and_keeps_its_creation() {
    let (home, memory) = new_store();
    let day = date(2026, 3, 1);
    put(&memory, day, "Tea.", &["drinks"]);
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
    let (_home, memory) = new_store();
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
    let (_home, memory) = new_store();
    let day = |day| date(2026, 5, day);
    for (number, summary, topics) in [
        (1, "tea with milk and a word about the cat", &[][..]),
        (2, "tea", &[]),
        (3, "milk", &["tea"]),
        (4, "cello", &[]),
    ] {
        put(&memory, day(number), summary, topics);
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
    let (_home, memory) = new_store();
    for day in 1..=9 {
        put(&memory, date(2026, 1, day), "boots", &[]);
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
    let (home, memory) = new_store();
    let pets = create(
        &memory,
        "user",
        " Pets ",
        "Their animals",
        &["Pixel is a greyhound", "pixel IS a  greyhound"],
    );
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
    assert_eq!(ids("user"), std::slice::from_ref(&pets.id));
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
    let (_home, memory) = new_store();
    let pets = create(&memory, "user", "Pets", "", &[]);
    let dogs = create(&memory, &pets.id, "Dogs", "", &[]);
    let old = create(&memory, &dogs.id, "Old dogs", "", &[]);
    memory.delete(&dogs.id).unwrap();
    assert_eq!(memory.node(&old.id).unwrap().unwrap().parent, Some(pets.id));
    assert!(memory.node(&dogs.id).unwrap().is_none());
    let mut below = old.id;
    for _ in 4..=MAX_DEPTH {
        below = create(&memory, &below, "Deeper", "", &[]).id;
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

    let (home, memory) = new_store();
    let one = create(&memory, "user", "Tea", "", &[]);
    let two = create(&memory, "user", "Tea too", "", &[]);
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
    let (_home, memory) = new_store();
    let fact = create(
        &memory,
        "world",
        "Coast",
        "",
        &["Corvid LIGHTHOUSE was built in 1871"],
    );
    let name = create(&memory, "world", "Lighthouses", "", &[]);
    let both = create(
        &memory,
        "world",
        "Sea lighthouses",
        "All about a lighthouse",
        &[],
    );
    create(&memory, "user", "灯台", "", &["ユーザーは灯台が好き"]);
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
    let (_home, memory) = new_store();
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
    let pets = create(&memory, "user", "Pets", "", &[]);
    append(&memory, &pets.id, &["A fact"]);
    append(&memory, &pets.id, &["a fact"]);
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
    append(&memory, "directives", &["Be brief"]);
    memory.delete(&pets.id).unwrap();
    assert!(memory.create("nowhere", "x", "", &[]).is_err());
    drop(guard);
    append(&memory, "world", &["Unheard"]);
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
    let (_home, paths) = crate::store::home();
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
    append(&same, "user", &["A fact"]);
    append(&other, "user", &["A fact"]);
    assert_eq!(heard.load(Ordering::SeqCst), 1);
    // Nothing is written about it yet, but it may have been said.
    same.erase(&EraseTarget::Word("tea".to_owned())).unwrap();
    assert_eq!(heard.load(Ordering::SeqCst), 11);
    assert_eq!(one.saved_rows().unwrap().through(), Some(one.now()));
}

#[test]
fn a_split_moves_the_facts_down_in_one_write() {
    let (_home, memory) = new_store();
    append(&memory, "user", &["Plays chess", "Has a dog"]);
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
fn what_is_read_ahead_is_what_a_search_reads() {
    let home = tempfile::tempdir().unwrap();
    let day = date(2026, 11, 20);
    let first = store(home.path());
    put(&first, day, "Boats in the port.", &["boats"]);
    let node = create(&first, "world", "Port", "Boats", &["It has boats."]);
    let ahead = store(home.path());
    ahead.preload();
    let words = texts(&["boats"]);
    let rows = ahead.diary_search(&words, None, None, 5).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(ahead.search_nodes(&words, 5).unwrap()[0].id, node.id);
    // A change by another process is seen all the same.
    put(&first, date(2026, 11, 21), "More boats.", &[]);
    assert_eq!(ahead.diary_search(&words, None, None, 5).unwrap().len(), 2);
}

#[test]
fn damage_found_ahead_is_told_once_to_whoever_asks() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "diary.json", "{\"version\": 1, \"rows\": [");
    write(home.path(), "graph.json", "[");
    let ahead = store(home.path());
    ahead.preload();
    assert!(ahead.diary_all().unwrap().is_empty());
    let warnings = ahead.take_warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    ahead.preload();
    assert!(ahead.nodes().is_ok_and(|nodes| !nodes.is_empty()));
    assert!(ahead.take_warnings().is_empty());
}
