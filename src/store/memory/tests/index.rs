//! A large diary and its index on the disk.

use super::*;
use crate::base::shared_sort::SharedSort as _;
use crate::store::memory::file::Content;
use crate::store::memory::indexed_diary::MIN_INDEXED_BYTES;

/// Rows of a diary that is large enough for an index.
const ROWS: u32 = 2_600;

/// A row of each day and now and then one that was spoken, all with words of their own.
pub(super) fn rows(count: u32) -> Vec<DiaryRow> {
    let words = [
        "garden",
        "bicycle",
        "train",
        "recipe",
        "東京タワー",
        "Straße",
    ];
    let row = |number: u32| {
        let day = date(1700, 1, 1) + jiff::Span::new().days(number / 10 * 9 + number % 10 % 9);
        let word = |step: u32| words[((number / step + step) % 6) as usize];
        let summary = format!(
            "They planned the {} of number{number} near the {}, wrote about the {} and \"the {}\" for a long time, \
             drank tea with neighbour{} and walked home by the river past the old mill, as on so many days before; \
             in the evening they listened to a concert, read a chapter of a long novel and went to bed late, because the night was \
             warm and the windows were open.",
            word(1),
            word(3),
            word(7),
            word(11),
            number % 17,
        );
        let source = match number % 10 {
            9 => DiarySource::Voice,
            _ => DiarySource::Text,
        };
        let topic = word(5);
        DiaryRow {
            source,
            ..row(day, &summary, &[topic, "days"])
        }
    };
    let mut rows: Vec<DiaryRow> = (0..count).map(row).collect();
    rows.shared_sort_by_key(|row| (row.date, row.source));
    rows
}

fn diary_of(rows: Vec<DiaryRow>) -> Vec<u8> {
    let mut diary = Diary::default();
    diary.set_rows(rows);
    diary.saved.add(&["2026-01-01T00:00:00Z".parse().unwrap()]);
    diary.bytes().unwrap()
}

/// A home with a large diary.
fn large() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let bytes = diary_of(rows(ROWS));
    assert!(bytes.len() as u64 > MIN_INDEXED_BYTES);
    write(home.path(), DIARY, &String::from_utf8(bytes).unwrap());
    home
}

fn index(home: &Path) -> PathBuf {
    file(home, INDEX)
}

fn read_whole(home: &Path) -> Diary {
    let (diary, damage) = Diary::parse(&fs::read(file(home, DIARY)).unwrap(), &clock());
    assert_eq!(damage, None);
    diary
}

/// Whether the index is used, and gives what the whole diary does.
fn check(home: &Path) {
    check_against(home, &mut read_whole(home), &FEW);
}

/// Searches with words that are often there, begin others, and are not there.
const FEW: [&[&str]; 3] = [&["garden"], &["numb", "recipe"], &["forgotten"]];

fn check_against(home: &Path, whole: &mut Diary, searches: &[&[&str]]) {
    let memory = store(home);
    check_answers(&memory, whole, searches);
    let files = memory.files();
    assert!(files.diary.indexed.is_some(), "it was read whole");
}

/// What `memory` finds is what the diary has.
fn check_answers(memory: &MemoryStore, whole: &mut Diary, searches: &[&[&str]]) {
    let day = |text: &str| -> Option<Date> { Some(text.parse().unwrap()) };
    let ranges = [
        (None, None),
        (day("1701-01-01"), day("1702-06-01")),
        (day("1705-01-01"), None),
        (None, day("1600-01-01")),
    ];
    for (n, words) in searches.iter().enumerate() {
        // Of a few searches, each has a range of its own.
        let ranges = match searches.len() == FEW.len() {
            true => &ranges[n..=n],
            false => &ranges[..],
        };
        for (from, to) in ranges.iter().copied() {
            let words = texts(words);
            let found = memory.diary_search(&words, from, to, 4).unwrap();
            assert_eq!(found, whole.search(&words, from, to, 4, None), "{words:?}");
        }
    }
    let first = whole.rows()[0].clone();
    let get = |date, source| memory.diary_get(date, source).unwrap();
    assert_eq!(get(first.date, first.source), Some(first));
    assert_eq!(get(date(1600, 1, 1), DiarySource::Voice), None);
    assert_eq!(memory.saved_rows().unwrap(), whole.saved);
    let (count, page) = memory.diary_page(|count| count - 2..count).unwrap();
    assert_eq!(count, whole.rows().len());
    assert_eq!(page, whole.rows()[count - 2..]);
    assert!(memory.take_warnings().is_empty());
}

