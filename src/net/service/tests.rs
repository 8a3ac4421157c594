//! Building requests, and the contact that some services require.

use super::send::origin;
use super::*;
use crate::base::testing::assert_has;

#[test]
fn addresses_are_put_together_once_and_encoded() {
    assert_eq!(encoded("a b/c?d&é|~"), "a%20b%2Fc%3Fd%26%C3%A9%7C~");
    assert_eq!(
        origin("https://x.test:8443/a?b=http://c"),
        "https://x.test:8443"
    );
    assert_eq!(host("http://x.test?q"), "x.test");
    let env = Env::from([("MARVIN_URL_OMDB", "http://127.0.0.1:1/base/")]);
    let (out, stop) = (ServiceClient::new(&env, None), Cancel::new());
    let ask = out
        .request(&crate::net::services::OMDB, None, &stop)
        .path("/v1")
        .segment("a/b")
        .query("q", "x y")
        .query_if("n", None::<u32>)
        .query_if("m", Some(2))
        .base("https://elsewhere.test");
    let url = format!("{}{}{}", ask.base, ask.path, ask.query);
    assert_eq!(url, "http://127.0.0.1:1/base/v1/a%2Fb?q=x%20y&m=2");
}

#[test]
fn a_public_server_that_wants_a_contact_is_not_asked_without_one() {
    let stop = Cancel::new();
    let service = &crate::net::services::NOMINATIM;
    let out = ServiceClient::new(&Env::from([("HOME", "/nowhere")]), None);
    let problem = out.request(service, None, &stop).get().unwrap_err();
    assert_has(&problem.one_line(), &["MARVIN_CONTACT"]);
    assert!(
        out.request(service, Some("me@x.test".to_owned()), &stop)
            .allowed()
            .is_ok()
    );
    let own = ServiceClient::new(
        &Env::from([("MARVIN_URL_NOMINATIM", "http://127.0.0.1:1")]),
        None,
    );
    assert!(own.request(service, None, &stop).allowed().is_ok());
}
