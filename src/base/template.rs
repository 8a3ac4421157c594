//! Texts with named slots, such as prompts.

/// `template` with every `{{name}}` replaced by its value. A value that holds `{{name}}` itself is left as it is: it may come from a file.
pub(crate) fn fill(template: &str, slots: &[(&str, &str)]) -> String {
    let mut rest = template.trim_end();
    let mut out = String::with_capacity(rest.len());
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let slot = after.split_once("}}").and_then(|(name, after)| {
            let (_, value) = slots.iter().find(|(slot, _)| *slot == name)?;
            Some((value, after))
        });
        match slot {
            Some((value, after)) => {
                out.push_str(value);
                rest = after;
            }
            None => {
                out.push_str("{{");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_inside_a_value_is_not_filled() {
        let slots = [("a", "{{b}} {{a}}"), ("b", "B")];
        assert_eq!(fill("{{a}}/{{b}}/{{c}}\n", &slots), "{{b}} {{a}}/B/{{c}}");
        for broken in ["{{", "{{a", "a}}", "{{{a}}}", "{{}}"] {
            fill(broken, &slots);
        }
        assert_eq!(fill("{{{{b}}", &slots), "{{B");
    }
}
