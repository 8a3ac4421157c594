//! Passes a request on to a real server: measurements stand between Marvin and a provider.

use std::time::Duration;

use super::server::{Answer, Request};

/// Headers that belong to one connection, or to what was sent on it.
const OWN_HEADERS: [&str; 6] = [
    "host",
    "content-length",
    "connection",
    "transfer-encoding",
    "accept-encoding",
    "expect",
];

/// Status, media type and body of an answer.
#[derive(Debug, Clone)]
pub struct Forwarded {
    pub status: u16,
    pub media_type: String,
    pub body: Vec<u8>,
}

impl Forwarded {
    pub fn answer(&self) -> Answer {
        Answer::text(&self.media_type, self.body.clone()).with_status(self.status)
    }
}

/// What the server at `base` answers to this request, whole; an error of the connection is a 502.
pub fn forward(base: &str, request: &Request, limit: Duration) -> Forwarded {
    let url = format!("{}{}", base.trim_end_matches('/'), request.path);
    send(&url, request, limit).unwrap_or_else(|error| Forwarded {
        status: 502,
        media_type: "text/plain".to_owned(),
        body: format!("{url}: {error}").into_bytes(),
    })
}

fn send(url: &str, request: &Request, limit: Duration) -> Result<Forwarded, ureq::Error> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(limit))
        .http_status_as_error(false)
        .build()
        .into();
    let mut out = ureq::http::Request::builder()
        .method(request.method.as_str())
        .uri(url);
    for (name, value) in &request.headers {
        if !OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            out = out.header(name, value);
        }
    }
    let mut response = agent.run(out.body(request.body.clone())?)?;
    let media_type = response.headers().get("content-type");
    let media_type = media_type.and_then(|value| value.to_str().ok());
    Ok(Forwarded {
        status: response.status().as_u16(),
        media_type: media_type.unwrap_or("application/json").to_owned(),
        body: response
            .body_mut()
            .with_config()
            .limit(64 << 20)
            .read_to_vec()?,
    })
}