#[test]
fn a_large_diary_answers_by_its_index_as_if_it_was_read_whole() {
    let home = large();
    let searches: [&[&str]; 9] = [
        &["garden"],
        &["number17", "bicycles"],
        &["numb", "recipe"],
        &["東京"],
        &["京"],
        &["strasse", "zebra"],
        &["zebra"],
        &["forgotten"],
        &[],
    ];
    check_against(home.path(), &mut read_whole(home.path()), &searches);
    let made = fs::metadata(index(home.path())).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&made) & 0o777, 0o600);
    check(home.path());
    let again = fs::metadata(index(home.path())).unwrap();
    assert_eq!(made.modified().unwrap(), again.modified().unwrap());
    assert_eq!(
        names(&file(home.path(), "")),
        [INDEX, DIARY, "lock"],
        "it is made once"
    );
}

#[test]
fn a_small_diary_has_no_index() {
    let (home, memory) = new_store();
    put(&memory, date(2026, 1, 1), "Tea.", &[]);
    assert_eq!(
        memory
            .diary_search(&texts(&["tea"]), None, None, 3)
            .unwrap()
            .len(),
        1
    );
    assert!(!index(home.path()).exists());
}

#[test]
fn an_index_that_is_wrong_is_made_again_without_a_word() {
    let home = large();
    check(home.path());
    let good = fs::read(index(home.path())).unwrap();
    let length = good.len();
    let mut wrong: Vec<Vec<u8>> = vec![Vec::new(), good[..length - 1].to_vec()];
    // In the stamp, and in the lists.
    for at in [25, length / 2] {
        let mut bytes = good.clone();
        bytes[at] ^= 0x15;
        wrong.push(bytes);
    }
    let mut whole = read_whole(home.path());
    for bytes in wrong {
        fs::write(index(home.path()), &bytes).unwrap();
        check_against(home.path(), &mut whole, &FEW);
    }
    fs::remove_file(index(home.path())).unwrap();
    fs::create_dir(index(home.path())).unwrap();
    check_against(home.path(), &mut whole, &FEW);
}

#[test]
fn a_diary_that_somebody_changed_is_indexed_anew() {
    let home = large();
    check(home.path());
    let path = file(home.path(), DIARY);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("number17 ", "zebra ")).unwrap();
    check(home.path());
    let found = store(home.path()).diary_search(&texts(&["zebra"]), None, None, 3);
    assert_eq!(found.unwrap().len(), 1);
}

#[test]
fn a_diary_in_another_form_gets_an_index_too() {
    let good = rows(ROWS);
    let values: Vec<serde_json::Value> = good
        .iter()
        .rev()
        .chain(good.iter().take(2))
        .map(|row| serde_json::to_value(row).unwrap())
        .collect();
    let file_of = |rows: &[serde_json::Value]| serde_json::json!({"rows": rows, "version": 1, "saved": ["2026-01-01T00:00:00Z"]});
    let mut broken = values.clone();
    broken[7] = serde_json::json!({"date": "yesterday"});
    for (text, warnings) in [
        (serde_json::to_string_pretty(&file_of(&values)).unwrap(), 0),
        (file_of(&broken).to_string(), 1),
    ] {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), DIARY, &text);
        let memory = store(home.path());
        let found = memory
            .diary_search(&texts(&["number2599"]), None, None, 3)
            .unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(memory.take_warnings().len(), warnings);
        assert!(index(home.path()).exists());
        check(home.path());
        assert_eq!(
            read_whole(home.path()).rows().len(),
            ROWS as usize - warnings
        );
    }
}

