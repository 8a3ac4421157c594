//! Where blocks of a reply end, however it arrives.

use super::*;
use proptest::prelude::*;

fn split(pieces: &[&str]) -> Vec<Block> {
    let (mut splitter, mut done) = (BlockSplitter::default(), Vec::new());
    for piece in pieces {
        splitter.push(piece, &mut done);
    }
    splitter.finish(&mut done);
    done
}

/// First letter of each block's kind, `'` for a gap, and its text.
fn shape(text: &str) -> Vec<(String, String)> {
    let name = |block: &Block| {
        let kind = format!("{:?}", block.kind);
        let gap = if block.gap { "'" } else { "" };
        format!("{gap}{}", kind.split(' ').next().unwrap())
    };
    split(&[text])
        .iter()
        .map(|block| (name(block), block.text.clone()))
        .collect()
}

fn is(text: &str, want: &[(&str, &str)]) {
    let want: Vec<(String, String)> = want
        .iter()
        .map(|(kind, text)| ((*kind).to_owned(), (*text).to_owned()))
        .collect();
    assert_eq!(shape(text), want);
}

#[test]
fn blocks_end_where_markdown_ends_them() {
    is(
        "# Title\ntext\nmore\n\n- a\n- b\n\n> q\n",
        &[
            ("Heading", "# Title\n"),
            ("Paragraph", "text\nmore\n"),
            ("'List", "\n- a\n- b\n"),
            ("'Quote", "\n> q\n"),
        ],
    );
    is(
        "Title\n===\ntext\n***\nlast",
        &[
            ("Paragraph", "Title\n===\n"),
            ("Paragraph", "text\n"),
            ("'Rule", "***\n"),
            ("'Paragraph", "last"),
        ],
    );
    is(
        "look\n```rust\nfn a() {}\n\n# no\n```\nafter",
        &[
            ("Paragraph", "look\n"),
            ("'Code", "```rust\nfn a() {}\n\n# no\n```\n"),
            ("'Paragraph", "after"),
        ],
    );
    is(
        "see\n| a | b |\n|---|---|\n| 1 | 2 |\n\nx",
        &[
            ("Paragraph", "see\n"),
            ("'Table", "| a | b |\n|---|---|\n| 1 | 2 |\n"),
            ("'Paragraph", "\nx"),
        ],
    );
    is("\n\n", &[("Blank", "\n\n")]);
    is("```\nnever closed", &[("Code", "```\nnever closed")]);
    is("", &[]);
}

#[test]
fn code_in_a_list_is_its_own_block_and_the_list_continues() {
    let blocks = split(&["1. one\n   ```sh\n   ls\n   ```\n   then\n1. two\n\n   more\n\nend"]);
    let kinds: Vec<(&str, usize)> = blocks
        .iter()
        .map(|block| (block.text.as_str(), block.indent))
        .collect();
    assert_eq!(
        kinds,
        [
            ("1. one\n", 0),
            ("   ```sh\n   ls\n   ```\n", 3),
            ("   then\n", 3),
            ("1. two\n\n   more\n", 0),
            ("\nend", 0),
        ]
    );
    assert_eq!(
        blocks[3].kind,
        BlockKind::List {
            after: Some((1, 1))
        }
    );
    assert_eq!(blocks[4].kind, BlockKind::Paragraph);
}

#[test]
fn split_code_keeps_its_state_and_split_tables_their_head() {
    let code = format!("```rust\n/* begins\n{}*/ fn\n```\n", "still\n".repeat(100));
    let blocks = split(&[&code]);
    assert_eq!(blocks.len(), 2);
    assert!(
        matches!(&blocks[1].kind, BlockKind::Code { state: HighlightState::Comment, opens: false, closes: true, info } if &**info == "rust")
    );
    let table = format!("| a |\n|---|\n{}", "| x |\n".repeat(100));
    let blocks = split(&[&table]);
    assert_eq!(blocks.len(), 2);
    assert!(
        matches!(&blocks[1].kind, BlockKind::Table { head: Some(head) } if &**head == "| a |\n|---|\n")
    );
    assert!(!blocks[1].gap);
}

