//! The one limit that every tool's result passes on its way to a model, whichever tool made it.

use super::context_gauge::ContextGauge;
use crate::base::text::{head, tail, thousands};
use crate::tools::Tool;

/// Bytes of a result at most; above what `read_file` hands out in one call, which has a limit of its own.
const MAX_RESULT_BYTES: usize = 256 * 1024;
/// However small the model's window is, this much of a result is shown.
const MIN_RESULT_BYTES: usize = 8 * 1024;
/// The divisor for the part shown from the end: totals and errors are there.
const TAIL_SHARE: usize = 8;

/// `text` within the limit: its beginning and its end, and between them what is missing and how to get it.
pub(crate) fn capped(text: String, tool: Option<&Tool>, context: &ContextGauge) -> String {
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
        how_to_get_the_rest(tool)
    ));
    out.push_str(last);
    out
}

fn how_to_get_the_rest(tool: Option<&Tool>) -> String {
    let Some(tool) = tool else {
        return "Ask for less at once.".to_owned();
    };
    let names: Vec<&str> = tool.fields().iter().map(|field| field.name).collect();
    let by = match names.is_empty() {
        true => String::new(),
        false => format!(", narrowed by its parameters ({})", names.join(", ")),
    };
    format!(
        "To get the rest, call {} again for less at once{by}.",
        tool.name
    )
}

fn count(bytes: usize) -> String {
    thousands(u64::try_from(bytes).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::engine::registry::find_tool;

    #[test]
    fn beginning_and_end_stay_and_the_cut_is_explained() {
        let context = ContextGauge::default();
        let short = "x".repeat(MAX_RESULT_BYTES);
        assert_eq!(capped(short.clone(), None, &context), short);
        let long = format!("begin {} end", "é".repeat(1 << 20));
        let out = capped(long, find_tool("tree"), &context);
        assert!(out.len() < MAX_RESULT_BYTES + 1_000, "{}", out.len());
        assert!(out.starts_with("begin ") && out.ends_with(" end"));
        assert!(out.contains("of 2,097,162 bytes are left out") && out.contains("call tree again"));
        assert!(out.contains("max_depth"));
    }

    #[test]
    fn a_small_window_makes_the_limit_smaller() {
        let context = ContextGauge::default();
        context.set(0, 0, 10_000, 20_000);
        let out = capped("x".repeat(100_000), None, &context);
        assert!((30_000..31_000).contains(&out.len()), "{}", out.len());
        context.set(0, 0, 10, 20);
        let out = capped("x".repeat(100_000), None, &context);
        assert!(out.len() > MIN_RESULT_BYTES);
    }
}
