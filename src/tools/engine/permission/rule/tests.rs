//! Rules, and the calls that they decide about.

use super::*;
use crate::tools::all;
use crate::tools::engine::rules::SideEffect;
use proptest::prelude::*;

fn known() -> Vec<KnownTool> {
    let tool = |tool: &crate::tools::engine::tool::Tool| KnownTool {
        name: tool.name.to_owned(),
        subject: SubjectKind::of(&tool.fields(), tool.rules.effect).map(|(kind, _)| kind),
    };
    all().map(tool).collect()
}

fn rules(list: &str) -> Vec<Rule> {
    Rule::parse_list(list, &known()).unwrap()
}

fn texts(list: &str) -> Vec<String> {
    rules(list).iter().map(|rule| rule.text.clone()).collect()
}

#[track_caller]
fn fails(list: &str, words: &str) {
    let problem = Rule::parse_list(list, &known()).unwrap_err().one_line();
    assert!(problem.contains(words), "{list}: {problem}");
}

fn call(tool: &str, subject: CallSubject) -> CallFacts<'_> {
    CallFacts {
        tool,
        effect: SideEffect::Programs,
        subject,
    }
}

fn path(given: &str) -> CallPath {
    let relative = super::super::path_glob::normalised(given);
    CallPath {
        given: given.to_owned(),
        is_direct: relative.is_some(),
        relative,
        others: Vec::new(),
    }
}

#[test]
fn a_list_is_separated_outside_of_parentheses() {
    for (list, expected) in [
        ("", &[][..]),
        (" , ,", &[]),
        ("read_file git_*", &["read_file", "git_*"]),
        (
            "Read,Write,Bash(git status)",
            &["Read", "Write", "Bash(git status)"],
        ),
        (
            "run_command(git log, -p) run_command(echo (a) \\))\tread_file",
            &[
                "run_command(git log, -p)",
                "run_command(echo (a) \\))",
                "read_file",
            ],
        ),
        ("Bash(*) read_file(*)", &["Bash", "read_file"]),
        (
            "mcp__calc__add calc__* a__b",
            &["mcp__calc__add", "calc__*", "a__b"],
        ),
        ("Skill(pdf) use_skill", &["Skill(pdf)", "use_skill"]),
        ("*", &["*"]),
    ] {
        assert_eq!(texts(list), expected, "{list}");
        // What children are told means the same.
        let again = texts(&texts(list).join(","));
        assert_eq!(again, expected);
    }
}

#[test]
fn what_is_wrong_is_told_with_the_place() {
    fails("read_file run_command(git", "not closed at character 22");
    fails("run_command(a (b)", "not closed at character 12");
    fails("read_file)", "was not opened at character 10");
    fails("(a)", "name of a tool is missing at character 1");
    fails(
        "run_command(a)b",
        "comma is missing behind the parenthesis at character 15",
    );
    fails("raed_file", "Did you mean \"read_file\"?");
    fails("Bahs", "Did you mean \"Bash\"?");
    fails("gti_*", "There is no tool \"gti_*\"");
    fails("read_file;", "cannot be the name");
    fails("git_*(x)", "no command, path or name");
    fails("calc__add(x)", "no command, path or name");
    fails("git_log(x)", "no command, path or name");
    // What a script writes whose variable is empty is not the whole shell.
    for blank in [
        "run_command()",
        "run_command( )",
        "Bash(:*)",
        "create_file()",
    ] {
        fails(blank, "names nothing");
    }
    fails("run_command(rm*)", "rm:*");
    fails("create_file(/etc/**)", "relative to the working directory");
    fails("create_file(a[)", "cannot be used");
    fails(&"a".repeat(MAX_LIST_BYTES + 1), "longer than 256 KiB");
}

#[test]
fn names_are_exact_wildcards_or_those_from_elsewhere() {
    for (list, tool, includes) in [
        ("read_file", "read_file", true),
        ("read_file", "read_files", false),
        ("git_*", "git_log", true),
        ("git_*", "github_search", false),
        ("*", "anything", true),
        ("*_file", "read_file", true),
        ("read_*e", "read_file", true),
        ("r*_*e", "read_file", true),
        ("create_*", "recreate_file", false),
        ("Edit", "append_file", true),
        ("Edit", "create_file", false),
        ("mcp__calc", "calc__add", true),
        ("mcp__calc", "calculator__add", false),
        ("mcp__calc__add", "calc__add", true),
    ] {
        let list = format!("{list} tree");
        let rules = rules(&list);
        assert_eq!(rules[0].tools.include(tool), includes, "{list} {tool}");
    }
}

