//! What models take of images: whether, how many, how large, and about how many tokens one costs.
//!
//! The limits are those of the providers' own pages in November 2026; where a page names none, a cautious one stands here, because a request that is too
//! large fails only after it was sent.

use std::borrow::Cow;

use super::catalog;
use super::copilot;
use super::models::{ModelInfo, ModelRegistry, table};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{capitalize, file_size, plural};
use crate::base::word_list::WordList;
use crate::chat::image::Image;
use crate::chat::message::Message;
use crate::formats::image::ImageKind;

/// What a provider takes of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ImageLimits {
    /// Images of one request, those of earlier messages included.
    pub count: usize,
    /// Bytes of one image.
    pub bytes: u64,
    /// Bytes of all images of a request.
    pub total_bytes: u64,
    /// Pixels of the longer side.
    pub side: u32,
    /// Kinds that it reads.
    pub kinds: &'static [ImageKind],
    /// Takes those of tools' results, in whatever form its wire has for them.
    pub of_results: bool,
}

const ALL: &[ImageKind] = &[
    ImageKind::Png,
    ImageKind::Jpeg,
    ImageKind::Webp,
    ImageKind::Gif,
];
const NO_GIF: &[ImageKind] = &[ImageKind::Png, ImageKind::Jpeg, ImageKind::Webp];

const MIB: u64 = 1 << 20;

