//! Servers inside a calling program: their tools are offered and called, and what they do wrong disturbs nothing else.

use serde_json::{Value, json};

use super::json_callers::{LIMIT, drive, error, results, success};
use super::json_events::{control, driven, last, lines, user};
use super::mcp_session::{configure, entry, gone, has, log, offered, starts};
use crate::support::conversation::{calls, playing, says};
use crate::support::home::Home;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;

/// A server of the program: answers what a client asks, and its tools with `call`.
pub(super) fn mcp(
    request: &Value,
    tools: &Value,
    call: impl FnOnce(&Value) -> Value,
) -> Option<Value> {
    let message = &request["message"];
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "calc", "version": "1"}})
        }
        "tools/list" => json!({ "tools": tools }),
        "tools/call" => call(&message["params"]),
        _ => return success(json!({"mcp_response": {"jsonrpc": "2.0", "result": {}, "id": 0}})),
    };
    success(json!({"mcp_response": {"jsonrpc": "2.0", "id": message["id"], "result": result}}))
}

pub(super) fn add_tool() -> Value {
    json!({"name": "add", "description": "Adds.", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}}, "annotations": {"readOnlyHint": true}})
}

#[test]
fn tools_of_a_server_in_the_program_are_offered_listed_and_called() {
    let home = Home::new();
    let server = playing([
        calls("calc__add", json!({"a": 2})),
        calls("calc__delete", json!({})),
        says("Done."),
    ]);
    let run = driven(&home, &server)
        .line("--permission-prompt-tool stdio")
        .args([
            "--mcp-config",
            r#"{"mcpServers":{"calc":{"type":"sdk","name":"calc"}}}"#,
        ])
        .args(["--tools", ""]);
    let mut pages = 0;
    let mut asked = Vec::new();
    let delete = json!({"name": "delete", "inputSchema": {"$ref": "#"}});
    let done = drive(run, json!({}), &["add"], &mut |request| {
        if request["subtype"] == "can_use_tool" {
            asked.push(request["tool_name"].as_str().unwrap().to_owned());
            return success(json!({"behavior": "allow"}));
        }
        let message = &request["message"];
        if message["method"] == "tools/list" {
            pages += 1;
            let page = match message["params"]["cursor"].as_str() {
                None => json!({"tools": [add_tool()], "nextCursor": ""}),
                Some("") => json!({"tools": [delete]}),
                Some(other) => panic!("{other}"),
            };
            return success(json!({"mcp_response": {"jsonrpc": "2.0", "id": message["id"], "result": page}}));
        }
        mcp(request, &json!([]), |call| match call["name"] == "add" {
            true => json!({"content": [{"type": "text", "text": "sum 2"}, {"type": "image", "mimeType": "image/png", "data": "AAAA"}], "structuredContent": {"n": 2}}),
            false => json!({"content": [{"type": "text", "text": "No such row."}], "isError": true}),
        })
    })
    .expect(0);
    assert_eq!((pages, asked), (2, vec!["calc__delete".to_owned()]));
    let all = lines(&done);
    let init = all.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(
        init["mcp_servers"],
        json!([{"name": "calc", "status": "connected"}])
    );
    assert_eq!(init["tools"], json!(["calc__add", "calc__delete"]));
    let results = results(&all);
    assert_eq!(results[0], "sum 2\n[image, 3 bytes png]\n{\"n\":2}");
    assert!(results[1].contains("No such row."), "{}", results[1]);
    let offered = server.request(0).json()["tools"].clone();
    assert_eq!(offered[0]["function"]["description"], "Adds.");
}