#[test]
fn a_content_allows_what_it_surely_covers_and_denies_what_it_may_cover() {
    let command = |text: &str| CallSubject::Command(text.to_owned());
    let paths = |paths: &[&str]| CallSubject::Paths(paths.iter().map(|text| path(text)).collect());
    for (rule, tool, subject, allows, denies) in [
        (
            "run_command",
            "run_command",
            CallSubject::Unknown,
            true,
            true,
        ),
        (
            "run_command(ls:*)",
            "run_command",
            CallSubject::Unknown,
            false,
            true,
        ),
        (
            "run_command(ls:*)",
            "run_command",
            command("ls -l"),
            true,
            true,
        ),
        (
            "run_command(ls:*)",
            "run_command",
            command("a; ls"),
            false,
            true,
        ),
        ("Bash(ls:*)", "run_command", command("pwd"), false, false),
        (
            "create_file(docs/**)",
            "create_file",
            paths(&["docs/a.md"]),
            true,
            true,
        ),
        (
            "create_file(docs/**)",
            "create_file",
            paths(&["./docs//a.md"]),
            true,
            true,
        ),
        (
            "create_file(docs/**)",
            "create_file",
            paths(&["src/a.md"]),
            false,
            false,
        ),
        (
            "create_file(docs/**)",
            "create_file",
            paths(&["docs/../src/a.md"]),
            false,
            true,
        ),
        (
            "create_file(docs/**)",
            "create_file",
            paths(&["/docs/a.md"]),
            false,
            true,
        ),
        (
            "Edit(docs/**)",
            "apply_patch",
            paths(&["docs/a", "src/a"]),
            false,
            true,
        ),
        (
            "Edit(docs/**)",
            "apply_patch",
            paths(&["docs/a", "docs/b"]),
            true,
            true,
        ),
        ("Edit(docs/**)", "apply_patch", paths(&[]), false, true),
        (
            "Skill(pdf)",
            "use_skill",
            CallSubject::Name("pdf".to_owned()),
            true,
            true,
        ),
        (
            "Skill(pdf)",
            "use_skill",
            CallSubject::Name("pdfs".to_owned()),
            false,
            false,
        ),
    ] {
        let call = call(tool, subject);
        let rule = &rules(rule)[0];
        assert_eq!(rule.allows(&call), allows, "{rule:?} {call:?}");
        assert_eq!(rule.denies(&call), denies, "{rule:?} {call:?}");
    }
}

#[test]
fn a_path_behind_a_link_is_never_allowed_and_denied_where_it_leads() {
    let link = CallPath {
        given: "docs/link/a".to_owned(),
        relative: Some("docs/link/a".to_owned()),
        is_direct: false,
        others: vec!["src/a".to_owned()],
    };
    let call = call("create_file", CallSubject::Paths(vec![link]));
    let rule = |text: &str| rules(text).remove(0);
    assert!(!rule("create_file(docs/**)").allows(&call));
    assert!(!rule("create_file(src/**)").allows(&call));
    assert!(rule("create_file(docs/**)").denies(&call));
    assert!(rule("create_file(src/**)").denies(&call));
    assert!(!rule("create_file(lib/**)").denies(&call));
}

#[test]
fn the_suggested_rule_allows_the_call() {
    let command = |text: &str| CallSubject::Command(text.to_owned());
    for (tool, subject, expected) in [
        ("run_command", command("git push"), "run_command(git push)"),
        ("run_command", command("a; b"), "run_command"),
        (
            "create_file",
            CallSubject::Paths(vec![path("docs/a.md")]),
            "create_file(docs/a.md)",
        ),
        ("git_commit", CallSubject::None, "git_commit"),
    ] {
        let call = call(tool, subject);
        assert_eq!(call.suggested_rule(), expected);
        assert!(rules(expected)[0].allows(&call));
    }
}

proptest! {
    #[test]
    fn no_list_makes_it_fall_over(list in "(Bash|read_file|[ -~é\n])?[-a-z_(),:* \\\\]{0,30}") {
        if let Ok(rules) = Rule::parse_list(&list, &known()) {
            let texts: Vec<&str> = rules.iter().map(Rule::text).collect();
            prop_assert!(Rule::parse_list(&texts.join(","), &known()).is_ok());
        }
    }

    #[test]
    fn the_suggested_rule_of_any_command_allows_it(text in "[ -~]{1,40}") {
        let call = call("run_command", CallSubject::Command(text));
        let rule = call.suggested_rule();
        if let Ok(rules) = Rule::parse_list(&rule, &known()) {
            prop_assert!(rules[0].allows(&call), "{}", rule);
        }
    }
}
