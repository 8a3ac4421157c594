//! Changes of a scene: the Python that Marvin sends is run by the real Python in a stand-in for Blender.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::blender::{Peer, Scene};
use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::words::{TextAssertions, error_text, success_text};

struct Studio {
    home: Home,
    scene: Arc<Scene>,
    peer: Peer,
}

impl Studio {
    fn new(test: &str) -> Option<Self> {
        let scene = Arc::new(Scene::new(test)?);
        Some(Self {
            home: Home::new(),
            peer: scene.peer(),
            scene,
        })
    }

    fn run(&self, name: &str, args: &Value) -> Done {
        let marvin = self
            .home
            .marvin()
            .args(["tool", name, "--json", &args.to_string()]);
        self.peer.named_to(marvin).run()
    }

    /// The report of a change.
    fn change(&self, name: &str, args: Value) -> Value {
        let text = success_text(self.run(name, &args), &[]);
        serde_json::from_str(&text).unwrap()
    }

    fn fails(&self, name: &str, args: Value, says: &[&str]) {
        error_text(self.run(name, &args), &[]).assert_has(says);
    }

    fn python(&self, code: &str) {
        self.scene.execute(code).assert_has(&["\"success\""]);
    }
}

/// Names that would end a literal, a line or a statement.
const HOSTILE: [&str; 9] = [
    "it's \"quoted\"",
    "'''three''' \"\"\"three\"\"\"",
    "back\\slash\\",
    "new\nline\r\n\ttab",
    "\"); import os; os._exit(3) #",
    "{name} %s $(x) `y`",
    "Gärten \u{2028} \u{1f600}",
    "\\u0041\\x41\\N{BULLET}",
    "\u{1b}[31m\u{7f}",
];

#[test]
fn every_primitive_is_added_where_it_belongs() {
    let Some(own) = Studio::new("blender_scene primitives") else {
        return;
    };
    for (kind, name) in [
        ("cube", "Cube.001"),
        ("sphere", "Sphere"),
        ("uv_sphere", "Sphere.001"),
        ("ico_sphere", "Icosphere"),
        ("cylinder", "Cylinder"),
        ("cone", "Cone"),
        ("torus", "Torus"),
        ("plane", "Plane"),
    ] {
        let args = json!({"object_type": kind, "location": [1, 2.5, -3], "scale": 2, "rotation": "[0, 0, 1.5]"});
        assert_eq!(
            own.change("blender_create_object", args),
            json!({"name": name, "type": "MESH", "location": [1.0, 2.5, -3.0], "rotation": [0.0, 0.0, 1.5], "scale": [2.0, 2.0, 2.0]})
        );
    }
    assert_eq!(own.scene.objects().as_object().unwrap().len(), 11);
}

