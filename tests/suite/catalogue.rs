//! `marvin tools --json` against the contract's catalogue, for every tool that exists so far.

use serde_json::Value;

use crate::support::home::Home;
use crate::support::shared::shared;

#[test]
fn every_tool_is_as_the_contract_says() {
    let Some(shared) = shared("catalogue") else {
        return;
    };
    let contract: Value =
        serde_json::from_slice(&std::fs::read(shared.join("contract/tools.json")).unwrap())
            .unwrap();
    let contract = contract["tools"].as_array().unwrap();
    let home = Home::new();
    let run = home.marvin().args(["tools", "--json"]).run().expect(0);
    let ours: Value = serde_json::from_str(run.text()).unwrap();
    let ours = ours.as_array().unwrap();
    assert!(ours.len() >= 21, "{} tools", ours.len());
    for tool in ours {
        let name = tool["name"].as_str().unwrap();
        let theirs = contract
            .iter()
            .find(|other| other["name"] == tool["name"])
            .unwrap_or_else(|| panic!("{name} is not in the contract"));
        assert_eq!(tool["module"], theirs["module"], "{name}");
        assert_eq!(tool["summary"], theirs["summary"], "{name}");
        assert_eq!(tool["flags"], theirs["flags"], "{name}");
        let properties = tool["parameters"]["properties"].as_object().unwrap();
        let wanted = theirs["parameters"].as_array().unwrap();
        let names: Vec<&str> = properties.keys().map(String::as_str).collect();
        let wanted_names: Vec<&str> = wanted
            .iter()
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, wanted_names, "{name}: order");
        let required: Vec<&Value> = tool["parameters"]["required"]
            .as_array()
            .unwrap()
            .iter()
            .collect();
        for parameter in wanted {
            let key = parameter["name"].as_str().unwrap();
            let property = &properties[key];
            assert_eq!(property["type"], parameter["type"], "{name}.{key}");
            assert_eq!(
                property["description"], parameter["meaning"],
                "{name}.{key}"
            );
            assert_eq!(
                required.contains(&&parameter["name"]),
                parameter["required"] == true,
                "{name}.{key}: required"
            );
            let default = parameter.get("default").cloned().unwrap_or(Value::Null);
            assert_eq!(
                property.get("default").cloned().unwrap_or(Value::Null),
                default,
                "{name}.{key}: default"
            );
            for (ours, theirs) in [("minimum", "min"), ("maximum", "max")] {
                assert_eq!(
                    property.get(ours),
                    parameter.get(theirs),
                    "{name}.{key}: {theirs}"
                );
            }
        }
    }
}
