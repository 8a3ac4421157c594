//! A model that builds a small program when the pipeline's prompts ask it to: it tells from the prompt what it is to be, and from the conversation how far
//! it has come. Everything it does, it does with tools.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::server::{Answer, Request, Server};
use super::wire::openai;

/// What a prompt asks the model to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    SpecWriter,
    UxWriter,
    DesignWriter,
    FirstReviewer,
    LaterReviewer,
    DocumentFixer,
    FunctionalTests,
    IntegrationTests,
    CodeReviewer,
    CodeFixer,
    Implementer,
    Debugger,
    SmokeTester,
    PageChecker,
    QualityTester,
    QualityFixer,
    Other,
}

/// The beginnings of the tasks, as the prompts have them.
const TASKS: [(&str, Role); 16] = [
    ("Write the product specification", Role::SpecWriter),
    ("write the user experience of the product", Role::UxWriter),
    (
        "write the architecture and the test plan",
        Role::DesignWriter,
    ),
    ("You are the editor of", Role::DocumentFixer),
    ("Write the functional tests", Role::FunctionalTests),
    (
        "Write the integration and end-to-end tests",
        Role::IntegrationTests,
    ),
    ("Review code of this project", Role::CodeReviewer),
    (
        "Reviewers found the faults below in the code",
        Role::CodeFixer,
    ),
    ("Build what the task asks for", Role::Implementer),
    ("The project's tests do not pass", Role::Debugger),
    ("Try the program as a user would", Role::SmokeTester),
    (
        "Check the pages that this project serves",
        Role::PageChecker,
    ),
    ("Try to break this program", Role::QualityTester),
    ("Somebody tried to break this program", Role::QualityFixer),
    ("This document is not perfect", Role::FirstReviewer),
    ("An editor has worked on the findings", Role::LaterReviewer),
];

/// A project that can be built: files as path and text.
pub struct Project {
    /// Functional tests, and what they need to run.
    pub tests: &'static [(&'static str, &'static str)],
    /// Tests of the whole program.
    pub whole: &'static [(&'static str, &'static str)],
    /// An implementation with a fault that the tests find.
    pub first: &'static [(&'static str, &'static str)],
    /// The correction.
    pub corrected: &'static [(&'static str, &'static str)],
    /// The program, and its page, tried as a user would.
    pub tries: [&'static str; 2],
}

impl Project {
    /// The files of the finished product that the model writes.
    pub fn files(&self) -> impl Iterator<Item = String> {
        let steps = [self.tests, self.whole, self.first, self.corrected];
        let files = steps.into_iter().flatten().chain(&README);
        files.map(|(path, _)| (*path).to_owned())
    }

    /// How often its pages are checked.
    pub fn checks_of_pages(&self) -> usize {
        usize::from(!self.tries[1].is_empty())
    }
}

/// What the fixer of quality writes.
const README: [(&str, &str); 1] = [("README.md", "Start it with the name of a file.\n")];

/// What was asked, in order.
#[derive(Default)]
pub struct Asked(Mutex<Vec<(Role, usize, String)>>);

impl Asked {
    /// How many children there were of this role: conversations that were begun.
    pub fn begun(&self, role: Role) -> usize {
        let asked = self.0.lock().expect("not poisoned");
        asked
            .iter()
            .filter(|(own, step, _)| *own == role && *step == 0)
            .count()
    }

    /// The role and the task of every conversation, in the order in which they were begun.
    pub fn beginnings(&self) -> Vec<(Role, String)> {
        let asked = self.0.lock().expect("not poisoned");
        let begun = asked.iter().filter(|(_, step, _)| *step == 0);
        begun.map(|(role, _, work)| (*role, work.clone())).collect()
    }

