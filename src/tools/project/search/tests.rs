//! The search on real trees, and input made to break its parsers.

use std::fs;
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::scan::ScanOptions;
use super::*;
use crate::base::cpu_time::CpuTime;
use crate::base::testing::assert_has;
use crate::disk::beneath::ListingOptions;

fn run(dir: &Path, query: &SearchQuery<'_>) -> Outcome<String> {
    let root = Root::open(dir).unwrap();
    search(&root, query, &Env::default(), &Cancel::new())
}

fn text(dir: &Path, pattern: &str, glob: &str, context: usize, max: usize) -> String {
    let query = SearchQuery {
        pattern,
        glob,
        context,
        max,
    };
    run(dir, &query).unwrap()
}

fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &[u8]| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put(
        "src/main.rs",
        b"fn main() {\n    // TODO one\n    work();\n}\n\nfn work() {\n    // TODO two\n}\n",
    );
    put("src/lib.rs", b"// nothing here\n// TODO three");
    put("-dash/x.rs", b"// TODO dash\r\n");
    put("node_modules/m/a.rs", b"// TODO vendored\n");
    put(".hidden/a.rs", b"// TODO hidden\n");
    put("ignored.rs", b"// TODO ignored\n");
    put(".gitignore", b"ignored.rs\n");
    put("binary.rs", b"TODO\0TODO\n");
    put("latin.rs", b"// TODO caf\xe9\n");
    put("notes.md", b"TODO in notes\n");
    put("marked.md", b"\xef\xbb\xbfTODO marked\n");
    put("wide.md", b"\xff\xfeT\0O\0D\0O\0 \0w\0\n\0");
    put("wide_be.md", b"\xfe\xff\0T\0O\0D\0O\0\n");
    put("cr.md", b"a\rTODO\rb\n");
    let late = [b"TODO\n".as_slice(), &[b'x'; 200_000], b"\n\0\nTODO\n"].concat();
    put("late.md", &late);
    fs::create_dir(dir.path().join(".git")).unwrap();
    dir
}

#[test]
fn hits_stand_in_the_order_of_their_paths_with_context() {
    let dir = tree();
    assert_eq!(
        text(dir.path(), "TODO", "*.rs", 1, 3),
        "> -dash/x.rs:1: // TODO dash\n--\n> latin.rs:1: // TODO caf\u{fffd}\n--\n  src/lib.rs:1: // nothing here\n\
         > src/lib.rs:2: // TODO three\n3 hits in 3 files; there are more, raise max_results or narrow the pattern."
    );
    assert_eq!(
        text(dir.path(), "TODO", "*.md", 0, 9),
        "> cr.md:1: a\rTODO\rb\n> marked.md:1: TODO marked\n> notes.md:1: TODO in notes\n> wide.md:1: TODO w\n\
         > wide_be.md:1: TODO\n5 hits in 5 files."
            .replace('\r', "\\r")
            .replace("a\\rTODO\\rb", &escape_controls("a\rTODO\rb"))
    );
    assert!(text(dir.path(), "^TODO", "*.md", 0, 9).contains("4 hits in 4 files."));
    assert!(text(dir.path(), "TODO", "src/**/*.rs", 0, 9).contains("3 hits in 2 files."));
    assert!(text(dir.path(), "TODO", "!*.rs", 0, 9).contains("5 hits in 5 files."));
    assert!(text(dir.path(), "TODO", "*.{rs,md}", 0, 99).contains("10 hits in 9 files."));
    assert_eq!(
        text(dir.path(), "nowhere", "*", 2, 5),
        "No match for nowhere."
    );
    assert!(text(dir.path(), "dash$", "*", 0, 5).contains("-dash/x.rs:1"));
    assert!(text(dir.path(), "-x", "*", 0, 5).starts_with("No match"));
}

proptest::proptest! {
    /// A redundant flag sends the same pattern through the slow path, line by line.
    #[test]
    fn the_fast_path_finds_what_the_slow_path_finds(
        text in "([xyz \n]|é|\\t){0,120}",
        pattern in "(x|y|z|\\^|\\$|\\.|\\\\s|\\\\b|\\[\\^x\\]|x\\+|y\\*|\n|é){1,5}",
        context in 0usize..4,
        max in 1usize..6,
    ) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), &text).unwrap();
        let found = |pattern: &str| {
            let query = SearchQuery { pattern, glob: "*", context, max };
            let root = Root::open(dir.path()).unwrap();
            find(&root, &query, &Env::default(), &Cancel::new()).map_err(|_| ())
        };
        proptest::prop_assert_eq!(found(&pattern), found(&format!("(?u){pattern}")));
    }
}

#[test]
fn the_limits_of_a_search_count_within_a_file() {
    let line = "a quick brown fox jumps over the lazy dog and runs for its life\n";
    let pattern = SearchPattern::new("[a-q].{30}[0-9]").unwrap();
    let stop = Cancel::new();
    let took = |kib: usize, limit: Duration| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(line.repeat(kib << 4).as_bytes()).unwrap();
        file.rewind().unwrap();
        let options = ScanOptions { context: 0, max: 1 };
        let start = CpuTime::now();
        let limits = SearchLimits {
            stop: &stop,
            until: Instant::now() + limit,
        };
        let hits = scan::file(file, "a", &pattern, &options, &limits, &mut Vec::new());
        assert!(hits.unwrap().lines.is_empty());
        start.elapsed()
    };
    let few = took(32, Duration::from_secs(60));
    // Sixteen times as much.
    let cut = took(512, few / 4);
    assert!(cut < few * 4, "{cut:?} of 16 x {few:?}");
}

