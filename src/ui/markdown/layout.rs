//! Lays out blocks as rows of a terminal.
//!
//! Markup characters are removed, everything else stays: HTML, footnotes and references are shown as written. Line breaks inside a paragraph are kept, because
//! models mean them.

use super::block::{Block, BlockKind};
use super::flow::{BlockLayout, Completeness, rule};
use super::{code, lines};
use crate::ui::text::clean::clean;
use crate::ui::text::theme::Theme;
use crate::ui::text::wrap::HangingIndent;
use ratatui::text::Line;

/// The rows of a block at a width. No row is wider, from a width of two columns on. The first row is empty if the block has a gap.
pub fn lay_out(block: &Block, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    block_rows(block, width, theme, Completeness::Whole)
}

fn block_rows(
    block: &Block,
    width: usize,
    theme: &Theme,
    completeness: Completeness,
) -> Vec<Line<'static>> {
    let width = width.max(1);
    let text = clean(&block.text);
    let mut out = Vec::new();
    if block.gap {
        out.push(Line::default());
    }
    match &block.kind {
        BlockKind::Blank => {}
        BlockKind::Rule => out.push(rule(width, theme)),
        BlockKind::Code {
            info,
            opens,
            closes,
            state,
        } => {
            let hang = match block.indent {
                indent if indent <= width / 2 => HangingIndent::blanks(indent),
                _ => HangingIndent::default(),
            };
            let mut rows: Vec<&str> = text.lines().collect();
            if *opens {
                let blank = rows.iter().take_while(|line| lines::is_blank(line)).count();
                rows.drain(..(blank + 1).min(rows.len()));
                out.push(code::opening(info, width, &hang, theme));
            }
            if *closes {
                rows.pop();
            }
            let rows = rows.iter().map(|line| lines::dedent(line, block.indent));
            out.extend(code::rows(rows, (info, *state), width, &hang, theme));
            if *closes {
                out.push(code::closing(width, &hang, theme));
            }
        }
        BlockKind::Table { head: Some(head) } => {
            let source = format!("{}{}", clean(head), text);
            out.extend(
                BlockLayout::new(width, theme)
                    .completeness(completeness)
                    .continued_table()
                    .run(&source),
            );
        }
        BlockKind::List { after } => {
            let source = dedented(&text, block.indent);
            let flow = BlockLayout::new(width, theme)
                .completeness(completeness)
                .indented(block.indent);
            out.extend(flow.numbered_after(*after).run(&source));
        }
        BlockKind::Paragraph
        | BlockKind::Heading
        | BlockKind::Quote
        | BlockKind::Table { head: None } => {
            let flow = BlockLayout::new(width, theme).completeness(completeness);
            out.extend(flow.run(&text));
        }
    }
    out
}

/// The rows of a block that is still arriving: bold text and inline code without an end yet are shown as if they were closed.
pub fn lay_out_open(block: &Block, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    match block.kind {
        BlockKind::Paragraph | BlockKind::Heading | BlockKind::List { .. } | BlockKind::Quote => {
            let mut block = block.clone();
            close(&mut block.text);
            block_rows(&block, width, theme, Completeness::Arriving)
        }
        BlockKind::Blank | BlockKind::Table { .. } | BlockKind::Code { .. } | BlockKind::Rule => {
            lay_out(block, width, theme)
        }
    }
}