#[test]
fn a_row_is_written_into_a_large_diary_and_the_others_stay_as_they_are() {
    let home = large();
    let path = file(home.path(), DIARY);
    let text = fs::read_to_string(&path).unwrap();
    // A field of a later version.
    let text = text.replacen("\"summary\"", "\"mood\":\"good\",\"summary\"", 40);
    fs::write(&path, &text).unwrap();
    let memory = store(home.path());
    let all = read_whole(home.path()).rows().to_vec();
    let said: Timestamp = "2026-11-01T10:00:00Z".parse().unwrap();
    let (first, middle, last) = (&all[0], &all[900], &all[all.len() - 1]);
    for (number, before) in [Some(first), Some(middle), Some(last), None, None]
        .into_iter()
        .enumerate()
    {
        let day = match (before, number) {
            (Some(row), _) => row.date,
            (None, 3) => date(2026, 11, 1),
            (None, _) => date(1600, 1, 1),
        };
        let source = before.map_or(DiarySource::Text, |row| row.source);
        let new = DiaryRow {
            source,
            ..row(day, &format!("A zebra, {number}."), &[])
        };
        let at = said + jiff::SignedDuration::from_secs(i64::try_from(number).unwrap());
        let stale = row(day, "Stale.", &[]);
        assert!(
            !memory
                .diary_replace(Some(&stale), new.clone(), &[at])
                .unwrap()
        );
        assert!(memory.diary_replace(before, new.clone(), &[at]).unwrap());
        assert!(
            !memory
                .diary_replace(Some(&new), new.clone(), &[at])
                .unwrap(),
            "it is told already"
        );
        let found = memory
            .diary_search(&texts(&["zebra"]), None, None, 9)
            .unwrap();
        assert_eq!(found.len(), number + 1);
    }
    assert!(memory.files().diary.indexed.is_some());
    let mut whole = read_whole(home.path());
    check_against(home.path(), &mut whole, &FEW);
    assert_eq!(whole.rows().len(), all.len() + 2);
    assert!(whole.saved.names(said) && whole.saved.covers("2026-01-01T00:00:00Z".parse().unwrap()));
    assert_eq!(
        whole.get(middle.date, middle.source).unwrap().created,
        middle.created
    );
    let written = fs::read_to_string(&path).unwrap();
    let kept = |text: &str| text.matches("\"mood\":\"good\"").count();
    assert_eq!((kept(&text), kept(&written)), (40, 39));
    let lines: Vec<&str> = text.lines().skip(2).take(100).collect();
    assert!(written.contains(&lines.join("\n")), "they are copied");
}

#[test]
fn forgetting_takes_the_index_along() {
    let home = large();
    check(home.path());
    let memory = store(home.path());
    memory
        .erase(&EraseTarget::Word("number40".to_owned()))
        .unwrap();
    assert!(!index(home.path()).exists());
    let bytes = fs::read_to_string(file(home.path(), DIARY)).unwrap();
    assert!(!bytes.contains("number40 "));
    drop(memory);
    check(home.path());
    let bytes = fs::read(index(home.path())).unwrap();
    assert!(memchr::memmem::find(&bytes, b"number40number41").is_none());
    assert!(memchr::memmem::find(&bytes, b"number41").is_some());
    // A copy by an editor has the words, too.
    fs::copy(index(home.path()), file(home.path(), "diary.index~")).unwrap();
    let erasure = store(home.path()).preview(&EraseTarget::All).unwrap();
    assert_eq!(erasure.files, [file(home.path(), "diary.index~")]);
}

#[test]
fn two_processes_that_find_no_index_make_one() {
    let home = large();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            // One that would have to wait for another's index reads the diary whole.
            scope.spawn(|| check_answers(&store(home.path()), &mut read_whole(home.path()), &FEW));
        }
    });
    check(home.path());
}
