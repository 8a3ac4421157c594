//! Forgetting, and the memory as one file.

use super::*;
use crate::base::testing::assert_lacks;
use crate::store::memory::exchange::ImportCount;

#[test]
fn what_was_said_is_covered_by_word_day_or_everything() {
    let said: Timestamp = "2026-11-21T23:59:00Z".parse().unwrap();
    let word = |word: &str| EraseTarget::Word(word.to_owned());
    for (target, covers) in [
        (EraseTarget::All, true),
        (word(" MY tea"), true),
        (word("coffee"), false),
        (word("te"), false),
        (EraseTarget::Day(date(2026, 11, 21)), true),
        (EraseTarget::Day(date(2026, 11, 22)), false),
        (EraseTarget::Node("user".to_owned()), false),
    ] {
        assert_eq!(target.covers("About my  Tea.", said), covers, "{target:?}");
    }
}

#[test]
fn an_export_comes_back_and_an_import_adds() {
    let (home, memory) = new_store();
    put(&memory, date(2026, 1, 1), "Tea.", &["tea"]);
    let pets = create(&memory, "user", "Pets", "Animals", &["A dog"]);
    create(&memory, &pets.id, "Dogs", "", &["Pixel"]);
    let bytes = serde_json::to_vec(&memory.export().unwrap()).unwrap();
    let parse = || MemoryExport::parse(&bytes).unwrap();

    let elsewhere = tempfile::tempdir().unwrap();
    let other = store(elsewhere.path());
    put(&other, date(2026, 1, 1), "Milk.", &["Tea", "milk"]);
    create(&other, "user", "PETS", "", &["A cat"]);
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
    put(&memory, date(2026, 1, 1), "Their dog is Pixel.", &["dogs"]);
    put(&memory, date(2026, 1, 2), "Tea.", &["Pixel"]);
    put(&memory, date(2026, 1, 3), "Tea.", &["drinks"]);
    append(&memory, "user", &["Has a dog, PIXEL", "Likes tea"]);
    let pets = create(&memory, "user", "Pets", "Such as Pixel", &[]);
    let pixel = create(&memory, &pets.id, "Pixel", "", &["Is fast"]);
    create(&memory, &pixel.id, "Food", "", &["Eats rice"]);
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
    assert_lacks(&after, &["pixel", "p\\u0069xel"]);
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
fn a_word_inside_another_one_is_not_forgotten() {
    let (home, memory) = new_store();
    for (day, summary, topics) in [
        (1, "They planned a vacation.", &["education"]),
        (2, "They have a cat.", &["pets"]),
        (3, "新しい猫を飼った。", &["ペット"]),
    ] {
        put(&memory, date(2026, 1, day), summary, topics);
    }
    append(&memory, "user", &["Has a cat", "Likes locations"]);
    create(&memory, "user", "Vacations", "", &["Went to Oban"]);
    write(
        home.path(),
        "diary.json.bad-20260101_000000",
        "about a vacation",
    );
    write(
        home.path(),
        "graph.json.bad-20260101_000000",
        r#""\\nCat\\n"#,
    );
    let word = |word: &str| EraseTarget::Word(word.to_owned());
    let gone = memory.erase(&word("cat")).unwrap();
    assert_eq!(
        (gone.rows.len(), gone.facts.len(), gone.nodes.len()),
        (1, 1, 0),
        "{gone:?}"
    );
    assert_eq!(gone.files.len(), 1, "{gone:?}");
    assert!(gone.files[0].ends_with("graph.json.bad-20260101_000000"));
    let gone = memory.erase(&word("猫")).unwrap();
    assert_eq!(gone.rows.len(), 1, "a part of a text without spaces");
    let left = memory.diary_all().unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].summary, "They planned a vacation.");
}

#[test]
fn copies_by_editors_are_erased_and_files_of_others_are_named() {
    let (home, memory) = new_store();
    put(&memory, date(2026, 1, 1), "Their dog is Pixel.", &[]);
    let copies = [
        "#diary.json#",
        ".graph.json.swp",
        "diary.json~",
        "graph.json.bak",
    ];
    for name in copies {
        write(home.path(), name, "a dog, Pixel");
    }
    write(home.path(), "graph.json.1", "a dog");
    fs::create_dir_all(file(home.path(), "old")).unwrap();
    write(home.path(), "old/diary.json", "about Pixel");
    write(home.path(), "notes.txt", "Pixel");
    write(home.path(), "tea.txt", "Tea");
    let target = EraseTarget::Word("pixel".to_owned());
    let preview = memory.preview(&target).unwrap();
    assert_eq!(memory.erase(&target).unwrap(), preview);
    let in_folder = |names: &[&str]| -> Vec<PathBuf> {
        let names = names.iter();
        names.map(|name| file(home.path(), name)).collect()
    };
    assert_eq!(preview.files, in_folder(&copies));
    assert_eq!(preview.foreign, in_folder(&["notes.txt", "old/diary.json"]));
    assert_eq!(
        names(&file(home.path(), "")),
        [
            "diary.json",
            "graph.json",
            "graph.json.1",
            "lock",
            "notes.txt",
            "old",
            "tea.txt"
        ]
    );
    let left = memory.preview(&target).unwrap();
    assert!(
        left.is_empty() && left.foreign == preview.foreign,
        "{left:?}"
    );
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
        left.saved_rows().unwrap().through(),
        Some(memory.now()),
        "not written anew from the log"
    );
}
