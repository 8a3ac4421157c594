//! Responses in the format of the sources, with made-up content.

use serde_json::json;

use super::*;

fn answer(service: &'static Service, status: u16, value: &Value) -> ServiceResponse {
    ServiceResponse::new(service, status, value.to_string().into_bytes())
}

fn shown(articles: Outcome<Vec<Article>>) -> Result<Vec<String>, String> {
    let lines = |articles: Vec<Article>| articles.iter().map(Article::to_string).collect();
    articles.map(lines).map_err(|problem| problem.one_line())
}

fn gnews(status: u16, value: &Value) -> Result<Vec<String>, String> {
    shown(read_gnews(&answer(&GNEWS, status, value), 3))
}

fn newsapi(status: u16, value: &Value) -> Result<Vec<String>, String> {
    shown(read_newsapi(&answer(&NEWSAPI, status, value), 3))
}

#[test]
fn gnews_articles_are_parsed() {
    let article = json!({"id": "1", "title": "Tides &amp; co", "description": null, "url": "https://a.test/1",
        "publishedAt": "2026-11-20T10:00:00Z", "source": {"name": "The Coast", "url": "https://a.test"}, "lang": "en"});
    let many = vec![article.clone(); 9];
    assert_eq!(
        gnews(
            200,
            &json!({"totalArticles": 2, "articles": [article, {"title": "Bare"}, {"url": "https://a.test"}, 7, null]})
        ),
        Ok(vec![
            "Tides & co\n   The Coast · 2026-11-20 10:00 UTC · GNews\n   https://a.test/1"
                .to_owned(),
            "Bare\n   GNews".to_owned()
        ])
    );
    assert_eq!(gnews(200, &json!({"articles": many})).unwrap().len(), 3);
    for nothing in [
        json!({"totalArticles": 0, "articles": []}),
        json!({"totalArticles": 0}),
        json!({"articles": [], "errors": []}),
    ] {
        assert_eq!(gnews(200, &nothing), Ok(Vec::new()));
    }
    for (status, value, wanted) in [
        (
            401,
            json!({"errors": ["no such key"]}),
            "GNews does not accept the key (401): no such key. Check GNEWS_API_KEY.",
        ),
        (
            400,
            json!({"errors": {"q": "odd", "max": "too many"}}),
            "GNews cannot use the request (400): q: odd; max: too many.",
        ),
        (
            403,
            json!({"errors": ["The daily LIMIT is reached."]}),
            "The requests of today are used up (403): The daily LIMIT is reached. They reset at 00:00 UTC.",
        ),
        (
            403,
            json!({}),
            "The requests of today are used up (403). They reset at 00:00 UTC.",
        ),
        (
            403,
            json!({"errors": ["not verified"]}),
            "GNews refused the key or the request (403): not verified. Check GNEWS_API_KEY.",
        ),
        (
            429,
            json!({"errors": ["slower"]}),
            "Too many requests to GNews (429): slower. Wait some minutes, or use another source.",
        ),
        (503, json!(null), "GNews failed (503). Try again later."),
        (
            200,
            json!({"errors": ["odd"]}),
            "It refused the request: odd",
        ),
        (
            200,
            json!({}),
            "GNews answered with something that cannot be read. Try again later, or use another source.",
        ),
    ] {
        assert_eq!(gnews(status, &value), Err(wanted.to_owned()));
    }
}

#[test]
fn newsapi_articles_are_parsed() {
    let articles = json!([
        {"source": {"id": null, "name": "Tide Times"}, "author": null, "title": "High water", "description": "It rises.",
            "url": "https://b.test/1", "urlToImage": null, "publishedAt": "2026-11-20T10:00:00", "content": "It… [+9 chars]"},
        {"source": {}, "title": "[Removed]", "url": "https://removed.com", "publishedAt": "1970-01-01T00:00:00Z"}
    ]);
    let wanted = Ok(vec![
        "High water\n   Tide Times · 2026-11-20 10:00 UTC · NewsAPI\n   https://b.test/1\n   It rises.".to_owned(),
    ]);
    assert_eq!(
        newsapi(
            200,
            &json!({"status": "ok", "totalResults": 99, "articles": articles})
        ),
        wanted
    );
    assert_eq!(newsapi(200, &json!({"articles": articles})), wanted);
    for nothing in [
        json!({"status": "ok", "totalResults": 0, "articles": []}),
        json!({"status": "ok"}),
    ] {
        assert_eq!(newsapi(200, &nothing), Ok(Vec::new()));
    }
    let error = |code: &str| json!({"status": "error", "code": code, "message": "Its words."});
    for (status, value, wanted) in [
        (
            401,
            error("apiKeyInvalid"),
            "NewsAPI does not accept the key (401): Its words. Check NEWSAPI_KEY.",
        ),
        (
            400,
            error("parameterInvalid"),
            "NewsAPI cannot use the request (400): Its words.",
        ),
        (
            426,
            error("maximumResultsReached"),
            "Its plan does not allow this (426): Its words. A shorter time_filter or fewer results may be allowed.",
        ),
        (
            429,
            error("rateLimited"),
            "Too many requests to NewsAPI (429): Its words. Wait some minutes, or use another source.",
        ),
        (
            500,
            error("unexpectedError"),
            "NewsAPI failed (500): Its words. Try again later.",
        ),
        (
            200,
            error("apiKeyExhausted"),
            "The requests of its key are used up: Its words. Wait until they reset.",
        ),
        (
            200,
            json!({"status": "error", "code": "odd"}),
            "It refused the request: odd",
        ),
        (
            200,
            json!({"ok": true}),
            "NewsAPI answered with something that cannot be read. Try again later, or use another source.",
        ),
    ] {
        assert_eq!(newsapi(status, &value), Err(wanted.to_owned()));
    }
}