#[test]
fn a_new_object_takes_no_name_from_another() {
    let Some(own) = Studio::new("blender_scene names") else {
        return;
    };
    let create = |name: &str| {
        let report = own.change(
            "blender_create_object",
            json!({"object_type": "cone", "name": name}),
        );
        report["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(create("Light"), "Light.001");
    assert_eq!(create("Light"), "Light.002");
    assert_eq!(create("Cone"), "Cone");
    assert_eq!(own.scene.objects()["Light"]["type"], "LIGHT");
    // Blender keeps 63 bytes.
    let long = "é".repeat(40);
    assert_eq!(create(&long), "é".repeat(31));
    assert_eq!(create(&long), format!("{}.001", "é".repeat(29)));
    own.python("bpy.data.objects['Cube'].mode = 'EDIT'");
    own.python("bpy.context.view_layer.objects.active = bpy.data.objects['Cube']");
    own.fails(
        "blender_create_object",
        json!({"object_type": "cone"}),
        &["The object Cube is in the mode EDIT: go back to object mode first"],
    );
    own.fails(
        "blender_delete_object",
        json!({"object_name": "Cube"}),
        &["in the mode EDIT"],
    );
}

#[test]
fn an_object_is_moved_scaled_and_rotated_as_far_as_asked() {
    let Some(own) = Studio::new("blender_scene changes") else {
        return;
    };
    let moved = own.change(
        "blender_modify_object",
        json!({"object_name": "Cube", "location": [0, 0, 2]}),
    );
    assert_eq!(moved["location"], json!([0.0, 0.0, 2.0]));
    let turned = own.change(
        "blender_modify_object",
        json!({"object_name": "Cube", "rotation": [0.5, 0, 0], "scale": [1, 2, 3]}),
    );
    assert_eq!(
        turned,
        json!({"name": "Cube", "type": "MESH", "location": [0.0, 0.0, 2.0], "rotation": [0.5, 0.0, 0.0], "scale": [1.0, 2.0, 3.0]})
    );
    // The angles have to go where the object takes its rotation from.
    for mode in ["QUATERNION", "AXIS_ANGLE"] {
        own.python(&format!(
            "bpy.data.objects['Light'].rotation_mode = '{mode}'"
        ));
        own.change(
            "blender_modify_object",
            json!({"object_name": "Light", "rotation": [0, 0, 0.25]}),
        );
        let light = own.scene.objects()["Light"].clone();
        let key = format!("rotation_{}", mode.to_lowercase());
        let numbers = light[&key].as_array().unwrap();
        assert!(numbers.iter().any(|number| *number == 0.25), "{light}");
        assert_eq!(light["rotation_euler"], json!([0.0, 0.0, 0.0]));
    }
    for tool in [
        "blender_modify_object",
        "blender_set_material",
        "blender_delete_object",
    ] {
        let args = json!({"object_name": "cube", "location": [0, 0, 0]});
        own.fails(tool, args, &["Object not found: cube", "blender_get_scene"]);
    }
}

#[test]
fn an_object_is_deleted_and_no_other() {
    let Some(own) = Studio::new("blender_scene deletions") else {
        return;
    };
    let deleted = own.change("blender_delete_object", json!({"object_name": "Cube"}));
    assert_eq!(deleted, json!({"deleted": "Cube"}));
    let left = own.scene.objects();
    assert_eq!(
        left.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["Light", "Camera"]
    );
}

#[test]
fn a_colour_changes_the_object_and_not_its_neighbours() {
    let Some(own) = Studio::new("blender_scene materials") else {
        return;
    };
    let red = json!([1.0, 0.0, 0.0, 1.0]);
    let material = |name: &str| own.scene.objects()[name]["material"].clone();
    let report = own.change(
        "blender_set_material",
        json!({"object_name": "Cube", "color": [1, 0, 0]}),
    );
    assert_eq!(
        report,
        json!({"object": "Cube", "material": "Material", "color": red})
    );
    assert_eq!(
        material("Cube"),
        json!({"name": "Material", "use_nodes": true, "diffuse_color": red, "base_color": red})
    );
    // Another object gets the same material, which keeps its colour.
    own.change(
        "blender_create_object",
        json!({"object_type": "cone", "name": "Hat"}),
    );
    let report = own.change(
        "blender_set_material",
        json!({"object_name": "Hat", "material_name": "Material"}),
    );
    assert_eq!(report["color"], red);
    // A colour without a name then needs a material of its own.
    let report = own.change(
        "blender_set_material",
        json!({"object_name": "Hat", "color": [0, 0, 1, 0.5]}),
    );
    assert_eq!(
        report,
        json!({"object": "Hat", "material": "Material.001", "color": [0.0, 0.0, 1.0, 0.5]})
    );
    assert_eq!(material("Cube")["diffuse_color"], red);
    // A new name makes a material with the default colour.
    let report = own.change(
        "blender_set_material",
        json!({"object_name": "Hat", "material_name": "Felt"}),
    );
    assert_eq!(
        report,
        json!({"object": "Hat", "material": "Felt", "color": [0.8, 0.8, 0.8, 1.0]})
    );
    own.fails(
        "blender_set_material",
        json!({"object_name": "Light"}),
        &["The object Light is of the type LIGHT, which has no material"],
    );
}

#[test]
fn a_name_is_a_name_whatever_is_in_it() {
    let Some(own) = Studio::new("blender_scene hostile names") else {
        return;
    };
    for name in HOSTILE {
        let report = own.change(
            "blender_create_object",
            json!({"object_type": "cube", "name": name}),
        );
        assert_eq!(report["name"], name);
        let report = own.change(
            "blender_modify_object",
            json!({"object_name": name, "location": [1, 1, 1]}),
        );
        assert_eq!(report["name"], name);
        let report = own.change(
            "blender_set_material",
            json!({"object_name": name, "material_name": name}),
        );
        assert_eq!(report["material"], name);
        assert_eq!(
            own.scene.objects()[name]["location"],
            json!([1.0, 1.0, 1.0])
        );
        let report = own.change("blender_delete_object", json!({"object_name": name}));
        assert_eq!(report, json!({"deleted": name}));
    }
    assert_eq!(own.scene.objects().as_object().unwrap().len(), 3);
    for request in own.peer.requests() {
        assert!(request["params"]["code"].as_str().unwrap().is_ascii());
    }
}

#[test]
fn other_output_of_blender_does_not_hide_the_report() {
    for (printed, expected) in [
        (
            "depsgraph updated\n{\"name\": \"Cube\"}\nsaved [1]\n",
            Ok("\"name\": \"Cube\""),
        ),
        ("updated\n", Err("did not say what it did")),
        ("", Err("a form that is not known")),
    ] {
        let peer = Peer::with_result(&json!({"executed": true, "result": printed}));
        let marvin = Home::new();
        let run = marvin
            .marvin()
            .args(["tool", "blender_delete_object", "object_name=Cube"]);
        let done = peer.named_to(run).run();
        match expected {
            Ok(says) => success_text(done, &[]).assert_has(&[says]),
            Err(says) => error_text(done, &[]).assert_has(&[says]),
        }
    }
}