    pub fn requests(&self) -> usize {
        self.0.lock().expect("not poisoned").len()
    }
}

/// A server whose model builds `project`.
pub fn server(project: &'static Project) -> (Server, Arc<Asked>) {
    server_with(project, |_, _, _| None)
}

/// The same, but for the requests that `own` answers: it gets the role and how many rounds of tools there were.
pub fn server_with(
    project: &'static Project,
    own: impl Fn(&Request, Role, usize) -> Option<Answer> + Send + Sync + 'static,
) -> (Server, Arc<Asked>) {
    let asked = Arc::new(Asked::default());
    let seen = Arc::clone(&asked);
    let server = Server::answering(move |request, _| {
        let (role, step, work) = asked_for(request);
        let mut seen = seen.0.lock().expect("not poisoned");
        seen.push((role, step, work.clone()));
        drop(seen);
        own(request, role, step).unwrap_or_else(|| answer(project, role, step, &work))
    });
    (server.lenient(), asked)
}

/// The text of the first message of the user, from its task on.
fn work(body: &Value) -> String {
    let messages = body["messages"].as_array().expect("messages");
    let user = messages.iter().find(|message| message["role"] == "user");
    let text = match &user.expect("a message of the user")["content"] {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    let (_, work) = text.split_once("# Your work").unwrap_or(("", &text));
    work.to_owned()
}

/// The role that a task asks for.
pub fn role(work: &str) -> Role {
    let found = TASKS.iter().find(|(words, _)| work.contains(words));
    found.map_or(Role::Other, |(_, role)| *role)
}

/// The role that a request asks the model to play, how far it has come, and its task.
fn asked_for(request: &Request) -> (Role, usize, String) {
    let body = request.json();
    let messages = body["messages"].as_array().expect("messages");
    let step = messages
        .iter()
        .filter(|message| message["tool_calls"].is_array())
        .count();
    let work = work(&body);
    (role(&work), step, work)
}

fn answer(project: &Project, role: Role, step: usize, work: &str) -> Answer {
    Answer::sse(match role {
        Role::SpecWriter => document(step, &target(work), "The program counts words."),
        Role::UxWriter => document(
            step,
            &target(work),
            "A person types a command and reads a number.",
        ),
        Role::DesignWriter => document(
            step,
            &target(work),
            "One module with one function, and a program around it.",
        ),
        Role::FirstReviewer => openai::text(&[
            &report(""),
            "\n- [BLOCKER] It does not say what an empty file gives.\n- [MINOR] A word.\nREVIEW_FAILED\n",
        ]),
        Role::LaterReviewer => openai::text(&[
            &report("Everything that was missing is there now."),
            "\nSPEC_VERIFIED\n",
        ]),
        Role::DocumentFixer => match step {
            0 => openai::call(
                "",
                "append_file",
                json!({"path": editor_of(work), "content": "An empty file has no words: the answer is 0.\n"}),
            ),
            _ => openai::text(&["Done."]),
        },
        Role::FunctionalTests => writer(step, project.tests),
        Role::IntegrationTests => writer(step, project.whole),
        Role::Implementer => writer(step, project.first),
        Role::Debugger | Role::CodeFixer => writer(step, project.corrected),
        Role::CodeReviewer => openai::text(&[
            &report("The code does what it is asked to do."),
            "\n",
            &passing(work),
            "\n",
        ]),
        Role::SmokeTester => tester(step, project.tries[0], "It works.\nE2E_SMOKE_PASS\n"),
        Role::PageChecker => tester(
            step,
            project.tries[1],
            "Every page is complete.\nFRONTEND_VALID\n",
        ),
        Role::QualityTester if work.contains("rounds found the following") => {
            openai::text(&[&report("What was found is corrected."), "\nREVIEW_CLEAN\n"])
        }
        Role::QualityTester => openai::text(&[
            &report("The README does not say how the program is started."),
            "\nREVIEW_FAILED\n",
        ]),
        Role::QualityFixer => writer(step, &README),
        Role::Other => openai::text(&["I do not know what to do."]),
    })
}

/// A report that is long enough to count.
fn report(finding: &str) -> String {
    let mut text =
        "I read all of it, sentence by sentence, and compared it with what was asked for. "
            .repeat(3);
    let _ = write!(text, "{finding}");
    text
}

/// The word that a passing review has to end with.
fn passing(work: &str) -> String {
    let last = work.rsplit("holds nothing but ").next().unwrap_or_default();
    last.split(['.', ' ', '\n'])
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn editor_of(work: &str) -> String {
    let after = work
        .split("You are the editor of `")
        .nth(1)
        .unwrap_or_default();
    after.split('`').next().unwrap_or_default().to_owned()
}

/// The file that a writer of a document is to write.
fn target(work: &str) -> String {
    let after = work.split(" to `").nth(1).unwrap_or_default();
    after.split('`').next().unwrap_or_default().to_owned()
}

fn document(step: usize, path: &str, about: &str) -> Vec<String> {
    let part = format!("{about} It says so in every one of its sentences.\n").repeat(20);
    match step {
        0 => openai::call(
            "",
            "create_file",
            json!({"path": path, "content": format!("# Document\n\n{part}")}),
        ),
        1 => openai::call("", "append_file", json!({"path": path, "content": part})),
        _ => openai::text(&["The document is written."]),
    }
}

/// A child creates its ticket; the first is sent back.
fn ticket() -> Vec<String> {
    let args =
        "create 'Do this step' -t task -d 'What the prompt asks for; done when the tests say so.'";
    openai::call("", "tk", json!({"args": args}))
}

/// A tester creates its ticket, runs something, and reports.
fn tester(step: usize, command: &str, said: &str) -> Vec<String> {
    match step {
        0 | 1 => ticket(),
        2 => openai::call("", "run_command", json!({"command": command})),
        _ => openai::text(&[said]),
    }
}

/// A writer creates its ticket, writes its files, commits, and reports.
fn writer(step: usize, files: &[(&str, &str)]) -> Vec<String> {
    match step {
        0 | 1 => ticket(),
        2 => {
            let mut script = String::new();
            for (path, text) in files {
                let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
                let _ = write!(
                    script,
                    "mkdir -p {folder} && cat > {path} <<'END_OF_FILE'\n{text}END_OF_FILE\n"
                );
            }
            openai::call("", "run_command", json!({"command": script}))
        }
        3 => openai::call(
            "",
            "git_commit",
            json!({"message": "Write the files of this step", "add_all": true}),
        ),
        _ => openai::text(&["It is written and committed."]),
    }
}

/// An agent that works for the ticket `job-NUMBER`: it creates a ticket of its own, runs `command`, commits and reports.
pub fn part(number: impl std::fmt::Display, step: usize, command: &str) -> Answer {
    let create = format!("create 'Part {number}' -t task --parent job-{number}");
    let commit = json!({"message": format!("Part {number}"), "add_all": true});
    Answer::sse(match step {
        0 | 1 => openai::call("", "tk", json!({ "args": create })),
        2 => openai::call("", "run_command", json!({ "command": command })),
        3 => openai::call("", "git_commit", commit),
        _ => openai::text(&[&format!("{number} is written down.")]),
    })
}

/// Python, with the standard library's unittest.
pub static PYTHON: Project = Project {
    tests: &[
        (".gitignore", "__pycache__/\n"),
        (
            "test_wordcount.py",
            "import unittest\nfrom wordcount import count\n\n\nclass CountTest(unittest.TestCase):\n    def test_words(self):\n        self.assertEqual(count('a b  c'), 3)\n\n    def test_nothing(self):\n        self.assertEqual(count(''), 0)\n\n\nif __name__ == '__main__':\n    unittest.main()\n",
        ),
    ],
    whole: &[(
        "test_program.py",
        "import subprocess\nimport sys\nimport tempfile\nimport unittest\n\n\nclass ProgramTest(unittest.TestCase):\n    def test_a_file(self):\n        with tempfile.NamedTemporaryFile('w', suffix='.txt') as file:\n            file.write('one two\\nthree\\n')\n            file.flush()\n            done = subprocess.run([sys.executable, 'wordcount.py', file.name], capture_output=True, text=True)\n        self.assertEqual((done.returncode, done.stdout), (0, '3\\n'))\n",
    )],
    first: &[(
        "wordcount.py",
        "import sys\n\n\ndef count(text):\n    return len(text.split(' '))\n\n\nif __name__ == '__main__':\n    with open(sys.argv[1]) as file:\n        print(count(file.read()))\n",
    )],
    corrected: &[(
        "wordcount.py",
        "import sys\n\n\ndef count(text):\n    return len(text.split())\n\n\nif __name__ == '__main__':\n    with open(sys.argv[1]) as file:\n        print(count(file.read()))\n",
    )],
    tries: ["python3 wordcount.py .gitignore", ""],
};

/// Python with pytest.
pub static PYTEST: Project = Project {
    tests: &[
        (".gitignore", "__pycache__/\n"),
        (
            "test_wordcount.py",
            "import pytest\nfrom wordcount import count\n\n\n@pytest.mark.parametrize('text, words', [('a b  c', 3), ('', 0)])\ndef test_words(text, words):\n    assert count(text) == words\n",
        ),
    ],
    whole: &[(
        "test_program.py",
        "import subprocess\nimport sys\n\n\ndef test_a_file(tmp_path):\n    file = tmp_path / 'a.txt'\n    file.write_text('one two\\nthree\\n')\n    done = subprocess.run([sys.executable, 'wordcount.py', file], capture_output=True, text=True)\n    assert (done.returncode, done.stdout) == (0, '3\\n')\n",
    )],
    first: PYTHON.first,
    corrected: PYTHON.corrected,
    tries: PYTHON.tries,
};

/// A script, with tests that say what a Makefile's `test` says in the Test Anything Protocol.
pub static BASH: Project = Project {
    tests: &[
        (
            "Makefile",
            "test:\n\t@for file in tests/*.sh; do bash $$file || exit 1; done\n",
        ),
        (
            "tests/count.sh",
            "failed=0\nis() { if [ \"$3\" = \"$2\" ]; then echo \"ok - $1\"; else echo \"not ok - $1\"; failed=1; fi; }\nis words 3 \"$(printf 'a b  c\\n' | bash count.sh)\"\nis nothing 0 \"$(printf '' | bash count.sh)\"\necho 1..2\nexit $failed\n",
        ),
    ],
    whole: &[(
        "tests/program.sh",
        "if printf 'one two\\nthree\\n' | bash count.sh | grep -qx 3; then echo 'ok - file'; else echo 'not ok - file'; exit 1; fi\necho 1..1\n",
    )],
    first: &[("count.sh", "tr ' ' '\\n' | wc -l\n")],
    corrected: &[("count.sh", "echo $(wc -w)\n")],
    tries: ["printf 'a b\\n' | bash count.sh", ""],
};

/// Node with its own test runner, and a page.
pub static NODE: Project = Project {
    tests: &[
        (".gitignore", "node_modules/\n"),
        (
            "package.json",
            "{\"name\": \"wordcount\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node --test\"}}\n",
        ),
        (
            "count.test.js",
            "const test = require('node:test');\nconst assert = require('node:assert');\nconst { count } = require('./count.js');\n\ntest('words', () => assert.strictEqual(count('a b  c'), 3));\ntest('nothing', () => assert.strictEqual(count(''), 0));\n",
        ),
    ],
    whole: &[(
        "program.test.js",
        "const test = require('node:test');\nconst assert = require('node:assert');\nconst { execFileSync } = require('node:child_process');\nconst fs = require('node:fs');\nconst os = require('node:os');\nconst path = require('node:path');\n\ntest('a file', () => {\n  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'count-'));\n  const file = path.join(dir, 'a.txt');\n  fs.writeFileSync(file, 'one two\\nthree\\n');\n  assert.strictEqual(execFileSync('node', ['count.js', file]).toString(), '3\\n');\n  fs.rmSync(dir, { recursive: true });\n});\n",
    )],
    first: &[
        (
            "index.html",
            "<!doctype html>\n<title>Words</title>\n<script src=\"count.js\"></script>\n",
        ),
        (
            "count.js",
            "function count(text) {\n  return text.split(' ').length;\n}\nmodule.exports = { count };\nif (require.main === module) {\n  console.log(count(require('node:fs').readFileSync(process.argv[2], 'utf8')));\n}\n",
        ),
    ],
    corrected: &[(
        "count.js",
        "function count(text) {\n  return text.split(/\\s+/).filter((word) => word).length;\n}\nmodule.exports = { count };\nif (require.main === module) {\n  console.log(count(require('node:fs').readFileSync(process.argv[2], 'utf8')));\n}\n",
    )],
    tries: ["node count.js package.json", "node count.js index.html"],
};

/// Rust with cargo, without dependencies.
pub static RUST: Project = Project {
    tests: &[
        (".gitignore", "/target\n"),
        (
            "Cargo.toml",
            "[package]\nname = \"wordcount\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
        ),
        (
            "tests/count.rs",
            "use wordcount::count;\n\n#[test]\nfn words() {\n    assert_eq!(count(\"a b  c\"), 3);\n}\n\n#[test]\nfn nothing() {\n    assert_eq!(count(\"\"), 0);\n}\n",
        ),
    ],
    whole: &[(
        "tests/program.rs",
        "use std::process::Command;\n\n#[test]\nfn a_file() {\n    let file = std::env::temp_dir().join(format!(\"count-{}.txt\", std::process::id()));\n    std::fs::write(&file, \"one two\\nthree\\n\").unwrap();\n    let done = Command::new(env!(\"CARGO_BIN_EXE_wordcount\")).arg(&file).output().unwrap();\n    std::fs::remove_file(&file).unwrap();\n    assert_eq!(String::from_utf8_lossy(&done.stdout), \"3\\n\");\n}\n",
    )],
    first: &[
        (
            "src/lib.rs",
            "/// The number of words.\npub fn count(text: &str) -> usize {\n    text.split(' ').count()\n}\n",
        ),
        (
            "src/main.rs",
            "fn main() {\n    let name = std::env::args().nth(1).expect(\"a file\");\n    println!(\"{}\", wordcount::count(&std::fs::read_to_string(name).expect(\"a text\")));\n}\n",
        ),
    ],
    corrected: &[(
        "src/lib.rs",
        "/// The number of words.\npub fn count(text: &str) -> usize {\n    text.split_whitespace().count()\n}\n",
    )],
    tries: ["target/debug/wordcount Cargo.toml", ""],
};
