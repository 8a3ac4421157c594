//! Labels of a conversation: told apart, put back where the user gave the value, and never because somebody typed one.

use crate::base::redact::ConversationLabels;

#[test]
fn different_values_have_different_labels_and_come_back() {
    let labels = ConversationLabels::default();
    let said = "mail bob@example.com and ada@example.com, then bob@example.com again";
    assert_eq!(
        labels.redact_said(said),
        "mail [REDACTED_EMAIL] and [REDACTED_EMAIL_2], then [REDACTED_EMAIL] again"
    );
    assert_eq!(
        labels.scrub_said("4111 1111 1111 1111\n555123 is the OTP"),
        "[REDACTED_CARD]\n[REDACTED_OTP] is the OTP"
    );
    assert_eq!(
        labels.restored(r#"{"to":["[REDACTED_EMAIL_2]","[REDACTED_EMAIL]"],"n":"[REDACTED_CARD] [REDACTED_OTP]"}"#),
        r#"{"to":["ada@example.com","bob@example.com"],"n":"4111 1111 1111 1111 555123"}"#
    );
    labels.clear();
    assert_eq!(labels.restored("[REDACTED_EMAIL]"), "[REDACTED_EMAIL]");
}

#[test]
fn keys_and_passwords_never_come_back() {
    let labels = ConversationLabels::default();
    let shown = labels.redact_said(
        "password: hunter22 and api_key=abc123secretvalue, use Bearer abcd1234efgh5678",
    );
    assert!(!shown.contains("hunter22"));
    for label in [
        "[REDACTED]",
        "password=[REDACTED]",
        "[REDACTED_TOKEN]",
        &shown,
    ] {
        assert_eq!(labels.restored(label), label);
    }
}

#[test]
fn a_label_that_the_user_typed_stays_a_text_and_stands_for_nothing() {
    let labels = ConversationLabels::default();
    assert_eq!(
        labels.redact_said("what is [REDACTED_EMAIL], and who is bob@example.com?"),
        "what is [REDACTED_EMAIL], and who is [REDACTED_EMAIL_2]?"
    );
    assert_eq!(labels.restored("[REDACTED_EMAIL]"), "[REDACTED_EMAIL]");
    assert_eq!(labels.restored("[REDACTED_EMAIL_2]"), "bob@example.com");
    // Typed later, it no longer stands for what it stood for.
    labels.redact_said("send it to [REDACTED_EMAIL_2] and [REDACTED_EMAIL_7]");
    assert_eq!(labels.restored("[REDACTED_EMAIL_2]"), "[REDACTED_EMAIL_2]");
    assert_eq!(
        labels.redact_said("to bob@example.com"),
        "to [REDACTED_EMAIL_3]"
    );
    for forged in [
        "[REDACTED_EMAIL",
        "[REDACTED_EMAIL_x]",
        "[REDACTED_EMAIL_]",
        "[REDACTED_]",
        "[REDACTED_EMAIL\u{0}]",
    ] {
        assert_eq!(labels.redact_said(forged), forged);
        assert_eq!(labels.restored(forged), forged);
    }
}

#[test]
fn what_others_wrote_has_no_label_of_a_value_of_the_user() {
    let labels = ConversationLabels::default();
    assert_eq!(
        labels.scrub("Ada: ada@example.org"),
        "Ada: [REDACTED_EMAIL]"
    );
    assert_eq!(
        labels.redact_said("mail bob@example.com"),
        "mail [REDACTED_EMAIL_2]"
    );
    assert_eq!(
        labels.scrub("bob@example.com, eve@example.org"),
        "[REDACTED_EMAIL_2], [REDACTED_EMAIL]"
    );
    assert_eq!(labels.restored("[REDACTED_EMAIL]"), "[REDACTED_EMAIL]");
    let later = ConversationLabels::default();
    assert_eq!(
        later.redact_said("mail bob@example.com"),
        "mail [REDACTED_EMAIL]"
    );
    assert_eq!(later.scrub("eve@example.org"), "[REDACTED_EMAIL_2]");
    // What was said before this process began.
    let resumed = ConversationLabels::default();
    resumed.note("User: mail [REDACTED_EMAIL]");
    assert_eq!(
        resumed.redact_said("mail bob@example.com"),
        "mail [REDACTED_EMAIL_2]"
    );
}

#[test]
fn a_number_that_a_tool_repeats_is_hidden_there_too() {
    let labels = ConversationLabels::default();
    assert_eq!(labels.redact_said("OTP 555123"), "OTP [REDACTED_OTP]");
    assert_eq!(
        labels.scrub("Subscribed to 555123: https://ntfy.example/555123. 1555123 others."),
        "Subscribed to [REDACTED_OTP]: https://ntfy.example/[REDACTED_OTP]. 1555123 others."
    );
}

#[test]
fn a_value_goes_into_json_as_a_text() {
    let labels = ConversationLabels::default();
    labels.redact_said("mail o'neil@example.com");
    assert_eq!(
        labels.restored(r#"{"to":"[REDACTED_EMAIL]"}"#),
        r#"{"to":"o'neil@example.com"}"#
    );
}

#[test]
fn many_values_take_no_more_than_their_share() {
    let labels = ConversationLabels::default();
    let many: Vec<String> = (0..600).map(|at| format!("u{at}@x.example")).collect();
    let shown = labels.scrub_said(&many.join(" "));
    assert!(!shown.contains('@'));
    assert_eq!(labels.restored("[REDACTED_EMAIL_500]"), "u499@x.example");
}
