//! The topics are whole, fit their columns and are found.

use super::*;
use crate::base::testing::assert_has;

const TABLES: HelpTables = HelpTables {
    keys: || vec![("Input", vec![("Enter".to_owned(), "send")])],
    commands: || vec![("/help [TOPIC]".to_owned(), "this list")],
};

fn texts() -> Vec<(&'static str, Vec<Block>)> {
    let blocks = topics().map(|topic| (topic.name, topic.blocks(&TABLES)));
    blocks.collect()
}

#[test]
fn every_file_is_a_topic_of_its_name() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/app/help/topics");
    let mut files: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let mut names: Vec<&str> = topics().map(|topic| topic.name).collect();
    files.sort();
    names.sort_unstable();
    assert_eq!(names, files);
}

#[test]
fn every_table_of_a_topic_exists() {
    for (name, blocks) in texts() {
        let text = layout::text(&blocks, 80, &Style::PLAIN);
        assert!(text.lines().count() > 5, "{name}: {text}");
        assert!(!text.contains("{{") && !text.contains('`'), "{name}");
    }
}

#[test]
fn lines_fit_the_columns() {
    for (name, blocks) in texts() {
        for columns in [60, 78, 80, 100] {
            let limit = columns.max(80);
            for line in layout::text(&blocks, columns, &Style::PLAIN).lines() {
                let is_word = line.split_whitespace().count() == 1;
                assert!(line.chars().count() <= limit || is_word, "{name}: {line}");
            }
        }
    }
}

#[test]
fn a_terminal_gets_what_is_typed_in_bold_and_a_pipe_characters_alone() {
    let blocks = markup::parse("Set `A B` now.\n", &|_| None);
    assert_eq!(layout::text(&blocks, 80, &Style::PLAIN), "Set A B now.\n");
    let bold = Style {
        is_bold: true,
        found: Vec::new(),
    };
    let shown = layout::text(&blocks, 80, &bold);
    assert!(shown.starts_with("Set \u{1b}[1mA"), "{shown:?}");
    assert!(shown.ends_with("now.\n"), "{shown:?}");
}

#[test]
fn a_search_highlights_and_names_what_is_near() {
    let documents: Vec<search::Document> = texts()
        .into_iter()
        .map(|(name, blocks)| (name.to_owned(), blocks))
        .collect();
    let find = |words: &[&str], is_bold| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        search::search(&documents, &words, 80, is_bold)
    };
    let plain = find(&["Nominatim"], false).unwrap();
    assert!(
        plain.starts_with("services\n") && plain.contains("OpenStreetMap"),
        "{plain}"
    );
    assert!(find(&["nominatim"], true).unwrap().contains("7mNominatim"));
    // Over the break of a line too.
    assert!(find(&["swapped in at the last moment"], false).is_ok());
    let problem = find(&["nominatin"], false).unwrap_err().one_line();
    assert!(problem.contains("nominatim"), "{problem}");
    let problem = find(&["nominatim", "spotify", "mouse"], false).unwrap_err();
    assert!(problem.one_line().contains("fewer words"));
    assert!(find(&[], false).is_err() && find(&[" "], false).is_err());
}

#[test]
fn roff_takes_every_character_as_it_is() {
    let blocks = markup::parse(".dot\n\n'quote\n\n`.x` a-b ~ ^ \\ …\n", &|_| None);
    let page = roff::text(&blocks);
    assert_eq!(
        page,
        ".PP\n\\&.dot\n.PP\n\\&'quote\n.PP\n\\fB\\&.x\\fR a\\-b \\(ti \\(ha \\e \\[u2026]\n"
    );
    for (name, blocks) in texts() {
        assert!(roff::text(&blocks).is_ascii(), "{name}");
    }
}

#[test]
fn a_slip_in_a_topic_gets_the_nearest() {
    assert_eq!(named("Fence").unwrap(), "fence");
    let problem = named("privcy").unwrap_err().one_line();
    assert!(problem.contains("\"privacy\""), "{problem}");
    assert_has(
        &named("zzz").unwrap_err().one_line(),
        &["Topics: providers"],
    );
}
