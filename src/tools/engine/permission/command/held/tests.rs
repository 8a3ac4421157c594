//! What a rule about the first words of a command lets through, with the shell itself as judge.

use super::super::pattern::CommandPattern;
use super::super::pattern::tests::{Probe, bash};
use proptest::prelude::*;

fn pattern(content: &str) -> CommandPattern {
    CommandPattern::new(content).unwrap()
}

/// Every rule about words before the one that names `probe`.
fn rules_before(command: &str) -> Vec<CommandPattern> {
    let end = command.find("probe").unwrap_or(command.len());
    let spaces = command.match_indices(' ').map(|(at, _)| at);
    let texts = spaces.take_while(|at| *at < end);
    let texts = texts.filter_map(|at| command.get(..at));
    let rules = texts.filter_map(|text| CommandPattern::new(&format!("{text}:*")).ok());
    rules.collect()
}

/// These run `probe` in a folder with the files `-c`, `-exec`, `-oProbe` and `x.sh`, wherever there is a bash with the usual programs.
const RUN: &[&str] = &[
    "find . -maxdepth 0 -exec probe {} +",
    "find . -maxdepth 0 {-exec,probe,HELD,{},+}",
    "find . -maxdepth 0 {-exec,probe} {} +",
    "find . -maxdepth 0 \"-exec\" probe {} +",
    "find . -maxdepth 0 -e'x'ec probe {} +",
    "find . -maxdepth 0 -ex* probe {} +",
    "find . -maxdepth 0 -ex?c probe {} +",
    "find . -maxdepth 0 -[e]xec probe {} +",
    "find . -maxdepth 0 -e$HELD\\xec probe {} +",
    "find . -maxdepth 0 -exec true {} + -exec probe {} +",
    "find . -maxdepth 0 -exec env probe {} +",
    "find . -maxdepth 0 -exec sh -c probe {} +",
    "find . -maxdepth 0 -exec git -c alias.x='!probe' x ';'",
    "bash -c probe",
    "bash {-c,\"probe x\"}",
    "bash +c probe",
    "bash -? probe",
    "bash -$- probe",
    "bash -ec probe",
    "bash -oc posix probe",
    "bash -o posix -c probe",
    "bash -eo posix -c probe",
    "bash --norc -c probe",
    "bash -o {posix,-c} probe",
    "bash --rcfile x.sh -c probe",
    "sh -c probe",
    "env probe",
    "env -i PATH=\"$PATH\" PROBED=\"$PROBED\" probe",
    "env A=1 probe",
    "env e{-,-} probe || env {A=1,probe}",
    "env -S\"probe x\"",
    "env -vS\"probe x\"",
    "env -uX -S\"probe x\"",
    "env -u X -S\"probe x\"",
    "env --split-string=\"probe x\"",
    "env --split=\"probe x\"",
    "env -u X probe",
    "env -uu probe",
    "exec -aa probe",
    "xargs -dd probe",
    "split -tt --filter=probe x.sh",
    "env -- probe",
    "env env env probe",
    "timeout 5 probe",
    "timeout -k 1 5 probe",
    "timeout --kill-after 1 5 probe",
    "timeout 5 env probe",
    "timeout 5 bash -c probe",
    "timeout 9 find . -maxdepth 0 -exec probe {} +",
    "time find . -maxdepth 0 -exec probe {} +",
    "time -p probe",
    "time ! probe",
    "! probe",
    "A=1 probe",
    "nice probe",
    "nice -n 5 probe",
    "nice -5 probe",
    "nohup probe",
    "setsid -w probe",
    "stdbuf -o0 probe",
    "stdbuf -o 0 probe",
    "xargs probe",
    "xargs -n 1 probe",
    "xargs -a x.sh env probe",
    "command probe",
    "command -p -- env probe",
    "builtin command probe",
    "builtin eval probe",
    "exec probe",
    "exec -a x probe",
    "eval probe",
    "eval true ';' probe",
    "jobs -x probe",
    "coproc probe",
    "trap probe EXIT",
    "compgen -C probe x",
    "flock lock probe",
    "flock -w 1 lock probe",
    "flock lock -c probe",
    "sed '1e probe' x.sh",
    "sed -n 's/.*/probe/e' x.sh",
    "sed -ne '1,$e probe' x.sh",
    "sed --expr='1e probe' x.sh",
    "sed 't;e probe' x.sh",
    "sed 's/[/]/ /e;s/x/y/;1e probe' x.sh",
    "sed -n p x.sh -e '1e probe'",
    "awk 'BEGIN{system(\"probe\")}'",
    "awk 'BEGIN{print 1 | \"probe\"}'",
    "awk 'BEGIN{\"probe\" | getline}'",
    "awk 'BEGIN{x=\"a\"/2; system(\"probe\")/1}'",
    "tar -cf o.tar x.sh -I probe",
    "tar -Iprobe -cf o.tar x.sh",
    "tar cIf probe o.tar x.sh",
    "tar cfI o.tar probe x.sh",
    "tar --use-comp=probe -cf o.tar x.sh",
    "tar {--use-compress-program=probe,-cf,o.tar,x.sh}",
    "tar -cf o.tar --checkpoint=1 --checkpoint-action=exec=probe x.sh",
    "split --filter=probe x.sh",
    "split --filt probe x.sh",
];