#[test]
fn hidden_ignored_binary_and_vendored_files_are_not_searched() {
    let dir = tree();
    let text = text(dir.path(), "TODO", "*.rs", 1, 20);
    assert_has(&text, &["src/main.rs", "TODO dash", "5 hits"]);
    for absent in ["vendored", "hidden", "ignored", "binary", "notes"] {
        assert!(!text.contains(absent), "{absent} in {text}");
    }
}

#[test]
fn files_searched_in_parallel_keep_their_order() {
    let dir = tempfile::tempdir().unwrap();
    for i in 0..700 {
        let folder = dir.path().join(format!("d{}", i % 7));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{i:03}")), format!("x\nneedle {i}\n")).unwrap();
    }
    let all = text(dir.path(), "needle", "*", 0, 1_000);
    assert!(all.ends_with("700 hits in 700 files."), "{all}");
    let paths: Vec<&str> = all
        .lines()
        .filter_map(|line| line.split(':').next())
        .collect();
    assert!(paths[..700].is_sorted());
    let few = text(dir.path(), "needle", "*", 0, 300);
    assert_eq!(
        few.lines().take(300).collect::<Vec<_>>(),
        all.lines().take(300).collect::<Vec<_>>()
    );
    assert!(few.contains("there are more"));
}

#[test]
fn the_unsearched_rest_of_an_endless_line_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let long = "y".repeat(5 << 20);
    fs::write(
        dir.path().join("a"),
        format!("needle {long} lost\nneedle\n"),
    )
    .unwrap();
    let found = text(dir.path(), "needle", "*", 0, 9);
    assert!(
        found.contains("a:2: needle") && found.contains("2 hits"),
        "{}",
        found.len()
    );
    assert!(found.contains("Not searched: a: what follows the first 4 MiB of line 1"));
    assert!(found.len() < 1_000);
}

#[test]
fn a_folder_swapped_for_a_link_is_not_entered() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let inside = at.join("work");
    for folder in ["work/real", "work/swap", "outside"] {
        fs::create_dir_all(at.join(folder)).unwrap();
    }
    for i in 0..60 {
        fs::write(at.join(format!("outside/{i}")), "needle outside\n").unwrap();
        fs::write(at.join(format!("work/swap/{i}")), "needle inside\n").unwrap();
    }
    let over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&over);
    let (folder, real, link) = (
        inside.join("swap"),
        inside.join("real/swap"),
        inside.join("link"),
    );
    let outside = at.join("outside");
    let swapper = thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            fs::rename(&folder, &real).unwrap();
            std::os::unix::fs::symlink(&outside, &link).unwrap();
            fs::rename(&link, &folder).unwrap();
            thread::yield_now();
            fs::remove_file(&folder).unwrap();
            fs::rename(&real, &folder).unwrap();
        }
    });
    let until = Instant::now() + Duration::from_secs(10);
    let (mut seen, mut rounds) = (0, 0);
    while rounds < 300 || (seen == 0 && Instant::now() < until) {
        let found = text(&inside, "needle", "*", 0, 1_000);
        assert!(!found.contains("outside"), "{found}");
        seen += usize::from(found.contains("inside"));
        rounds += 1;
    }
    over.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(seen > 0);
}

/// Characters with a meaning in globs or regular expressions.
const SIGNS: [&str; 17] = [
    "(", ")", "[", "]", "{", "}", "[[:", "(?:", "(?", "\\", "*", "?", "|", "a{9}", "!", "**/",
    "{a,",
];

#[test]
fn a_pattern_of_nothing_but_brackets_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "needle\n").unwrap();
    let found = |pattern: &str, glob: &str| {
        let query = SearchQuery {
            pattern,
            glob,
            context: 0,
            max: 1,
        };
        run(dir.path(), &query)
    };
    for sign in SIGNS {
        let long = sign.repeat((1 << 16) / sign.len());
        for problem in [found(&long, "*"), found("needle", &long)] {
            let text = problem.unwrap_err().for_model();
            assert!(text.len() < 2_000, "{sign}: {text}");
        }
        // Below the size limit the parsers decide for themselves.
        let _ = found(&sign.repeat(2_000 / sign.len()), "*");
        let _ = found("needle", &sign.repeat(1_000 / sign.len()));
    }
}

#[test]
fn a_megabyte_of_each_bracket_hides_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "needle\n").unwrap();
    for sign in SIGNS {
        let long = sign.repeat((1 << 20) / sign.len());
        let in_one_line = &long[..200_000];
        let many = format!("{}\n", sign.repeat(40)).repeat(50);
        for rules in [long.as_str(), in_one_line, &many] {
            fs::write(dir.path().join(".gitignore"), rules).unwrap();
            let found = text(dir.path(), "needle", "*", 0, 1);
            let is_all = ["*", "?", "**/"].contains(&sign) && rules == many;
            assert!(is_all || found.contains("1 hit"), "{sign}: {found}");
            let root = Root::open(dir.path()).unwrap();
            root.listing(&RelPath::here(), &ListingOptions::SHORT)
                .unwrap();
        }
    }
}