pub(crate) fn limits(provider: &str) -> ImageLimits {
    let cautious = ImageLimits {
        count: 20,
        bytes: 15 * MIB,
        total_bytes: 30 * MIB,
        side: 16_000,
        kinds: ALL,
        of_results: true,
    };
    match provider {
        // https://docs.claude.com/en/docs/build-with-claude/vision: 5 MB, counted in base64, and 32 MB for the request.
        "anthropic" => ImageLimits {
            count: 100,
            bytes: 5 * MIB * 3 / 4,
            total_bytes: 22 * MIB,
            side: 8_000,
            kinds: ALL,
            ..cautious
        },
        // https://platform.openai.com/docs/guides/images-vision: 50 MB for the request.
        "openai" => ImageLimits {
            count: 500,
            bytes: 20 * MIB,
            total_bytes: 35 * MIB,
            side: 16_000,
            kinds: ALL,
            ..cautious
        },
        // https://ai.google.dev/gemini-api/docs/image-understanding: 20 MB for a request with images in it; no GIF.
        "gemini" => ImageLimits {
            count: 100,
            bytes: 14 * MIB,
            total_bytes: 14 * MIB,
            side: 16_000,
            kinds: NO_GIF,
            ..cautious
        },
        // https://console.groq.com/docs/vision: five images, 4 MB in base64.
        "groq" => ImageLimits {
            count: 5,
            bytes: 3 * MIB,
            total_bytes: 3 * MIB,
            side: 5_700,
            kinds: ALL,
            ..cautious
        },
        // https://docs.x.ai/docs/guides/image-understanding: PNG and JPEG up to 20 MiB.
        "xai" => ImageLimits {
            bytes: 20 * MIB,
            kinds: &[ImageKind::Png, ImageKind::Jpeg],
            ..cautious
        },
        // https://docs.mistral.ai/capabilities/vision: eight images of 10 MB. After a result it refuses a message of the user.
        "mistral" => ImageLimits {
            of_results: false,
            count: 8,
            bytes: 10 * MIB,
            ..cautious
        },
        // https://github.com/ollama/ollama/blob/main/docs/api.md: what its decoder reads.
        "ollama" => ImageLimits {
            kinds: NO_GIF,
            ..cautious
        },
        _ => cautious,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakesImages {
    Yes,
    No,
    /// Nothing is known of the model: the server decides.
    Unknown,
}

pub(crate) fn takes(provider: &str, model: &str, info: &ModelInfo) -> TakesImages {
    let local = catalog::row(provider).is_some_and(|row| row.local);
    match (info.images, local) {
        (true, _) => TakesImages::Yes,
        (false, true) if info.images_told => TakesImages::No,
        (false, true) if sees_by_name(model) => TakesImages::Yes,
        (false, false) if info.known => TakesImages::No,
        _ => TakesImages::Unknown,
    }
}

/// Open models that see say so in their names, or belong to families that do.
fn sees_by_name(model: &str) -> bool {
    const SIGNS: WordList = WordList(
        "llava vision -vl vl: gemma3 gemma-3 minicpm-v moondream pixtral llama4 llama-4 \
         mistral-small3 qwen2.5vl qwen3-vl",
    );
    let model = model.to_ascii_lowercase();
    SIGNS.iter().any(|sign| model.contains(sign))
}

/// A model of `provider` that takes images, to name it to the user.
fn example(provider: &str, models: &ModelRegistry) -> Option<&'static str> {
    if catalog::row(provider).is_some_and(|row| row.local) {
        return Some("gemma3");
    }
    let names = table::names(provider);
    names
        .into_iter()
        .find(|name| models.facts(provider, name).images)
}

/// Refuses `images` before they are sent where the model would, or its provider.
///
/// # Errors
/// The model takes none, or one is too large, or of a kind that the provider does not read, or there are too many.
pub(crate) fn check(
    images: &[Image],
    provider: &str,
    model: &str,
    info: &ModelInfo,
    models: &ModelRegistry,
) -> Outcome<()> {
    if images.is_empty() {
        return Ok(());
    }
    if provider == catalog::OFFLINE {
        return Err(
            Problem::refused("No model answers, so nobody can look at an image.")
                .next("marvin doctor shows how to set one up."),
        );
    }
    if takes(provider, model, info) == TakesImages::No {
        let problem = Problem::refused(format!("{model} takes no images."));
        return Err(match example(provider, models) {
            Some(other) => problem.next(format!(
                "{other} does: --model {other}, or /model {provider} {other} in the conversation."
            )),
            None => problem.next(
                "Choose another model: --model NAME, or /model PROVIDER MODEL in the conversation.",
            ),
        });
    }
    let limits = limits(provider);
    let who = capitalize(provider);
    if images.len() > limits.count {
        let what = plural(images.len(), "image");
        return Err(Problem::limit(format!(
            "{who} takes at most {} images with one message, not {what}.",
            limits.count
        ))
        .next("Send them in several messages."));
    }
    for image in images {
        let Image {
            name, kind, bytes, ..
        } = image;
        if !limits.kinds.contains(kind) {
            return Err(Problem::refused(format!(
                "{who} reads no {} images, which \"{name}\" is.",
                kind.name()
            ))
            .next("Convert it to PNG."));
        }
        if *bytes > limits.bytes {
            return Err(Problem::limit(format!(
                "\"{name}\" is too large: {}, and {who} takes at most {}.",
                file_size(*bytes),
                file_size(limits.bytes)
            ))
            .next("Make it smaller, or save it as JPEG."));
        }
        if image.width.max(image.height) > limits.side {
            return Err(Problem::limit(format!(
                "\"{name}\" is too large: {}x{} pixels, and {who} takes at most {} a side.",
                image.width, image.height, limits.side
            ))
            .next("Make it smaller."));
        }
    }
    let total: u64 = images.iter().map(|image| image.bytes).sum();
    if total > limits.total_bytes {
        return Err(Problem::limit(format!(
            "The images are too large together: {}, and {who} takes at most {}.",
            file_size(total),
            file_size(limits.total_bytes)
        ))
        .next("Send them in several messages."));
    }
    Ok(())
}

/// About how many tokens an image takes. The makers count differently, and some of them by model; within a factor of two is all that can be promised.
pub(crate) fn tokens(provider: &str, width: u32, height: u32) -> u64 {
    let (width, height) = (f64::from(width.max(1)), f64::from(height.max(1)));
    let fit = |long: f64| (long / width.max(height)).min(1.0);
    let tiles = |scale: f64, tile: f64| {
        (width * scale / tile).ceil().max(1.0) * (height * scale / tile).ceil().max(1.0)
    };
    let tokens = match provider {
        // Within 2048, the shorter side within 768; then tiles of 512.
        "openai" | copilot::NAME => {
            let scale = fit(2048.0);
            let short = width.min(height) * scale;
            let scale = scale * (768.0 / short).min(1.0);
            85.0 + 170.0 * tiles(scale, 512.0)
        }
        // Small images count as one tile of 768.
        "gemini" if width.max(height) <= 384.0 => 258.0,
        "gemini" => 258.0 * tiles(fit(3072.0), 768.0),
        // Within 1568 and about 1.2 megapixels; 750 pixels a token. Others are of this order.
        _ => (width * height * fit(1568.0).powi(2) / 750.0).min(1600.0),
    };
    // Between one and a few thousand.
    tokens.ceil() as u64
}

/// Whether an image of a tool's result may be sent: nobody has checked it before, and one that is refused would make every later request fail.
fn is_sendable(image: &Image, takes: TakesImages, limits: &ImageLimits) -> bool {
    takes == TakesImages::Yes
        && limits.of_results
        && limits.kinds.contains(&image.kind)
        && image.bytes <= limits.bytes
        && image.width.max(image.height) <= limits.side
}

/// Leaves those images of a result which the model can be sent, with what they cost there.
pub(crate) fn keep_sendable(
    images: &mut Vec<Image>,
    provider: &str,
    model: &str,
    info: &ModelInfo,
) {
    let (takes, limits) = (takes(provider, model, info), limits(provider));
    images.retain(|image| is_sendable(image, takes, &limits));
    for image in images {
        image.tokens = tokens(provider, image.width, image.height);
    }
}

/// The conversation as `provider` takes it: the latest images that it accepts together keep their bytes, older ones become words; all of them if the
/// model takes none.
pub(crate) fn fitted<'a>(
    messages: &'a [Message],
    provider: &str,
    model: &str,
    info: &ModelInfo,
) -> Cow<'a, [Message]> {
    let images = || {
        let images = |message: &'a Message| {
            let is_result = matches!(message, Message::Tool(_));
            message.images().iter().map(move |image| (image, is_result))
        };
        messages.iter().flat_map(images)
    };
    if images().next().is_none() {
        return Cow::Borrowed(messages);
    }
    let limits = limits(provider);
    let takes = takes(provider, model, info);
    let mut room = match takes {
        TakesImages::No => 0,
        TakesImages::Yes | TakesImages::Unknown => limits.count,
    };
    let mut bytes = 0;
    let newest: Vec<(&Image, bool)> = images().collect();
    let newest = newest.into_iter().rev();
    let mut kept: Vec<bool> = newest
        .map(|(image, is_result)| {
            if is_result && !is_sendable(image, takes, &limits) {
                return false;
            }
            bytes += image.bytes;
            if bytes > limits.total_bytes {
                room = 0;
            }
            let is_kept = room > 0;
            room = room.saturating_sub(1);
            is_kept
        })
        .collect();
    if kept.iter().all(|is_kept| *is_kept) {
        return Cow::Borrowed(messages);
    }
    let mut messages = messages.to_vec();
    for image in messages.iter_mut().flat_map(Message::images_mut) {
        if kept.pop() == Some(false) {
            image.data = None;
        }
    }
    Cow::Owned(messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::message::{ToolOutput, User};

    fn image(name: &str, bytes: u64) -> Image {
        Image {
            name: name.to_owned(),
            kind: ImageKind::Png,
            width: 800,
            height: 600,
            bytes,
            tokens: 640,
            data: Some([1, 2, 3].into()),
        }
    }

    fn checked(images: &[Image], provider: &str, model: &str) -> Result<(), String> {
        let models = ModelRegistry::default();
        let info = models.facts(provider, model);
        check(images, provider, model, &info, &models).map_err(|problem| problem.one_line())
    }

    #[test]
    fn a_model_without_eyes_names_one_that_has_them() {
        let one = [image("a.png", 1000)];
        let words = checked(&one, "deepseek", "deepseek-chat").unwrap_err();
        assert!(
            words.starts_with("deepseek-chat takes no images."),
            "{words}"
        );
        for (provider, model) in [("openai", "o3-mini"), ("groq", "gpt-oss-120b")] {
            let words = checked(&one, provider, model).unwrap_err();
            let models = ModelRegistry::default();
            let (_, named) = words.split_once("--model ").unwrap();
            let (named, _) = named.split_once(',').unwrap();
            assert!(models.facts(provider, named).images, "{words}");
        }
        assert_eq!(checked(&one, "openai", "gpt-5.5"), Ok(()));
        assert_eq!(checked(&one, "ollama", "llava:7b"), Ok(()));
        assert_eq!(checked(&one, "openai-compat", "something-new"), Ok(()));
        assert_eq!(checked(&[], "deepseek", "deepseek-chat"), Ok(()));
        assert!(checked(&one, "offline", "").is_err());
    }

    #[test]
    fn what_a_provider_does_not_take_is_refused_with_its_limit() {
        let check = |images: &[Image], provider: &str, model: &str, words: &str| {
            let refused = checked(images, provider, model).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        };
        let large = [image("a.png", 6 * MIB)];
        check(&large, "anthropic", "claude-opus-4-5", "at most 3.7 MB");
        let wide = Image {
            width: 9_000,
            ..image("a.png", 1)
        };
        check(&[wide], "anthropic", "claude-opus-4-5", "8000 a side");
        let gif = Image {
            kind: ImageKind::Gif,
            ..image("a.gif", 1)
        };
        check(&[gif], "gemini", "gemini-2.5-flash", "reads no GIF");
        let many = vec![image("a.png", 1); 9];
        check(&many, "mistral", "pixtral-next", "at most 8 images");
        let much = vec![image("a.png", 10 * MIB); 4];
        check(&much, "openai", "gpt-5.5", "together");
    }

    #[test]
    fn tokens_are_of_the_published_order() {
        for (provider, width, height, tokens) in [
            ("anthropic", 1092, 1092, 1590),
            ("anthropic", 200, 200, 54),
            ("anthropic", 8000, 8000, 1600),
            ("openai", 1024, 1024, 765),
            ("openai", 2048, 4096, 1105),
            ("openai", 1, 1, 255),
            ("gemini", 384, 384, 258),
            ("gemini", 1000, 700, 516),
            ("xai", 0, 0, 1),
        ] {
            assert_eq!(
                super::tokens(provider, width, height),
                tokens,
                "{provider} {width}x{height}"
            );
        }
    }

    fn talk(images: &[&[Image]]) -> Vec<Message> {
        images
            .iter()
            .map(|images| {
                Message::User(User {
                    text: "look".into(),
                    images: images.to_vec(),
                    ..User::default()
                })
            })
            .collect()
    }

    fn shown(messages: &[Message]) -> Vec<bool> {
        let images = messages.iter().flat_map(Message::images);
        images.map(|image| image.data.is_some()).collect()
    }

    #[test]
    fn older_images_become_words_when_there_are_too_many() {
        let info = ModelRegistry::default().facts("groq", "new-model");
        let one = || image("a.png", 1000);
        let messages = talk(&[&[one(), one()], &[], &[one(), one(), one(), one()]]);
        let fitted_messages = fitted(&messages, "groq", "new-model", &info);
        assert_eq!(
            shown(&fitted_messages),
            [false, true, true, true, true, true]
        );
        let few = talk(&[&[one()]]);
        assert!(matches!(
            fitted(&few, "groq", "new-model", &info),
            Cow::Borrowed(_)
        ));
        // By their bytes too.
        let large = talk(&[&[image("a", 2 * MIB)], &[image("b", 2 * MIB)]]);
        assert_eq!(
            shown(&fitted(&large, "groq", "new-model", &info)),
            [false, true]
        );
        // A model without eyes gets none.
        let blind = ModelRegistry::default().facts("deepseek", "deepseek-chat");
        assert_eq!(
            shown(&fitted(&few, "deepseek", "deepseek-chat", &blind)),
            [false]
        );
    }

    #[test]
    fn images_of_results_go_only_to_models_that_are_known_to_take_them() {
        let result = |one: Image| {
            let output = ToolOutput::ok("a", "shot", "[image]");
            Message::Tool(ToolOutput {
                images: vec![one],
                ..output
            })
        };
        let gif = Image {
            kind: ImageKind::Gif,
            ..image("b.gif", 1)
        };
        let messages = [
            result(image("a.png", 1000)),
            result(gif),
            result(image("c.png", 1 << 30)),
        ];
        let models = ModelRegistry::default();
        for (provider, model, sent) in [
            ("gemini", "gemini-2.5-flash", [true, false, false]),
            ("anthropic", "claude-opus-4-5", [true, true, false]),
            ("mistral", "pixtral-large-latest", [false; 3]),
            ("openai-compat", "something-new", [false; 3]),
            ("deepseek", "deepseek-chat", [false; 3]),
        ] {
            let info = models.facts(provider, model);
            let fitted = fitted(&messages, provider, model, &info);
            assert_eq!(shown(&fitted), sent, "{provider} {model}");
            let mut kept: Vec<Image> = messages.iter().flat_map(Message::images).cloned().collect();
            keep_sendable(&mut kept, provider, model, &info);
            assert_eq!(kept.len(), sent.iter().filter(|sent| **sent).count());
            assert!(kept.iter().all(|image| image.tokens > 0));
        }
    }
}