/// These run it where their program is there and does.
const MAY_RUN: &[&str] = &[
    "xargs -I x probe",
    "git -c alias.x='!probe' x",
    "git -c alias.x=\"!probe\" x",
    "git -calias.x='!probe' x",
    "git -C . -c alias.x='!probe' x",
    "git --no-pager -c alias.x='!probe' x",
    "git {-c,alias.x=!probe} x",
    "git -p -c core.pager=probe version",
    "git -c core.pager=probe -p help -a",
    "git -c core.sshCommand=probe ls-remote ssh://localhost/x",
    "git -c core.fsmonitor=probe status",
    "git -c core.editor=probe commit",
    "git -c credential.helper='!probe' credential fill",
    "git -c diff.external=probe diff --no-index x.sh lock",
    "git rebase -x probe HEAD",
    "git rebase --exec=probe HEAD",
    "git rebase --ex probe HEAD",
    "git rebase -ix probe HEAD",
    "git bisect run probe",
    "git submodule foreach probe",
    "git submodule --quiet foreach probe",
    "git fetch --upload-pack=probe .",
    "git clone -u probe . y",
    "git clone -c core.sshCommand=probe ssh://localhost/x y",
    "git ls-remote --upload-pack=probe .",
    "git ls-remote --exec probe .",
    "git push --receive-pack=probe . HEAD",
    "git grep --no-index -Oprobe x",
    "git grep -l --open-files-in-pager=probe x",
    "git difftool -x probe",
    "git difftool -yx probe",
    "git difftool --extcmd=probe",
    "sudo -u root probe",
    "sudo probe",
    "doas -u root probe",
    "su -c probe",
    "runuser -u root probe",
    "script -qc probe x",
    "script -c probe",
    "chrt -o 0 probe",
    "ionice -c 3 probe",
    "ionice -c3 nice probe",
    "taskset 1 probe",
    "taskset -c 0 probe",
    "unshare -r probe",
    "chroot / probe",
    "strace -o x probe",
    "strace -A probe",
    "zsh -oposixidentifiers -c probe",
    "ksh -opipefail -c probe",
    "mksh -T x -c probe",
    "bsdtar -L --use-compress-program=probe -cf o.tar x.sh",
    "gawk -Ix 'BEGIN{system(\"probe\")}'",
    "git svn fetch --authors-prog=probe",
    "watch probe",
    "watch -n 1 probe",
    "watch true ';' probe",
    "parallel probe ::: x",
    "busybox probe",
    "busybox sh -c probe",
    "ssh -o ProxyCommand=probe localhost",
    "ssh -oProxyCommand=probe localhost",
    "ssh -o 'ProxyCommand probe' localhost",
    "ssh localhost -o ProxyCommand=probe",
    "ssh -o LocalCommand=probe -o PermitLocalCommand=yes localhost",
    "ssh -vo ProxyCommand=probe localhost",
    "scp -S probe x.sh localhost:",
    "scp -o ProxyCommand=probe x.sh localhost:",
    "rsync -e probe x.sh localhost:",
    "rsync -ave probe x.sh localhost:",
    "rsync --rsh=probe x.sh localhost:",
    "make SHELL=probe",
    "make --eval='x:;probe' x",
    "make --ev 'x:;probe' x",
    "make 'A:=$(shell probe)'",
    "make MAKEFLAGS=--eval=probe",
    "man -P probe ls",
    "man -Pprobe ls",
    "man --pager=probe ls",
    "zip -TT probe -T o.zip x.sh",
    "zip -qTT probe o.zip x.sh",
    "sort --compress-program=probe x.sh",
    "sort -n --comp=probe x.sh",
    "sort {--compress-program=probe,x.sh}",
    "awk -f x.awk -e 'BEGIN{system(\"probe\")}'",
    "gawk 'BEGIN{f=\"sys\" \"tem\"; @f(\"probe\")}'",
    "fd -x probe",
    "fd -Hx probe",
    "fd . --exec-batch probe",
    "rg --pre probe x",
    "rg --pre=probe x",
    "go test -exec probe",
    "go build -toolexec=probe",
    "gcc -wrapper probe x.c",
    "cargo --config 'build.rustc-wrapper=\"probe\"' build",
    "wget -e use_askpass=probe localhost",
    "apt-get -o APT::Update::Pre-Invoke::=probe update",
    "uv run probe",
    "npm exec -- probe",
    "npx -c probe",
    "bundle exec probe",
    "fish -c probe",
    "fish -C probe",
    "zsh -c probe",
    "tcsh -c probe",
    "pandoc -F probe x.md",
    "tcpdump -z probe",
    "tmux new -d probe",
];

