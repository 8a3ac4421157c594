//! Embeddings by a provider: Ollama's `/api/embed` (<https://docs.ollama.com/api/embed>) and OpenAI's `/embeddings`
//! (<https://platform.openai.com/docs/api-reference/embeddings>), which most compatible servers have too.

use serde::{Deserialize, Serialize};

use super::provider::Embeddings;
use super::wire::Wire;
use crate::base::embedding::Embedding;
use crate::base::shared_sort::SharedSort as _;

/// The most bytes of an answer.
pub(crate) const MAX_ANSWER_BYTES: usize = 32 << 20;
/// The address for embeddings beside that of a wire's requests; `None` when the wire has none.
pub(crate) fn url(wire: Wire, requests: &str) -> Option<String> {
    let (path, own) = match wire {
        Wire::Ollama => ("/api/chat", "/api/embed"),
        Wire::Completions => ("/chat/completions", "/embeddings"),
        Wire::Responses => ("/responses", "/embeddings"),
        Wire::Anthropic => return None,
    };
    Some(format!("{}{own}", requests.strip_suffix(path)?))
}

/// The body of a request; both wires have the same.
pub(crate) fn body(model: &str, texts: &[String]) -> Vec<u8> {
    #[derive(Serialize)]
    struct Body<'a> {
        model: &'a str,
        input: &'a [String],
    }
    let body = Body {
        model,
        input: texts,
    };
    serde_json::to_vec(&body).unwrap_or_default()
}

/// The vectors of an answer to a request for `count` texts.
///
/// # Errors
/// What is wrong with the answer.
pub(crate) fn read(answer: &[u8], count: usize) -> Result<Embeddings, String> {
    #[derive(Deserialize)]
    struct Answer {
        embeddings: Option<Vec<Vec<f32>>>,
        prompt_eval_count: Option<u64>,
        data: Option<Vec<Item>>,
        usage: Option<Usage>,
    }
    #[derive(Deserialize)]
    struct Item {
        index: Option<usize>,
        embedding: Vec<f32>,
    }
    #[derive(Deserialize)]
    struct Usage {
        prompt_tokens: Option<u64>,
    }
    let answer: Answer = serde_json::from_slice(answer).map_err(|error| error.to_string())?;
    let tokens = answer.usage.and_then(|usage| usage.prompt_tokens);
    let values = match (answer.embeddings, answer.data) {
        (Some(values), _) => values,
        (None, Some(mut items)) => {
            items.shared_sort_by_key(|item| item.index);
            items.into_iter().map(|item| item.embedding).collect()
        }
        (None, None) => return Err("it has no embeddings".to_owned()),
    };
    if values.len() != count {
        return Err(format!("it has {} vectors for {count} texts", values.len()));
    }
    let vectors: Option<Vec<_>> = values.into_iter().map(Embedding::new).collect();
    let vectors = vectors.ok_or("a vector has no direction")?;
    let dimensions = vectors.first().map_or(0, |vector| vector.values().len());
    if vectors
        .iter()
        .any(|vector| vector.values().len() != dimensions)
    {
        return Err("its vectors differ in length".to_owned());
    }
    Ok(Embeddings {
        vectors,
        tokens: tokens.or(answer.prompt_eval_count),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector(values: &[f32]) -> Embedding {
        Embedding::new(values.to_vec()).unwrap()
    }

    #[test]
    fn both_forms_of_an_answer_are_read() {
        let ollama = br#"{"model":"m","embeddings":[[1,0],[0,2]],"prompt_eval_count":7}"#;
        let openai = br#"{"object":"list","data":[{"index":1,"embedding":[0,2.0]},{"index":0,"embedding":[1,0]}],"usage":{"prompt_tokens":7,"total_tokens":7}}"#;
        for answer in [&ollama[..], openai] {
            let read = read(answer, 2).unwrap();
            assert_eq!(read.vectors, [vector(&[1.0, 0.0]), vector(&[0.0, 1.0])]);
            assert_eq!(read.tokens, Some(7));
        }
    }

    #[test]
    fn an_answer_that_does_not_fit_is_refused_with_a_reason() {
        for (answer, reason) in [
            (r#"{"embeddings":[[1]]}"#, "1 vectors for 2 texts"),
            (r#"{"embeddings":[[1],[1,2]]}"#, "differ in length"),
            (r#"{"embeddings":[[1],[0]]}"#, "no direction"),
            (r#"{"embeddings":[["a"],[1]]}"#, "invalid type"),
            (r#"{"error":"no such model"}"#, "no embeddings"),
            ("<html>", "expected value"),
            ("", "EOF"),
        ] {
            let problem = read(answer.as_bytes(), 2).unwrap_err();
            assert!(problem.contains(reason), "{answer}: {problem}");
        }
    }

    #[test]
    fn the_address_lies_beside_that_of_the_conversation() {
        for (wire, requests, want) in [
            (
                Wire::Ollama,
                "http://h/api/chat",
                Some("http://h/api/embed"),
            ),
            (
                Wire::Completions,
                "http://h/v1/chat/completions",
                Some("http://h/v1/embeddings"),
            ),
            (
                Wire::Responses,
                "http://h/v1/responses",
                Some("http://h/v1/embeddings"),
            ),
            (Wire::Anthropic, "http://h/v1/messages", None),
            (Wire::Completions, "http://h/own/path", None),
        ] {
            assert_eq!(url(wire, requests).as_deref(), want);
        }
    }

    proptest! {
        #[test]
        fn no_answer_panics(answer in prop::collection::vec(any::<u8>(), 0..200), count in 0..4_usize) {
            let _ = read(&answer, count);
        }
    }
}
