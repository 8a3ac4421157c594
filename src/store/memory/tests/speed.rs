//! The time that reading and searching take, by the number of rows.

use std::time::Duration;

use super::*;
use crate::base::cpu_time::CpuTime;
use crate::store::memory::file::Content;

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
        assert_eq!(diary.search(&words, None, None, 3, None).len(), 3);
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
    let (few, many) = (times(400), times(4_000));
    eprintln!("400: {few:?}, 4,000: {many:?}");
    for (name, few, many) in [
        ("read", few[0], many[0]),
        ("first", few[1], many[1]),
        ("search", few[2], many[2]),
    ] {
        // Twice as much for caches; quadratic would be a hundred times.
        assert!(
            many < few * 25 + Duration::from_millis(50),
            "{name}: {few:?} {many:?}"
        );
    }
}