/// What runs here is in a language of the program's own, which a rule that denies does not read.
const NOT_DENIED: &[&str] = &[
    "gawk -I x 'BEGIN{system(\"probe\")}'",
    "less --lesskey-content='#env;LESSOPEN=|probe %s' x.sh",
    "git filter-branch --tree-filter probe",
    "strace -o '|probe' -p 1",
    "make CC=probe x.o",
    "vim -es -c '!probe' -c q",
    "vim -es '+!probe' +q",
    "vim --cmd '!probe' -es -c q",
    "less '+!probe' x.sh",
    "gdb -batch -ex '!probe'",
];

#[test]
fn no_rule_about_the_words_before_it_allows_a_held_command() {
    let deny = pattern("probe:*");
    let mut wrong = Vec::new();
    let shell = bash();
    let probe = Probe::new();
    for command in RUN.iter().chain(MAY_RUN).chain(NOT_DENIED) {
        let allows = rules_before(command)
            .iter()
            .any(|rule| rule.allows(command));
        if allows || !deny.denies(command) && !NOT_DENIED.contains(command) {
            wrong.push(format!("{command}: allowed {allows}"));
        }
    }
    if let Some(shell) = shell {
        let ran = probe.runs_which(&shell, RUN);
        let not = RUN.iter().zip(ran).filter(|(_, ran)| !ran);
        wrong.extend(not.map(|(command, _)| format!("{command}: does not run it")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_rule_about_the_words_allows_what_holds_no_other_command() {
    let mut wrong = Vec::new();
    for (rule, commands) in [
        (
            "find",
            &[
                "find . ( -name a -o -name b ) -print",
                "find . -name '*.rs' -newer x",
                "find . -type f -name *.md",
                "find src/*.d -name x",
                "find . -path './-ok'",
                "find ~/src -name x",
            ][1..],
        ),
        ("find . -exec grep", &["find . -exec grep x {} +"]),
        ("find . -exec sed -n", &["find . -exec sed -n 1p {} +"]),
        ("find . -exec bash x.sh", &["find . -exec bash x.sh {} ';'"]),
        (
            "bash",
            &[
                "bash x.sh",
                "bash -n x.sh",
                "bash -o pipefail x.sh -c",
                "bash scripts/*.sh",
                "bash -- x.sh",
            ],
        ),
        (
            "bash scripts/test.sh",
            &["bash scripts/test.sh -race", "bash scripts/test.sh -c x"],
        ),
        ("sh x.sh", &["sh x.sh -check"]),
        ("sh", &["sh ./configure --prefix=/x --enable-c"]),
        ("env", &["env", "env -0", "env A=1"]),
        ("env A=1 cargo", &["env A=1 cargo test"]),
        ("A=1 cargo test", &["A=1 cargo test -q"]),
        ("timeout 5 cargo", &["timeout 5 cargo test"]),
        ("timeout 60 ./run.sh", &["timeout 60 ./run.sh -c x"]),
        ("timeout 5 env -u X ls", &["timeout 5 env -u X ls -l"]),
        ("nice -n 19 make", &["nice -n 19 make -j4"]),
        ("nice make", &["nice make -j4"]),
        ("nice", &["nice", "nice --help"]),
        ("time cargo", &["time cargo test"]),
        ("xargs -0 wc", &["xargs -0 wc -l"]),
        ("xargs", &["xargs --help"]),
        ("sudo -n apt-get install", &["sudo -n apt-get install x"]),
        ("sudo", &["sudo -l"]),
        ("watch ls", &["watch ls -la"]),
        ("command", &["command -v rm", "command -V ls"]),
        (
            "ssh",
            &[
                "ssh host",
                "ssh host ls -o x",
                "ssh -p 22 -o BatchMode=yes -i key me@host ls",
            ],
        ),
        (
            "git",
            &[
                "git status",
                "git --version",
                "git --no-pager log -p",
                "git -C dir log --oneline",
                "git -c color.ui=never -c user.name='A B' log",
                "git add *.rs $X",
                "git commit -m 'x -c y'",
                "git grep -n -e x",
                "git fetch --prune origin",
                "git rebase main",
                "git bisect start",
                "git submodule update --init",
                "git clone https://localhost/x",
            ],
        ),
        ("git bisect run cargo", &["git bisect run cargo test"]),
        ("git rebase -x make", &["git rebase -x make main"]),
        (
            "sed",
            &[
                "sed -n 1,5p x",
                "sed -i 's/one/two/g' ./*.rs",
                "sed -i.bak -e s/e/x/ -e '/e/d' e",
                "sed 's|[[:space:]]*$||; /^e/!d' x",
                "sed -E 's/(a|e)/\\1/2gI' -- *.txt",
                "sed '1i\\  text e' x",
                "sed ':a;N;$!ba;s/\\n/ /g' x",
                "sed -f e.sed x",
                "sed '$d' x",
                "sed -nE --quiet -e p x",
            ],
        ),
        (
            "awk",
            &[
                "awk '{print $1}' *.txt",
                "awk -F'|' '/a|b/ {print $2 / 2}' x",
                "awk -F '|' '$1 ~ /x/ || !y {n++} END {print n \"|\"}' x",
                "awk -f x.awk x",
                "awk \"{print}\" x",
            ][..1],
        ),
        (
            "awk",
            &[
                "awk -F'|' '/a|b/ {print $2}' x",
                "awk -F '|' '$1 ~ /x/ || !y {n++} END {print n \"|\"}' x",
                "awk -f x.awk x",
                "awk '{print $2 / 2}' x",
                "awk \"{print}\" x",
            ],
        ),
        (
            "tar",
            &[
                "tar xzf a.tgz",
                "tar -C dir -cf Index.tar ./*.c",
                "tar cf a.tar -- *",
                "tar --exclude=x -xf a",
            ],
        ),
        ("sort", &["sort -k 2 -t , ./*.txt", "sort -u -- *"]),
        ("rsync", &["rsync -av --delete a/ b/"]),
        ("make", &["make", "make -j4 test", "make V=1 -C dir all"]),
        ("man", &["man ls", "man 3 printf"]),
        ("less", &["less x"]),
        ("vim", &["vim x"]),
        ("zip", &["zip -r o.zip dir"]),
        ("python3", &["python3 -c 'print(1)'"]),
        ("node", &["node -e 'x'"]),
        ("cargo", &["cargo test -- --exact"]),
        ("go", &["go test ./... -run X"]),
        ("fd", &["fd -e rs x"]),
        ("rg", &["rg -n x --pre-glob y src"]),
        ("uv", &["uv pip list", "uv --version"]),
        ("uv run pytest", &["uv run pytest -x"]),
        ("npm", &["npm run build", "npm test"]),
        ("npx tsc", &["npx tsc --noEmit"]),
        ("docker", &["docker run x ls"]),
    ] {
        let rule = pattern(&format!("{rule}:*"));
        let not = commands.iter().filter(|command| !rule.allows(command));
        wrong.extend(not.copied());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_rule_that_denies_lets_options_be_that_hold_no_such_command() {
    let deny = pattern("rm:*");
    let mut wrong = Vec::new();
    for command in [
        "git -c core.pager=cat log",
        "git add *.rs",
        "git commit -m \"$X\"",
        "sed -i \"s/a/$X/\" f",
        "awk \"$X\"",
        "awk '/a|b/ {print $1}'",
        "tar -I 'zstd -19' -cf a.tar *",
        "tar xf \"$X\"",
        "rsync -e 'ssh -p 22' a b",
        "make CC=clang PREFIX=/usr",
        "sort *.txt",
        "GIT_EDITOR=true git rebase --continue",
        "fd x -x grep y",
        "man -P cat ls",
        "strace -o out ls",
        "uv run pytest",
    ] {
        if deny.denies(command) {
            wrong.push(command);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for command in [
        "bash x.sh",
        "cd x; bash y.sh",
        "GIT_PAGER='bash x' git log",
        "env X=1 bash y.sh",
        "git -c alias.x=push x",
        "fd -x bash y.sh",
    ] {
        assert!(pattern("bash:*").denies(command), "{command}");
    }
    for name in ["sudo", "su", "eval", "env", "find", "mapfile"] {
        let command = format!("ls; {name} x");
        assert!(pattern(&format!("{name}:*")).denies(&command), "{command}");
    }
}

#[test]
fn texts_of_sed_and_awk_that_run_a_command_are_told_from_others() {
    use super::super::{awk_program, sed_script};
    for (script, may_run) in [
        ("s/a/b/ge", true),
        ("s/a/b/w e", false),
        ("/a/e", true),
        ("/a/s//e/", false),
        ("b;e x", true),
        (": a;e x", true),
        ("y/e/x/", false),
        ("y/a/b/;e", true),
        ("a e x\ne x", true),
        ("\\,a,e x", true),
        ("\\,e,p", false),
        ("s,[,]e,x,", true),
        ("s/[]/]/ /e;s/x/y/", true),
        ("s/[[:alpha:]/]/ /e;s/x/y/", true),
        ("s/[^/]*/x/", true),
        ("s|[^/]*|x|", false),
        ("s/a/b", true),
        ("s", true),
        ("\\", true),
        ("", false),
    ] {
        assert_eq!(sed_script::may_run(script), may_run, "{script}");
    }
    for (program, may_run) in [
        ("{print $1 | $2}", true),
        ("{print \"a\" |& \"x\"}", true),
        ("{x = /a|b/}", true),
        ("$1 ~ /a|b/", false),
        ("# system\n{print}", false),
        ("{print \"system\"}", false),
        ("BEGIN {system (\"x\")}", true),
        ("{print 4 / 2} /|system(1)/", true),
        ("/[/|]/", true),
        ("/\"/ {system(1)} /\"/", true),
        ("\"x\"/2; system(1)/1", true),
        ("{@f(1)}", true),
        ("{a || b}", false),
        ("\"|", true),
    ] {
        assert_eq!(awk_program::may_run(program), may_run, "{program}");
    }
}

/// Programs that run `probe`, one behind the other, and the words that it is written with.
fn wrapped() -> impl Strategy<Value = (String, String)> {
    const WRAPPERS: &[&str] = &[
        "env",
        "env -u X",
        "env -uu",
        "xargs -dd",
        "env A=1",
        "env -i PROBED=$PROBED PATH=$PATH",
        "env -",
        "timeout 5",
        "timeout -k 1 5",
        "nice",
        "nice -n 5",
        "nice -5",
        "nohup",
        "xargs",
        "xargs -n 1",
        "command",
        "command --",
        "builtin command",
        "exec",
        "time",
        "time -p",
        "setsid -w",
        "stdbuf -o0",
        "flock lock",
        "flock -w 1 lock",
        "find . -maxdepth 0 -exec",
        "find . -maxdepth 0 -ex*",
        "find -maxdepth 0 {-print,-exec}",
        "bash",
        "bash -c",
        "bash -ec",
        "bash -o posix",
        "bash -?",
        "sh",
        "eval",
        "jobs -x",
        "A=1",
        "!",
        "git -c alias.x=!probe x",
        "X",
        "-n",
        "1",
        "--",
        "-S",
        "$X",
        "*",
        "sed 1e",
        "split --filter",
        "tar -cf o -I",
        "{env,-i}",
        "busybox",
    ];
    const PROBES: &[&str] = &[
        "probe",
        "'probe'",
        "pro\"be\"",
        "{probe,x}",
        "pro\\be x {} +",
        "probe {} ';'",
        "\"probe x\"",
        "-c probe",
        "-Sprobe",
        "=probe",
        "x.sh probe",
        "$X probe",
        "A=1 probe",
        "-- probe",
        "- probe",
        "x.sh -c probe",
    ];
    let wrappers = proptest::collection::vec(proptest::sample::select(WRAPPERS), 1..4);
    (
        wrappers,
        proptest::sample::select(PROBES),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(wrappers, probe, cut)| {
            let before = wrappers.join(" ");
            let words: Vec<&str> = before.split(' ').collect();
            let said = words.get(..=cut.index(words.len())).unwrap_or_default();
            (format!("{before} {probe}"), format!("{}:*", said.join(" ")))
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// The shell itself is the judge.
    #[test]
    fn what_runs_behind_programs_is_not_allowed_by_a_rule_about_them((command, rule) in wrapped()) {
        let says_it = rule.contains("probe");
        if let Some(shell) = bash() && !says_it && let Ok(rule) = CommandPattern::new(&rule) && rule.allows(&command) {
            prop_assert!(!Probe::new().runs(&shell, &command), "{rule:?} {command}");
        }
    }

    #[test]
    fn what_runs_behind_programs_is_denied((command, _) in wrapped()) {
        if let Some(shell) = bash() && !pattern("probe:*").denies(&command) {
            prop_assert!(!Probe::new().runs(&shell, &command), "{command}");
        }
    }
}
