//! Files named in a message: which are sent, how much of them, and what is asked first.

use super::*;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::chat::event::NullSink;
use crate::llm::failure::Failure;
use crate::llm::models::ModelRegistry;
use crate::llm::offline::Offline;
use crate::llm::provider::{Delta, Provider, Reply, Request};
use crate::tools::engine::approval::{Approval, Approver};
use crate::tools::engine::policy::ToolPolicy;
use std::sync::Mutex;

/// Approves or declines, and records the requests.
struct Answers(bool, Arc<Mutex<Vec<String>>>);

impl Approver for Answers {
    fn ask(&self, request: ApprovalRequest, _: &Cancel) -> Outcome<()> {
        self.1.lock().unwrap().push(request.text());
        match self.0 {
            true => Ok(()),
            false => Err(Problem::refused("The user declined to attach this file.")),
        }
    }
}

fn ctx(dir: &Path, home: &Path, agrees: bool) -> (ToolContext, Arc<Mutex<Vec<String>>>) {
    let env = Env::from([("HOME", home.to_str().unwrap())]);
    let mut context = SessionContext::new(env, ToolPolicy::default());
    let requests = Arc::default();
    context.approval = Approval::Ask(Arc::new(Answers(agrees, Arc::clone(&requests))));
    context.working_dir.set(Root::open(dir).unwrap(), false);
    (
        ToolContext::new(Arc::new(context), Cancel::new(), Arc::new(NullSink)),
        requests,
    )
}

/// No model: enough for text.
fn target() -> ModelTarget {
    let prices: Arc<ModelRegistry> = Arc::default();
    ModelTarget {
        provider: Box::new(Offline),
        model: String::new(),
        info: prices.facts("offline", ""),
        local: true,
        on_this_machine: true,
        prices,
        max_cost: None,
        successor: None,
        learned: crate::model_call::model_target::LearnedLimit::default(),
    }
}

fn attached(text: &str, ctx: &ToolContext) -> Outcome<Attachments> {
    let more = MoreImages::default();
    attach(text, &more, &target(), ctx, OnFailure::Refuse)
}

#[test]
fn what_lies_outside_is_asked_for_by_its_real_name() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().canonicalize().unwrap();
    let work = home.join("work");
    fs::create_dir_all(work.join(".tickets")).unwrap();
    fs::create_dir(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id_x"), "KEY\n").unwrap();
    fs::write(work.join("in.txt"), "in\n").unwrap();
    std::os::unix::fs::symlink("../.ssh/id_x", work.join("readme.txt")).unwrap();
    std::os::unix::fs::symlink("in.txt", work.join("again.txt")).unwrap();
    let key = home.join(".ssh/id_x");
    let absolute = format!("@{}", key.display());
    for agrees in [false, true] {
        for name in ["@~/.ssh/id_x", "@readme.txt", "@../.ssh/id_x", &absolute] {
            let (ctx, requests) = ctx(&work, &home, agrees);
            let Attachments { text, lines, .. } = attached(name, &ctx).unwrap();
            assert_eq!(text.contains("KEY"), agrees, "{name}: {text}");
            assert_eq!(*requests.lock().unwrap(), [key.to_str().unwrap()], "{name}");
            assert_eq!(lines.iter().any(|text| text.contains("declined")), !agrees);
        }
        for name in ["@in.txt", "@again.txt", "@.", "@nobody", "@~/nobody"] {
            let (ctx, requests) = ctx(&work, &home, agrees);
            let _ = attached(name, &ctx);
            assert!(requests.lock().unwrap().is_empty(), "{name}");
        }
        let (ctx, requests) = ctx(&work, &home, agrees);
        let out = attached("@~/.ssh", &ctx).unwrap();
        assert_eq!(out.text.contains("id_x"), agrees);
        assert_eq!(requests.lock().unwrap().len(), 1);
    }
}

#[test]
fn names_stand_at_the_beginning_of_a_word() {
    assert_eq!(
        names("see @a.rs, @\"b c\" and x@y.z (@d) @a.rs @"),
        ["a.rs", "b c"]
    );
    assert_eq!(names("@é @日本.txt"), ["é", "日本.txt"]);
}