#[test]
fn a_server_that_fails_is_told_and_the_rest_works() {
    for (case, words) in [
        ("error answer", "could not answer: It broke."),
        ("rpc error", "with an error: no"),
        ("wrong id", "the id of another request"),
        ("no response", "without mcp_response"),
        ("version", "speaks 1999-01-01"),
        ("nonsense", "no object"),
    ] {
        let home = Home::new();
        let server = playing([says("Done.")]);
        let run = driven(&home, &server);
        let done = drive(run, json!({"sdkMcpServers": ["calc"]}), &["hi"], &mut |request| {
            let id = &request["message"]["id"];
            match case {
                "error answer" => error("It broke."),
                "rpc error" => success(json!({"mcp_response": {"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "no"}}})),
                "wrong id" => success(json!({"mcp_response": {"jsonrpc": "2.0", "id": 77, "result": {}}})),
                "no response" => success(json!({})),
                "version" => success(json!({"mcp_response": {"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": "1999-01-01"}}})),
                _ => success(json!({"mcp_response": [id]})),
            }
        })
        .expect(0);
        let all = lines(&done);
        let init = all.iter().find(|line| line["subtype"] == "init").unwrap();
        assert_eq!(init["mcp_servers"][0]["status"], "failed", "{case}");
        done.stderr_has(&["The server calc is not connected", words]);
        assert_eq!(last(&all)["result"], "Done.");
    }
}

#[test]
fn a_server_with_thousands_of_tools_and_odd_ones_is_taken_as_far_as_it_goes() {
    let home = Home::new();
    let server = playing([calls("calc__t7", json!({})), says("Done.")]);
    let run = driven(&home, &server)
        .line("--permission-mode bypassPermissions")
        .env("MARVIN_TOOL_SEARCH", "off");
    let tool = |n: usize| json!({"name": format!("t{n}"), "inputSchema": {"type": "object", "properties": {"x": {"$ref": "#"}}}});
    let mut tools: Vec<Value> = (0..5_200).map(tool).collect();
    tools.insert(1, json!({"name": "t0"}));
    tools.insert(2, json!({"name": ""}));
    tools.insert(3, json!(7));
    let tools = Value::from(tools);
    let done = drive(run, json!({"sdkMcpServers": ["calc", "calc"]}), &["hi"], &mut |request| {
        mcp(request, &tools, |call| json!({"content": [{"type": "text", "text": format!("ran {}", call["name"])}]}))
    })
    .expect(0);
    let all = lines(&done);
    assert!(
        results(&all)[0].contains("ran \"t7\""),
        "{:?}",
        results(&all)
    );
    done.stderr_has(&[
        "another tool named \"t0\"",
        "a tool without a name",
        "its list is too long",
        "takes at most",
    ]);
    let offered = server.request(0).json()["tools"].as_array().unwrap().len();
    assert!(offered <= 128, "{offered}");
}

#[test]
fn a_call_to_a_server_that_never_answers_ends_with_its_limit_or_the_turn() {
    let home = Home::new();
    let server = playing([calls("calc__add", json!({})), says("Done.")]);
    let initialize =
        json!({"sdkMcpServers": ["calc"], "sdkMcpServerConfigs": {"calc": {"timeout": 300}}});
    let mut cancelled = false;
    let done = drive(
        driven(&home, &server),
        initialize.clone(),
        &["hi"],
        &mut |request| {
            let method = request["message"]["method"].as_str().unwrap_or_default();
            cancelled |= method == "notifications/cancelled";
            match method {
                "tools/call" => None,
                _ => mcp(request, &json!([add_tool()]), |_| json!({})),
            }
        },
    )
    .expect(0);
    assert!(cancelled);
    let all = lines(&done);
    assert!(results(&all)[0].contains("did not answer"), "{all:?}");
    assert_eq!(last(&all)["result"], "Done.");
}

#[test]
fn servers_elsewhere_are_started_and_those_of_files_only_where_the_program_lets_them() {
    let home = Home::new();
    configure(&home, &json!({"filed": entry(&home, &["0"])}));
    let server = playing([
        calls("files__look", json!({})),
        calls("files__ask", json!({})),
        calls("files__change", json!({"to": "x"})),
        calls("more__change", json!({"to": "y"})),
        says("Done."),
    ]);
    let files = json!({"mcpServers": {"files": entry(&home, &[])}}).to_string();
    let run = driven(&home, &server)
        .args(["--mcp-config", &files, "--strict-mcp-config"])
        .args(["--answers", r#"{"colour":"blue"}"#])
        .env("MARVIN_MCP_WAIT", "30")
        .line("--await-initialize --allowed-tools more__change");
    let initialize = json!({"mcpServers": {"more": entry(&home, &["0"])}, "sdkMcpServers": []});
    let done = drive(run, initialize, &["go on"], &mut |_| None).expect(0);
    let names = offered(&server, 0);
    assert!(has(&names, "files__look") && has(&names, "more__change"));
    assert!(!has(&names, "filed__look"), "{names:?}");
    let all = lines(&done);
    assert_eq!(all[0]["response"]["response"]["mcp_servers_applied"], true);
    let init = all.iter().find(|line| line["subtype"] == "init").unwrap();
    let states =
        json!([{"name": "files", "status": "connected"}, {"name": "more", "status": "connected"}]);
    assert_eq!(init["mcp_servers"], states);
    let said = results(&all);
    assert!(said[0].contains("it is done") && said[3].contains("it is done"));
    assert!(log(&home).contains(r#""colour":"blue""#), "{}", log(&home));
    assert!(said[2].contains("files__change was not run"), "{}", said[2]);
    let denied = &last(&all)["permission_denials"];
    assert_eq!(denied[0]["tool_name"], "files__change");
    assert_eq!(starts(&home), 2);
    gone(&home);
    // A run of text has them too, beside those of files; nobody is asked there, which is told as a refusal.
    let server = playing([calls("files__change", json!({})), says("Done.")]);
    let done = home
        .ask(&server.url("/v1"), "go on")
        .args(["--mcp-config", &files, "--output-format", "stream-json"])
        .run()
        .expect(0);
    let names = offered(&server, 0);
    assert!(has(&names, "files__look") && has(&names, "filed__look"));
    let all = lines(&done);
    let denied = all
        .iter()
        .find(|line| line["subtype"] == "permission_denied");
    assert_eq!(denied.unwrap()["tool_name"], "files__change");
    assert_eq!(
        last(&all)["permission_denials"].as_array().unwrap().len(),
        1
    );
    gone(&home);
}

#[test]
fn an_entry_that_is_no_server_is_refused_by_name_and_so_is_a_caller_that_cannot_answer() {
    let home = Home::new();
    let server = Server::always(says("Yes."));
    let none = r#"{"mcpServers":{"files":{"args":["x"]}}}"#;
    let done = driven(&home, &server)
        .args(["--mcp-config", none])
        .run()
        .expect(1);
    let errors = lines(&done)[0]["errors"].to_string();
    assert!(
        errors.contains("files") && errors.contains("neither a command nor a url"),
        "{errors}"
    );
    let own = r#"{"mcpServers":{"calc":{"type":"sdk"}}}"#;
    home.marvin()
        .args(["--mcp-config", own])
        .line("--non-interactive --prompt hi")
        .fails(&["--input-format stream-json"]);
    // With a closed input nobody answers for the server.
    let mut running = driven(&home, &server).args(["--mcp-config", own]).spawn();
    running.write(&user("hi"));
    let done = running.wait().expect(0);
    let all = lines(&done);
    let init = all.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["mcp_servers"][0]["status"], "failed");
}

#[test]
fn the_status_of_servers_is_told_at_any_time() {
    let home = Home::new();
    let server = Server::always(Answer::sse(openai::text(&["Yes."])));
    let mut running = driven(&home, &server).spawn();
    running.write(&control(
        "r0",
        json!({"subtype": "initialize", "sdkMcpServers": ["calc"], "mcpServers": {"files": {"command": "x"}}}),
    ));
    running.write(&control("m", json!({"subtype": "mcp_status"})));
    let both = r#"[{"name":"calc","status":"pending"},{"name":"files","status":"pending"}]"#;
    running.wait_stdout(both, LIMIT);
    let done = running.wait();
    assert!(done.text().contains("mcpServers"));
}
