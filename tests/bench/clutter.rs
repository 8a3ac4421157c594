//! Clutter must not cost anything: one-shot runs in homes with a long conversation, a large tree and a huge file.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::contender::{Contender, Stage};
use crate::measure::{Cost, measure};
use crate::series::{cell, paired, time};
use crate::table::Row;

/// Prints a row for each kind of clutter, next to the empty home.
pub fn rows(stage: &Stage, quick: bool, limits: &mut Vec<Row>) {
    let rounds = if quick { 11 } else { 61 };
    let homes = [
        ("empty home", stage.home("empty")),
        (
            "chat log of 100,000 entries",
            with(stage.home("talk"), long_talk),
        ),
        (
            "working tree of 100,000 files",
            with(stage.home("tree"), large_tree),
        ),
        (
            "file of 2 GB next door",
            with(stage.home("huge"), huge_file),
        ),
    ];
    let scratch = stage.dir.path();
    let output = scratch.join("stdout");
    let ask = |home: &Path| stage.ask(Contender::Marvin, "one", home, 1);
    let series = paired(
        &homes,
        rounds,
        |(_, home)| {
            measure(&ask(home), Some(&output), scratch)?;
            let text = fs::read_to_string(&output).map_err(|e| e.to_string())?;
            let right = text.contains("improbable");
            right.then_some(()).ok_or_else(|| "wrong output".to_owned())
        },
        |(_, home)| measure(&ask(home), None, scratch),
    );
    let empty = series.first().expect("the empty home");
    let (wall, cpu) = (|c: &Cost| c.wall, |c: &Cost| c.cpu);
    for ((title, _), s) in homes.iter().zip(&series) {
        if let Err(why) = &s.runs {
            println!("| {title} | failed: {why} | | | |");
            continue;
        }
        println!(
            "| {title} | {} | {} | {} | {} |",
            cell(s.median(wall), time),
            cell(s.median(cpu), time),
            cell(s.ratio(empty, wall), |r| format!("{r:.3}")),
            cell(s.ratio(empty, cpu), |r| format!("{r:.3}")),
        );
        let ratio = s.ratio(empty, wall);
        if *title != "empty home" {
            limits.push(Row {
                what: format!("one-shot beside a {title}"),
                wanted: "within 10 % of an empty home",
                measured: cell(ratio, |ratio| format!("{:+.0} %", (ratio - 1.0) * 100.0)),
                holds: ratio.map(|ratio| ratio <= 1.1),
            });
        }
    }
}

fn with(home: PathBuf, fill: fn(&Path) -> std::io::Result<()>) -> PathBuf {
    fill(&home).expect("clutter");
    home
}

/// A long `chat_log.json` of the active profile.
fn long_talk(home: &Path) -> std::io::Result<()> {
    let profile = home.join("config/profiles/main");
    fs::create_dir_all(&profile)?;
    fs::write(home.join("config/last_profile"), "main")?;
    let mut file = BufWriter::new(File::create(profile.join("chat_log.json"))?);
    write!(file, "[")?;
    for i in 0..100_000 {
        let role = ["you", "assistant"][i % 2];
        let comma = if i == 0 { "" } else { "," };
        write!(
            file,
            r#"{comma}{{"role":"{role}","text":"Entry {i} of a talk that went on for longer than either side would have liked.","time":"14:30"}}"#
        )?;
    }
    write!(file, "]")?;
    file.flush()
}

/// A hundred folders of a thousand small files.
fn large_tree(home: &Path) -> std::io::Result<()> {
    for folder in 0..100 {
        let folder = home.join(format!("work/part{folder:03}"));
        fs::create_dir(&folder)?;
        for file in 0..1000 {
            fs::write(folder.join(format!("file{file:04}.txt")), "a line\n")?;
        }
    }
    Ok(())
}

/// A sparse file where a careless listing, search or count would meet it.
fn huge_file(home: &Path) -> std::io::Result<()> {
    for place in ["work/huge.log", "config/huge.log"] {
        File::create(home.join(place))?.set_len(2_000_000_000)?;
    }
    Ok(())
}
