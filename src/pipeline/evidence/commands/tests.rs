//! Tables of commands: which start the program of a project, and which only look like it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

/// Commands of a project, each with what it prints where that matters; `127:` and so on before the text is how it ended.
fn tries(cases: &[(&str, &str)], expected: bool) {
    let elsewhere = tempfile::tempdir().unwrap();
    for name in ["wordcount", "ruff"] {
        let program = elsewhere.path().join(name);
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let paths = [
        ".gitignore",
        "README.md",
        "count.awk",
        "package.json",
        "run.sh",
        "server.js",
        "src/main.rs",
        "wordcount.py",
    ]
    .map(str::to_owned);
    let root = tempfile::tempdir().unwrap();
    // The last two are what was built.
    let built = ["program", "sub/dist/server.js"].map(str::to_owned);
    for path in paths.iter().chain(&built) {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let search_path = format!("/usr/bin:/bin:{}", elsewhere.path().display());
    let project = Project::new(root.path(), &paths, search_path);
    let wrong: Vec<&str> = cases
        .iter()
        .filter(|(text, printed)| {
            let (status, result) = printed.split_once(": ").unwrap_or(("0", ""));
            let command = RunCommand {
                text,
                result,
                status: status.parse().ok(),
                project: &project,
            };
            command.is_a_try() != expected
        })
        .map(|(text, _)| *text)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n---\n"));
}

#[test]
fn what_starts_the_project_is_a_try() {
    tries(
        &[
            ("./program --help", ""),
            ("cd app && python3 -m wordcount < input.txt", ""),
            ("echo 3 | PORT=1 target/debug/app", ""),
            ("cargo run -- list; cargo test", ""),
            ("command ./program", ""),
            ("command -p python3 wordcount.py a", ""),
            ("time -p python3 wordcount.py a", ""),
            ("env -u X A=1 python3 wordcount.py a", ""),
            ("cd sub && ./prog", ""),
            ("timeout -k 1 5s ./prog", ""),
            ("(python3 wordcount.py a)", ""),
            (
                "python3 - <<'X'\nimport os, wordcount\nprint(wordcount.count('a b'))\nX",
                "",
            ),
            (
                "python3 -c 'from wordcount import count; print(count(\"a\"))'",
                "",
            ),
            ("python3 -c '__import__(\"wordcount\")'", ""),
            (
                "python3 -c \"import runpy; runpy.run_path('wordcount.py')\"",
                "",
            ),
            (
                "node -e 'require(\"child_process\").spawnSync(\"python3\",[\"wordcount.py\"])'",
                "",
            ),
            ("node -e \"require('./server').start()\"", ""),
            ("bash -c './program a'", ""),
            (
                "bash -euo pipefail -c \"cd . && ./wordcount.py || true\"",
                "",
            ),
            ("bash -lc 'python3 wordcount.py a' | head -1", "0: 1"),
            ("bash -c \"$(echo python3 wordcount.py a)\"", ""),
            ("eval 'python3 wordcount.py a'", ""),
            ("sh run.sh", ""),
            ("bash <<E\ncd x\n./program a\nE", ""),
            ("bash <<< './program a'", ""),
            ("cat run.sh | bash", ""),
            ("for i in 1 2; do python3 wordcount.py a; done", ""),
            ("while read l; do ./wordcount.py \"$l\"; done < a", ""),
            ("case a in a) python3 wordcount.py a;; esac", ""),
            ("f() { python3 wordcount.py a; }; f", ""),
            (
                "node server.js & sleep 1; curl -s localhost:8080; kill %1",
                "7: ",
            ),
            (
                "curl -s http://127.0.0.1:8080/ | grep hello",
                "0: <p>hello</p>",
            ),
            (
                "curl -s localhost:8080/n | jq .; kill %1",
                "0: {\n  \"n\": 3\n}\nexit code: 0",
            ),
            ("curl -sf localhost:8080 >page && echo up", "0: up"),
            (
                "sleep 1; curl -s -o /dev/null -w '%{http_code}' localhost:8080",
                "0: 200\nexit code: 0",
            ),
            ("awk -f count.awk a.txt", "0: exit code: 0"),
            ("gawk -F, -fcount.awk a.csv | sort", "0: 3"),
            ("cat a | awk --file=./count.awk; true", ""),
            ("python3 gone.py && echo done", "0: done"),
            ("cd gone; ./gone --wrong", "2: exit code: 2"),
            ("cd \"$D\" && python3 wordcount.py; rm -r \"$D\"", ""),
            ("cd sub && node dist/server.js & sleep 1", ""),
            (
                "python3 wordcount.py --wrong 2>/dev/null",
                "2: exit code: 2",
            ),
            ("php -S 127.0.0.1:8000 & sleep 1", ""),
            ("java -cp a.jar:b.jar app.Main; echo", ""),
            ("pytest -q 2>/dev/null | tail -1", "0: 3 passed"),
            (
                "timeout 5 python3 -m http.server 8000",
                "124: exit code: 124",
            ),
            (
                "xvfb-run -a -s '-screen 0 800x600x24' python3 wordcount.py",
                "",
            ),
            ("script -qec 'python3 wordcount.py a' /dev/null", ""),
            ("expect -c 'spawn ./program; expect ready'", ""),
            ("expect <<'E'\nspawn ./program\nE", ""),
            (
                "tmux new-session -d -s t 'python3 wordcount.py' && tmux capture-pane -p -t t",
                "",
            ),
            ("diff <(python3 wordcount.py a) <(echo 1)", ""),
            ("out=$(python3 wordcount.py a); echo \"$out `true`\"", ""),
            ("cat wordcount.py | python3 - a", ""),
            ("python3 <wordcount.py", ""),
            ("python3 -X dev -u wordcount.py a", ""),
            ("python3 -W ignore -m unittest", ""),
            (
                "python3 wordcount.py nosuch",
                "1: No such file or directory: 'nosuch'",
            ),
            (
                "python3 wordcount.py nosuch",
                "1: wordcount.py: cannot find nosuch",
            ),
            (
                "python3 nosuch.py; python3 wordcount.py a",
                "0: python3: can't open file '/p/nosuch.py'",
            ),
            ("python3 wordcount.py a; which nosuch; exit 127", "127: 1"),
            (
                "nosuch a | python3 wordcount.py a; nosuch",
                "127: sh: 1: nosuch: not found",
            ),
            ("! python3 wordcount.py nosuch", "1: "),
            ("find . -name '*.txt' -exec ./program {} \\;", ""),
            ("ls *.txt | xargs -n 1 ./program", ""),
            ("wordcount a", ""),
            (". .venv/bin/activate && words a", ""),
            (".venv/bin/python -m pytest -q", ""),
            ("uv run words a", ""),
            ("npx playwright test", ""),
            ("npm run e2e && yarn start", ""),
            ("make -C sub run", ""),
            ("./gradlew --quiet run", ""),
            ("docker compose up -d", ""),
            ("java -cp build Main", ""),
            ("php -S localhost:8000 -t public", ""),
            ("perl -Ilib bin/program", ""),
            ("P=target/debug/app; \"$P\" a", ""),
            ("valgrind --leak-check=full ./program", ""),
            ("printf 'a' > a.txt && > out python3 wordcount.py a.txt", ""),
        ],
        true,
    );
}

#[test]
fn a_look_around_is_no_try() {
    tries(
        &[
            ("true; export A=1; sleep 1", ""),
            ("ls -la; cat src/main.py | head", ""),
            ("ls 2>&1 | tail -3 &>/dev/null", ""),
            ("cd app && git status && git log --oneline -3", ""),
            ("A=b printf x; printf '%s' \"$(cat wordcount.py)\"", ""),
            ("grep -nE 'def|class; ./program' wordcount.py", ""),
            ("timeout 5 grep 'wordcount a' wordcount.py", ""),
            ("/usr/bin/pip --version; pip3 list; python3 -m pip list", ""),
            ("python3 --version && node -v && go version", ""),
            ("python3 -V -V; cat wordcount.py", ""),
            ("python3.11 --version; java -version; cat wordcount.py", ""),
            ("mkdir -p zz; touch zz/a # ./program", ""),
            ("cat > a.txt <<'END'\none two\n./program\nEND\nls", ""),
            ("cat <<-END >b.txt; ls\n\tone\n\tEND\n", ""),
            ("for f in *.py; do cat $f; done", ""),
            ("if [ -f a ]; then echo \"a (b) | c\"; fi", ""),
            ("find ./src -name '*.py' | xargs -n 1 head -5", ""),
            ("timeout 5s cat a; env; env | head -3", ""),
            ("md5sum a; sha256sum wordcount.py; stat a; file a", ""),
            ("command -v python3 && command -V node; which python3", ""),
            (
                "python3 -m py_compile wordcount.py; python3 -m compileall -q .",
                "",
            ),
            ("timeout 5 python3 -m py_compile wordcount.py", ""),
            (
                "python3 -m json.tool x.json; python3 -m site; python3 -m ast wordcount.py",
                "",
            ),
            ("python3 -m venv .v; PYTHONPATH=. python3 -m pip list", ""),
            (
                "python3 -m unittest --help; python3 --help; python3 -m pytest --version",
                "",
            ),
            (
                "python3 -m pytest",
                "1: /usr/bin/python3: No module named pytest",
            ),
            (
                "python3 -c pass && python -c 'print(1)'; python3 -Wignore -c pass",
                "",
            ),
            ("python3 -c \"print(open('wordcount.py').read())\"", ""),
            (
                "node -e \"console.log(require('./package.json').version)\"",
                "",
            ),
            (
                "perl -ne 'print' wordcount.py; awk '{print}' wordcount.py",
                "",
            ),
            ("bash -c 'ls; cat a' && sh -c true; bash -lc ls", ""),
            ("sh -c 'command -v python3'; eval \"$(opam env)\"", ""),
            ("bash <<E\ncat wordcount.py\nE", ""),
            (
                "bash -n run.sh; node --check server.js; php -l x.php; ruby -c x.rb",
                "",
            ),
            (
                "python3 nosuch.py",
                "2: python3: can't open file '/p/nosuch.py': [Errno 2] No such file",
            ),
            (
                "node ./nosuch.js",
                "1: \nError: Cannot find module '/p/nosuch.js'",
            ),
            ("bash nosuch.sh", "127: "),
            ("./nosuch", "127: "),
            (
                "./nosuch; ls",
                "0: bash: line 1: ./nosuch: No such file or directory",
            ),
            ("nosuchprogram a; pwd", "0: "),
            ("npm ci && cargo build && go vet ./...", ""),
            ("npm run build; yarn install; npm install express", ""),
            ("npm run", ""),
            ("npm run nosuch", "1: npm error Missing script: \"nosuch\""),
            (
                "make; make -n run; make -j 4; make clean build; just --list",
                "",
            ),
            (
                "make nosuch",
                "2: make: *** No rule to make target 'nosuch'.  Stop.",
            ),
            ("cargo --list; cargo --manifest-path a/Cargo.toml build", ""),
            (
                "ruff check .; .venv/bin/mypy .; npx eslint .; ast-grep x",
                "",
            ),
            ("uv sync; uv run ruff check; poetry install", ""),
            ("docker ps; docker compose logs", ""),
            ("curl -s http://127.0.0.1:1/", "7: "),
            (
                "curl http://127.0.0.1:1/; true",
                "0: curl: (7) Failed to connect to 127.0.0.1",
            ),
            (
                "curl http://127.0.0.1:1 | head",
                "0: stderr:\n  % Total  % Received\nexit code: 0",
            ),
            (
                "curl -s http://127.0.0.1:1 2>/dev/null | wc -l",
                "0: 0\nexit code: 0",
            ),
            (
                "curl -s http://127.0.0.1:1; echo \"exit=$?\"",
                "0: exit=7\nexit code: 0",
            ),
            (
                "curl -s localhost:1 && echo up || echo 'it is down'",
                "0: it is down\nexit code: 0",
            ),
            ("python3 nosuch.py 2>/dev/null", "2: exit code: 2"),
            ("python3 nosuch.py 2>/dev/null; ls", "0: run.sh"),
            ("python3 nosuch.py 2>&1 >log || echo no", "0: no"),
            ("python3 /nosuch/wordcount.py 2>/dev/null; ls", "0: a"),
            ("! python3 nosuch.py 2>/dev/null", "0: exit code: 0"),
            ("if ! ./nosuch 2>/dev/null; then echo no; fi", "0: no"),
            ("[ -x nosuch ] || ./nosuch", ""),
            ("[ -e nosuch.py ] && python3 nosuch.py", "1: "),
            ("bash -c 'node nosuch.js 2>/dev/null; true'", ""),
            ("bash nosuch.sh 2>/dev/null | cat", "0: exit code: 0"),
            ("node nosuch.js >log 2>&1 & sleep 1; wc -l log", "0: 9 log"),
            ("echo $(./nosuch 2>/dev/null) `./nosuch`", "0: "),
            ("ls; ./nosuch 2>/dev/null", "127: run.sh\nexit code: 127"),
            ("find . -name a -exec ./nosuch {} \\; 2>/dev/null", ""),
            ("node server.js 2>/dev/null | head", "0: exit code: 0"),
            (
                "node server.js; true",
                "0: stderr:\nbash: line 1: node: command not found\nexit code: 0",
            ),
            ("python3 -m pytest -q 2>/dev/null", "1: exit code: 1"),
            ("awk -f nosuch.awk a.txt 2>/dev/null", "2: exit code: 2"),
            ("awk -f /tmp/other.awk wordcount.py", "0: 3"),
            ("awk -F f '{print}' count.awk; jq -r .a package.json", ""),
            ("sed -E 's/a/b/' count.awk; sed -f - count.awk", ""),
            ("curl -s https://example.com/", ""),
            ("vim --version; tmux ls; tmux kill-session -t s", ""),
            ("", ""),
            ("'", ""),
            ("<<", ""),
            ("bash -c", ""),
            ("env env env", ""),
        ],
        false,
    );
}
