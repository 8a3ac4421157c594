//! The size limit that every tool's result passes on its way to a model.

use super::context_gauge::ContextGauge;
use super::parameter::Parameter;
use crate::base::text::{head, tail, thousands};

/// Largest result in bytes; more than `read_file` returns at once, which has a limit of its own.
const MAX_RESULT_BYTES: usize = 256 * 1024;
/// However small the model's window is, this much is shown.
const MIN_RESULT_BYTES: usize = 8 * 1024;
/// The divisor for the part shown from the end, where totals and errors are.
const TAIL_SHARE: usize = 8;

/// Cuts `text` to the limit: its beginning and end, and between them what is missing and how to get it. `tool` returns the name and parameters of the
/// tool that made it, and is called only when something is missing.
pub(crate) fn capped(
    text: String,
    tool: impl FnOnce() -> Option<(String, Vec<Parameter>)>,
    context: &ContextGauge,
) -> String {
    let limit = context
        .largest_result()
        .unwrap_or(MAX_RESULT_BYTES)
        .clamp(MIN_RESULT_BYTES, MAX_RESULT_BYTES);
    if text.len() <= limit {
        return text;
    }
    let last = tail(&text, limit / TAIL_SHARE);
    let first = head(&text, limit - last.len());
    let left_out = count(text.len() - first.len() - last.len());
    let mut out = String::with_capacity(limit + 400);
    out.push_str(first);
    out.push_str(&format!(
        "\n[Cut: {left_out} of {} bytes are left out here; the end follows. {}]\n",
        count(text.len()),
        how_to_get_the_rest(tool())
    ));
    out.push_str(last);
    out
}

fn how_to_get_the_rest(tool: Option<(String, Vec<Parameter>)>) -> String {
    let Some((tool, parameters)) = tool else {
        return "Ask for less at once.".to_owned();
    };
    let names: Vec<&str> = parameters.iter().map(|one| &*one.name).collect();
    let by = match names.is_empty() {
        true => String::new(),
        false => format!(", narrowed by its parameters ({})", names.join(", ")),
    };
    format!("To get the rest, call {tool} again for less at once{by}.")
}

fn count(bytes: usize) -> String {
    thousands(u64::try_from(bytes).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::engine::registry::Registry;

    #[test]
    fn beginning_and_end_stay_and_the_cut_is_explained() {
        let context = ContextGauge::default();
        let short = "x".repeat(MAX_RESULT_BYTES);
        assert_eq!(capped(short.clone(), || None, &context), short);
        let tree = || {
            let tool = Registry::default().find("tree")?;
            Some((tool.name().to_owned(), tool.parameters()))
        };
        let long = format!("begin {} end", "é".repeat(1 << 20));
        let out = capped(long, tree, &context);
        assert!(out.len() < MAX_RESULT_BYTES + 1_000, "{}", out.len());
        assert!(out.starts_with("begin ") && out.ends_with(" end"));
        assert!(out.contains("of 2,097,162 bytes are left out") && out.contains("call tree again"));
        assert!(out.contains("max_depth"));
    }

    #[test]
    fn a_small_window_makes_the_limit_smaller() {
        let context = ContextGauge::default();
        context.set(0, 0, 10_000, 20_000);
        let out = capped("x".repeat(100_000), || None, &context);
        assert!((30_000..31_000).contains(&out.len()), "{}", out.len());
        context.set(0, 0, 10, 20);
        let out = capped("x".repeat(100_000), || None, &context);
        assert!(out.len() > MIN_RESULT_BYTES);
    }
}