#[test]
fn duckduckgo_is_read() {
    let read = |status, value: &Value| {
        read_duckduckgo(&answer(&DUCKDUCKGO_NEWS, status, value), 3).map(shown)
    };
    let results = json!([
        {"date": 1_795_168_800, "excerpt": "The <b>barrage</b> &amp; more", "source": "Coast", "title": "Barrage", "url": "https://c.test/1"},
        {"date": "1795168800", "title": "Second"},
        {"date": -1e30, "title": "Third"},
        {"title": "Fourth"}
    ]);
    let wanted = vec![
        "Barrage\n   Coast · 2026-11-20 10:00 UTC · DuckDuckGo News\n   https://c.test/1\n   The barrage & more".to_owned(),
        "Second\n   2026-11-20 10:00 UTC · DuckDuckGo News".to_owned(),
        "Third\n   DuckDuckGo News".to_owned(),
    ];
    assert_eq!(read(200, &json!({"results": results})), Some(Ok(wanted)));
    assert_eq!(read(200, &json!({"results": []})), Some(Ok(Vec::new())));
    for (status, value) in [
        (403, json!({"results": results})),
        (202, json!(null)),
        (200, json!({})),
        (200, json!({"results": {}})),
    ] {
        assert!(read(status, &value).is_none_or(|read| status == 202 && read.is_err()));
    }
}

#[test]
fn the_token_is_found_in_any_quotes() {
    for (page, wanted) in [
        ("a vqd=\"4-12-3\" b", Some("4-12-3")),
        ("vqd='4-1';", Some("4-1")),
        ("x.js?q=a&vqd=4-99&s=30", Some("4-99")),
        ("vqd= vqd=\"\" vqd=4 vqd=\"3-5", Some("3-5")),
        ("vqd", None),
        ("", None),
    ] {
        assert_eq!(token(page).as_deref(), wanted, "{page}");
    }
}

#[test]
fn queries_in_other_scripts_request_no_language() {
    assert_eq!(language("tidal power"), Some("en"));
    assert_eq!(language("приливы"), None);
}

#[test]
fn error_messages_are_quoted_verbatim() {
    let page = |service, status| {
        let page = b"<!doctype html><title>Attention</title>".to_vec();
        ServiceResponse::new(service, status, page)
    };
    for (value, wanted) in [
        (
            json!({"errors": {"q": ["odd", "long"], "x": [], "y": null}}),
            "GNews cannot use the request (400): q: odd; long.",
        ),
        (
            json!({"errors": [{"message": "odd"}, 3]}),
            "GNews cannot use the request (400): message: odd.",
        ),
        (json!({"errors": []}), "GNews cannot use the request (400)."),
    ] {
        assert_eq!(gnews(400, &value), Err(wanted.to_owned()));
    }
    assert!(
        gnews(
            403,
            &json!({"errors": ["You have exceeded it until the next reset"]})
        )
        .unwrap_err()
        .starts_with("The requests of today are used up (403): You have")
    );
    assert_eq!(
        shown(read_gnews(&page(&GNEWS, 403), 3)).unwrap_err(),
        "GNews refused the key or the request (403). Check GNEWS_API_KEY."
    );
    for odd in [json!({"a": 1}), json!("none"), json!(3)] {
        let refused = gnews(200, &json!({"totalArticles": 4, "articles": odd}));
        assert!(refused.unwrap_err().contains("cannot be read"));
        let refused = newsapi(200, &json!({"status": "ok", "articles": odd}));
        assert!(refused.unwrap_err().contains("cannot be read"));
    }
    assert_eq!(
        newsapi(426, &json!(null)).unwrap_err(),
        "Its plan does not allow this (426). A shorter time_filter or fewer results may be allowed."
    );
    assert_eq!(
        newsapi(200, &json!({"status": "error"})).unwrap_err(),
        "It refused the request: it does not say why."
    );
    assert_eq!(
        newsapi(
            401,
            &json!({"status": "error", "code": "apiKeyExhausted", "message": "none left."})
        )
        .unwrap_err(),
        "The requests of its key are used up: none left. Wait until they reset."
    );
    let untitled =
        json!({"title": null, "description": "About\u{202e} it", "url": "https://a.test/9"});
    assert_eq!(
        gnews(200, &json!({"articles": [untitled]})),
        Ok(vec![
            "About\\u{202e} it\n   GNews\n   https://a.test/9".to_owned()
        ])
    );
}