#[test]
fn the_open_block_equals_the_finished_one() {
    let (mut splitter, mut done) = (BlockSplitter::default(), Vec::new());
    assert_eq!(splitter.open(), None);
    splitter.push("## He", &mut done);
    assert_eq!(splitter.open().unwrap().kind, BlockKind::Heading);
    splitter.push("ad\n``", &mut done);
    assert_eq!(
        (done.len(), splitter.open()),
        (1, None),
        "half a fence is not shown"
    );
    splitter.push("`py\nx = 1\n``", &mut done);
    let open = splitter.open().unwrap();
    assert!(matches!(&open.kind, BlockKind::Code { opens: true, .. }));
    assert_eq!(open.text, "```py\nx = 1\n");
    splitter.push("`\n", &mut done);
    assert_eq!((done.len(), splitter.open()), (2, None));
}

#[test]
fn a_line_of_ten_megabytes_is_cut() {
    let text = "word ".repeat(2 << 20);
    let blocks = split(&[&text]);
    assert!(blocks.iter().all(|block| block.text.len() <= BYTES));
    assert_eq!(
        blocks.iter().map(|block| block.text.len()).sum::<usize>(),
        text.len()
    );
    assert!(blocks.iter().all(|block| block.text.ends_with(' ')));
}

/// The layout work for a reply of 100,000 tokens, per thousand tokens, does not grow.
#[test]
fn the_cost_does_not_grow_with_the_reply() {
    let sample = "Some words of a paragraph that goes on.\nAnd a second line.\n\n- an item\n- another\n\n```rust\nfn a() {}\n```\n\n";
    let text = sample.repeat(400_000 / sample.len() + 1);
    let (mut splitter, mut done) = (BlockSplitter::default(), Vec::new());
    let mut costs = Vec::new();
    let mut cost = 0;
    for (token, bytes) in text.as_bytes().chunks(4).enumerate() {
        splitter.push(std::str::from_utf8(bytes).unwrap(), &mut done);
        cost += splitter.open().map_or(0, |block| block.text.len());
        cost += done.drain(..).map(|block| block.text.len()).sum::<usize>();
        if token % 10_000 == 9_999 {
            costs.push(std::mem::take(&mut cost));
        }
    }
    let (first, last) = (costs[0], costs[9]);
    assert!(last < first * 11 / 10, "{costs:?}");
}

fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z `*|>#.-]{0,12}",
        "( {0,5})(- |1\\. |> |# |```|~~~|\\| a \\| b \\||\\|---\\|---\\|)",
        Just("```rust".to_owned()),
        Just("日本👩‍👩‍👧‍👦".to_owned()),
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        "[a-z ]{300}".prop_map(|line| line.repeat(20)),
        "(x\n){40}",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn the_blocks_join_to_the_reply_however_it_is_chunked(text in markdown(), cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8)) {
        let whole = split(&[&text]);
        let joined: String = whole.iter().map(|block| block.text.as_str()).collect();
        prop_assert_eq!(&joined, &text);
        for block in &whole {
            prop_assert!(block.text.len() <= BYTES + 1 && block.text.lines().count() <= LINES + 1, "{block:?}");
        }
        let mut at: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        at.extend([0, text.len()]);
        at.sort_unstable();
        let (mut splitter, mut done) = (BlockSplitter::default(), Vec::new());
        for pair in at.windows(2) {
            splitter.push(&text[pair[0]..pair[1]], &mut done);
            if let Some(open) = splitter.open() {
                prop_assert!(open.text.len() <= BYTES + MAX_LINE_BYTES);
            }
        }
        splitter.finish(&mut done);
        prop_assert_eq!(done, whole);
    }
}