#[test]
fn files_are_attached_within_the_budget() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "alpha\n").unwrap();
    fs::write(dir.path().join("bin"), b"a\0b").unwrap();
    fs::write(dir.path().join("big"), "x".repeat(250_000)).unwrap();
    let (ctx, _) = ctx(dir.path(), dir.path(), false);
    let attach = |text: &str| attached(text, &ctx).map(|out| (out.text, out.lines.join("\n")));
    let none = (String::new(), String::new());
    assert_eq!(attach("hi @nobody").unwrap(), none);
    assert_eq!(
        attach("@a.txt").unwrap(),
        (
            "\n\n<file name=\"a.txt\">\nalpha\n</file>".to_owned(),
            "@a.txt  6 bytes, 1 line".to_owned()
        )
    );
    let refused = |text: &str| attach(text).unwrap_err().one_line();
    assert!(refused("@bin").contains("binary"));
    let (text, line) = attach("@big").unwrap();
    assert!(text.contains("[Cut: 100000 of 250000 bytes."));
    assert!(line.contains("first 98 KB of 245 KB"), "{line}");
    attach("@big").unwrap();
    attach("@big").unwrap();
    assert!(refused("@big").contains("300000"));
}

#[test]
fn a_missing_file_is_told_from_a_person() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("src")).unwrap();
    let (ctx, _) = ctx(dir.path(), dir.path(), false);
    for name in [
        "@mian.rs",
        "@src/mian",
        "@./x",
        "@~/x",
        "@/no/x",
        "@\"my notes\"",
    ] {
        let problem = attached(name, &ctx).unwrap_err();
        assert!(problem.what.contains("no file"), "{name}: {}", problem.what);
    }
    for name in [
        "@anna",
        "@types/node",
        "@scope/pkg@1.2",
        "@1.2",
        "@.",
        "@Override",
    ] {
        assert!(attached(name, &ctx).is_ok(), "{name}");
    }
    let pasted = format!("what is wrong? {}@mian.rs", "a line of code\n".repeat(200));
    assert!(attached(&pasted, &ctx).is_ok());
    let more = MoreImages::default();
    let out = attach("@mian.rs", &more, &target(), &ctx, OnFailure::SendWithout).unwrap();
    assert!(out.text.is_empty() && out.lines[0].starts_with("Not attached: There is no file"));
}

#[test]
fn an_image_is_known_by_its_content() {
    let dir = tempfile::tempdir().unwrap();
    let gif = b"GIF89a\x40\x01\xf0\x00 and so on";
    fs::write(dir.path().join("picture.txt"), gif).unwrap();
    fs::write(dir.path().join("text.png"), "only text").unwrap();
    fs::write(dir.path().join("cut.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    let (ctx, _) = ctx(dir.path(), dir.path(), false);
    let out = attached("@text.png", &ctx).unwrap();
    assert!(out.images.is_empty() && out.text.contains("only text"));
    let problem = attached("@cut.png", &ctx).unwrap_err();
    assert!(problem.what.contains("damaged"), "{}", problem.what);
    // Without a model nobody looks at it.
    let problem = attached("@picture.txt", &ctx).unwrap_err();
    assert!(problem.what.contains("No model"), "{}", problem.what);
    let mut seeing = target();
    seeing.provider = Box::new(SeeingProvider);
    seeing.model = "new".to_owned();
    seeing.info.images = true;
    let more = MoreImages {
        files: vec![dir.path().join("picture.txt")],
        pasted: [("clipboard-1.png".to_owned(), Arc::from(&gif[..]))].into(),
    };
    let text = "@picture.txt @clipboard-1.png";
    let out = attach(text, &more, &seeing, &ctx, OnFailure::Refuse).unwrap();
    assert_eq!(out.images.len(), 3);
    assert_eq!(out.images[0].data.as_deref(), Some(&gif[..]));
    assert!(out.lines[1].starts_with("@picture.txt  GIF, 320x240, 20 bytes, about 103 tokens"));
}

/// A provider of which only the name counts.
struct SeeingProvider;

impl Provider for SeeingProvider {
    fn name(&self) -> &'static str {
        "openrouter"
    }

    fn stream(
        &self,
        _: &Request<'_>,
        _: &mut dyn FnMut(Delta<'_>),
        _: &Cancel,
    ) -> Result<Reply, Failure> {
        Ok(Reply::default())
    }
}