/// Appends the delimiters that the last line still lacks; an opening one at the very end is removed.
fn close(text: &mut String) {
    let from = text.rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(from..).unwrap_or_default();
    let (mut code, mut bold) = (false, false);
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        match c {
            '`' => code = !code,
            '\\' if !code => taken += rest.chars().nth(1).map_or(0, char::len_utf8),
            '*' if !code && rest.starts_with("**") => {
                bold = !bold;
                taken = 2;
            }
            _ => {}
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    let mark = match (code, bold) {
        (true, _) => "`",
        (false, true) => "**",
        (false, false) => return,
    };
    let kept = text.trim_end_matches(' ').len();
    if text.ends_with(mark) {
        text.truncate(text.len() - mark.len());
    } else if kept > from {
        text.insert_str(kept, mark);
    }
    if code && bold && !text.ends_with("**") {
        text.push_str("**");
    }
}

/// Lays out a complete text, such as a stored message.
pub fn lay_out_all(text: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let (mut splitter, mut blocks) = (super::split::BlockSplitter::default(), Vec::new());
    splitter.push(&clean(text), &mut blocks);
    splitter.finish(&mut blocks);
    let rows = blocks.iter().flat_map(|block| lay_out(block, width, theme));
    rows.collect()
}

fn dedented(text: &str, columns: usize) -> String {
    let lines = text.split_inclusive('\n');
    lines.map(|line| lines::dedent(line, columns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::markdown::split::BlockSplitter;
    use crate::ui::text::cell_mark::is_linked;
    use crate::ui::text::theme::ColorMode;
    use crate::ui::text::width;
    use proptest::prelude::*;
    use ratatui::style::Modifier;

    fn theme() -> Theme {
        Theme::new(ColorMode::Ansi16)
    }

    fn rows(text: &str, width: usize) -> Vec<String> {
        let lines = lay_out_all(text, width, &theme());
        lines.iter().map(ToString::to_string).collect()
    }

    fn are(text: &str, width: usize, want: &[&str]) {
        assert_eq!(rows(text, width), want, "{text}");
    }

    #[test]
    fn an_address_that_may_go_on_is_no_link_yet() {
        let theme = Theme::new(ColorMode::None);
        let links = |text: &str| {
            let mut splitter = BlockSplitter::default();
            splitter.push(text, &mut Vec::new());
            let block = splitter.open().unwrap();
            [lay_out_open, lay_out].map(|rows| {
                let rows = rows(&block, 80, &theme);
                let spans = rows.iter().flat_map(|row| &row.spans);
                spans.filter(|span| is_linked(span.style)).count()
            })
        };
        assert_eq!(links("See https://arriving.example/x"), [0, 1]);
        assert_eq!(links("See (https://arriving.example/y)."), [0, 1]);
        assert_eq!(links("https://arriving.example/1 or https://arr"), [1, 2]);
        assert_eq!(links("See https://arriving.example/x too"), [1, 1]);
    }

    #[test]
    fn an_address_in_a_table_is_a_link_in_each_of_its_rows() {
        let address = "https://table.example/a/long/address/that/is/wrapped";
        let table = format!("| what | where |\n| --- | --- |\n| docs | {address} |\n");
        let rows = lay_out_all(&table, 40, &Theme::new(ColorMode::None));
        let spans = rows.iter().flat_map(|row| &row.spans);
        let linked: Vec<&str> = spans
            .filter(|span| is_linked(span.style))
            .map(|span| span.content.as_ref())
            .collect();
        assert!(linked.len() > 1, "{rows:?}");
        assert_eq!(linked.concat().trim(), address);
    }

    #[test]
    fn markup_is_removed_and_words_stay() {
        are(
            "# Title *x*\ntext\n\n## Next ##",
            40,
            &["Title x", "text", "", "Next"],
        );
        are("a **b** `c` ~~d~~ \\* &amp;", 40, &["a b c d * &"]);
        are(
            "[a](http://x \"t\") <http://y> [y](https://y/) ![i](z)",
            60,
            &["a (http://x \"t\") http://y y i (z)"],
        );
        are(
            "<b>x</b>\n\n<!-- c -->\n\n<div>\n<p>y</p>",
            40,
            &["<b>x</b>", "", "<!-- c -->", "", "<div>", "<p>y</p>"],
        );
        are(
            "see [r] and [^1]\n\n[r]: http://x 'y'\n[^1]: z",
            40,
            &["see [r] and [^1]", "", "[r]: http://x 'y'", "[^1]: z"],
        );
        are(
            "~5 or ~6 of snake_case_name, 2 * 3 * 4, a<b && c>d",
            60,
            &["~5 or ~6 of snake_case_name, 2 * 3 * 4, a<b && c>d"],
        );
        are("one\ntwo", 40, &["one", "two"]);
        are("> a\n> b\n>\n> - c", 40, &["> a", "> b", "> ", "> • c"]);
        are("---", 4, &["────"]);
        are("\u{1b}[2Ja\u{202e}b", 40, &["ab"]);
    }

    #[test]
    fn on_a_wide_screen_prose_is_wrapped_and_nothing_else() {
        let long = "words ".repeat(60);
        let widths = |text: &str, width: usize| -> Vec<usize> {
            let rows = rows(text, width);
            rows.iter().map(|row| width::of(row.trim_end())).collect()
        };
        for (mark, indent) in [("", 0), ("# ", 0), ("> ", 2), ("- ", 2), ("- - ", 4)] {
            let rows = widths(&format!("{mark}{long}"), 200);
            assert_eq!(rows, [119 + indent; 3], "{mark}");
        }
        // Without blanks too, where rows end between characters.
        assert_eq!(widths(&"語".repeat(150), 200), [120, 120, 60]);
        assert_eq!(widths(&long, 110), [107, 107, 107, 35]);
        let code = format!("```\n{}\n```", "x".repeat(190));
        assert_eq!(widths(&code, 200), [24, 190, 24]);
        let list = format!("- a\n  ```\n  {}\n  ```", "x".repeat(190));
        assert_eq!(widths(&list, 200), [3, 26, 192, 26]);
        let table = format!(
            "| a | b |\n|---|---|\n| {} | {} |",
            "x".repeat(90),
            "y".repeat(90)
        );
        assert!(widths(&table, 200).iter().any(|row| *row > 180));
        // An address stays in one piece: only where the screen ends a row goes on in the next one.
        let address = format!("https://example.org/{}", "a".repeat(150));
        assert!(rows(&format!("See {address} and {long}"), 200)[0].contains(&address));
    }

    #[test]
    fn lists_indent_and_number() {
        are(
            "1. one twos\n1. three\n   - four five\n7) x\n\n9. y",
            10,
            &[
                "1. one",
                "   twos",
                "2. three",
                "   ◦ four",
                "     five",
                "7) x",
                "",
                "9. y",
            ],
        );
        are(
            "- a\n\n  b\n- [ ] c\n-\n- - d",
            20,
            &["• a", "", "  b", "• [ ] c", "• ", "• ◦ d"],
        );
        are(
            "- a\n  ```sh\n  ls\n  ```\n  b",
            20,
            &[
                "• a",
                "  ── sh ────────────",
                "  ls",
                "  ──────────────────",
                "  b",
            ],
        );
        are(
            "- a\n  - b\n    - c\n      - d",
            6,
            &["• a", "  ◦ b", "▪", "c", "•", "d"],
        );
    }

    #[test]
    fn tables_fit_the_width() {
        let table = "| Name | n |\n|---|--:|\n| a b c d e f | 1 |\n| 日本 | 22 | more |";
        are(
            table,
            30,
            &[
                "Name                 n",
                "───────────  ─────────",
                "a b c d e f          1",
                "日本         22 | more",
            ],
        );
        are(
            table,
            16,
            &[
                "Name           n",
                "───────  ───────",
                "a b c d        1",
                "e f",
                "日本        22 |",
                "            more",
            ],
        );
        are(
            table,
            9,
            &[
                "Name: a b",
                "  c d e f",
                "n: 1",
                "",
                "Name: 日",
                "  本",
                "n: 22 |",
                "  more",
            ],
        );
        are(
            "a | b\n--- | ---\nx<br>y | `z`",
            20,
            &["a  b", "─  ─", "x  z", "y"],
        );
    }

    #[test]
    fn code_has_no_prefix_and_loses_nothing() {
        are(
            "```rust ignore\nfn a() {\n\n    b\n}\n```",
            6,
            &["── ru…", "fn a()", " {", "", "    b", "}", "──────"],
        );
        let (code, rule) = ("── code ────────────", "─".repeat(20));
        are(
            "    indented\n      more",
            20,
            &[code, "indented", "  more", &rule],
        );
        let long = format!("```py\n{}```\n", "x = 1\n".repeat(200));
        assert_eq!(rows(&long, 20).len(), 202);
        let lines = lay_out_all("```rust\nlet x = \"y\";\n```", 40, &theme());
        assert_eq!(lines[1].spans[0].style, theme().keyword);
    }

    #[test]
    fn unfinished_markup_looks_finished() {
        let open = |text: &str| {
            let mut splitter = BlockSplitter::default();
            splitter.push(text, &mut Vec::new());
            let lines = lay_out_open(&splitter.open().unwrap(), 60, &theme());
            lines.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        for (text, want) in [
            ("a **bo", "a bo"),
            ("a **bo ", "a bo"),
            ("a **", "a"),
            ("a `co", "a co"),
            ("a **b** c", "a b c"),
            ("a **b `c", "a b c"),
            ("- **b", "• b"),
            ("2 * 3", "2 * 3"),
            ("`**` b", "** b"),
        ] {
            assert_eq!(open(text), [want], "{text}");
        }
    }

    #[test]
    fn a_split_table_has_one_head() {
        let table = format!("| head | b |\n|---|---|\n{}", "| x | y |\n".repeat(100));
        let rows = rows(&table, 40);
        assert_eq!(rows.len(), 102);
        assert_eq!(rows.iter().filter(|row| row.contains("head")).count(), 1);
        assert!(rows[2..].iter().all(|row| row == "x     y"));
    }

    #[test]
    fn a_top_heading_stands_out_without_colour() {
        let lines = lay_out_all("# A\n\n### B", 40, &Theme::new(ColorMode::None));
        let style = |line: usize| lines[line].spans[0].style.add_modifier;
        assert!(style(0).contains(Modifier::BOLD | Modifier::UNDERLINED));
        assert!(style(2).contains(Modifier::BOLD));
    }

    /// Markdown with words `w0`, `w1`, … and delimiters.
    fn marked() -> impl Strategy<Value = (String, usize)> {
        let mark = prop_oneof![
            "[ *_`~<>\\[\\]()!|#:\"-]{0,4}",
            Just("\n".to_owned()),
            Just("\n\n".to_owned()),
            "\n {0,5}(- |1\\. |12\\) |> |# |### |```|~~~|\\| |\\|---\\|---\\|\n|---|===)",
            Just("](".to_owned()),
            Just("\n[".to_owned()),
            Just("]: ".to_owned()),
            Just(" | ".to_owned()),
            Just("日本👩‍👩‍👧‍👦".to_owned()),
            Just("e\u{301}ｶﾞﾞ שלום".to_owned()),
        ];
        proptest::collection::vec(mark, 0..40).prop_map(|marks| {
            let count = marks.len();
            let text = marks
                .iter()
                .enumerate()
                .map(|(number, mark)| format!("{mark}w{number}"))
                .collect();
            (text, count)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn rows_fit_and_no_word_is_lost((text, words) in marked(), wide in 1usize..300) {
            for row in lay_out_all(&text, wide, &theme()) {
                prop_assert!(wide == 1 || width::of_spans(&row.spans) <= wide, "{row:?}");
            }
            let shown = rows(&text, 299).concat();
            for word in 0..words {
                prop_assert!(shown.contains(&format!("w{word}")), "w{word} of {text:?} is not in {shown}");
            }
        }

        #[test]
        fn unfinished_blocks_fit_too(text in "(\\PC|[a-z`*|>#. \n-]){0,200}", wide in 2usize..100) {
            let (mut splitter, mut done) = (BlockSplitter::default(), Vec::new());
            for piece in text.split_inclusive(' ') {
                splitter.push(&clean(piece), &mut done);
                let open = splitter.open();
                for row in open.iter().flat_map(|block| lay_out_open(block, wide, &theme())) {
                    prop_assert!(width::of_spans(&row.spans) <= wide, "{row:?}");
                }
            }
        }
    }
}
