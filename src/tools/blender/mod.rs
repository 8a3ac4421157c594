//! Module `blender`: objects and materials of the scene that is open in Blender, through the socket of the add-on BlenderMCP
//! (<https://github.com/ahujasid/blender-mcp>).
//!
//! The add-on has had no commands that change a scene since April 2025, but one that runs Python. What changes something here is therefore a Python
//! text of our own ([`edit`]), which the add-on runs.

mod add_on;
mod check;
mod edit;
mod screenshot;

use serde_json::{Value, json};

use crate::base::params::choice;
use crate::base::problem::{Outcome, Problem, not_empty};
use crate::tools::engine::approval::ApprovalRequest;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::{MEMORY, OUTSIDE, PROGRAMS, READ};
use add_on::{AddOn, CODE_LIMIT, Command, LIMIT};
pub(crate) use check::check;

// The limits of the calls are those of the add-on's replies, and a little more for connecting.
tools! { "blender";
    /// Describe the open scene.
    blender_get_scene(BlenderGetScene; READ.seconds(35).service("blender-mcp").planned_never()) {
    } => get_scene, says ["show the blender scene", "blender scene"];

    /// Describe one object.
    blender_get_object(BlenderGetObject; READ.seconds(35).service("blender-mcp").planned_never()) {
        /// object
        object_name: String, example: "Cube", alias: &["name", "object"];
    } => get_object, says ["show the blender object {object_name}"];

    /// Add a primitive.
    blender_create_object(BlenderCreateObject; OUTSIDE.seconds(35).service("blender-mcp").additive().open_world(false)) {
        /// primitive
        object_type: Primitive, example: "cube", alias: &["type", "primitive"];
        /// object name
        name: String = "", example: "Table top", alias: &["object_name"];
        /// XYZ
        location: Vec<f64> = [0, 0, 0], alias: &["position"];
        /// XYZ
        scale: Vec<f64> = [1, 1, 1];
        /// XYZ in radians
        rotation: Vec<f64> = [0, 0, 0];
    } => create_object;

    /// Move, scale or rotate.
    blender_modify_object(BlenderModifyObject; OUTSIDE.seconds(35).service("blender-mcp").idempotent().open_world(false)) {
        /// object
        object_name: String, example: "Cube", alias: &["name", "object"];
        /// XYZ
        location: Option<Vec<f64>>, example: "[0, 0, 2]", alias: &["position"];
        /// XYZ
        scale: Option<Vec<f64>>;
        /// XYZ in radians
        rotation: Option<Vec<f64>>;
    } => modify_object;

    /// Delete an object.
    blender_delete_object(BlenderDeleteObject; OUTSIDE.seconds(35).service("blender-mcp").idempotent().open_world(false)) {
        /// object
        object_name: String, example: "Cube", alias: &["name", "object"];
    } => delete_object;

    /// Set colour or material.
    blender_set_material(BlenderSetMaterial; OUTSIDE.seconds(35).service("blender-mcp").idempotent().open_world(false)) {
        /// object
        object_name: String, example: "Cube", alias: &["name", "object"];
        /// material
        material_name: String = "", alias: &["material"];
        /// RGBA 0-1
        color: Option<Vec<f64>> = [0.8, 0.8, 0.8, 1.0], example: "[0.8, 0.1, 0.1, 1.0]", alias: &["colour", "rgba"];
    } => set_material;

    /// Run Python in Blender.
    blender_execute_code(BlenderExecuteCode; PROGRAMS.seconds(185).saves_files().slow().service("blender-mcp")) {
        /// Python source
        code: String, example: "print(len(bpy.data.objects))", alias: &["python", "script"];
    } => execute_code;

    /// Capture the viewport.
    blender_screenshot(BlenderScreenshot; MEMORY.seconds(35).service("blender-mcp")) {
        /// longest side in pixels
        max_size: u32 = 512, min: 1, alias: &["size"];
    } => take_screenshot, says ["take a blender screenshot", "capture the blender viewport"];
}

choice! {
    /// What can be added.
    pub(crate) enum Primitive {
        Cube = "cube",
        Sphere = "sphere",
        Cylinder = "cylinder",
        Cone = "cone",
        Torus = "torus",
        Plane = "plane",
        UvSphere = "uv_sphere",
        IcoSphere = "ico_sphere",
    }
}

/// Longest code in bytes.
const MAX_CODE_BYTES: usize = 1 << 20;

fn get_scene(ctx: &ToolContext, _: BlenderGetScene) -> Outcome<String> {
    let add_on = AddOn::new(&ctx.session.env)?;
    let scene = add_on.ask(Command::SceneInfo, &json!({}), LIMIT, &ctx.stop)?;
    Ok(pretty(&scene))
}

fn get_object(ctx: &ToolContext, args: BlenderGetObject) -> Outcome<String> {
    let name = object_name(&args.object_name)?;
    let add_on = AddOn::new(&ctx.session.env)?;
    let params = json!({"name": name});
    let object = add_on.ask(Command::ObjectInfo, &params, LIMIT, &ctx.stop)?;
    Ok(pretty(&object))
}

fn create_object(ctx: &ToolContext, args: BlenderCreateObject) -> Outcome<String> {
    let primitive = match args.object_type {
        Primitive::Cube => "cube",
        Primitive::Sphere | Primitive::UvSphere => "uv_sphere",
        Primitive::IcoSphere => "ico_sphere",
        Primitive::Cylinder => "cylinder",
        Primitive::Cone => "cone",
        Primitive::Torus => "torus",
        Primitive::Plane => "plane",
    };
    let name = match args.name.trim() {
        "" => Value::Null,
        name => object_name(name)?.into(),
    };
    let parameters = json!({
        "action": "create",
        "primitive": primitive,
        "name": name,
        "location": edit::vector("location", args.location)?,
        "scale": edit::scale(args.scale)?,
        "rotation": edit::vector("rotation", args.rotation)?,
    });
    edit::run(ctx, &parameters).map(|created| pretty(&created))
}

fn modify_object(ctx: &ToolContext, args: BlenderModifyObject) -> Outcome<String> {
    let name = object_name(&args.object_name)?;
    let vector = |what, numbers: Option<Vec<f64>>| {
        numbers
            .map(|numbers| edit::vector(what, numbers))
            .transpose()
    };
    let (location, rotation) = (
        vector("location", args.location)?,
        vector("rotation", args.rotation)?,
    );
    let scale = args.scale.map(edit::scale).transpose()?;
    if location.is_none() && rotation.is_none() && scale.is_none() {
        return Err(Problem::input("There is nothing to change.")
            .next("Give a location, a scale or a rotation, each as [x, y, z]."));
    }
    let parameters = json!({
        "action": "modify",
        "name": name,
        "location": location,
        "scale": scale,
        "rotation": rotation,
    });
    edit::run(ctx, &parameters).map(|modified| pretty(&modified))
}

fn delete_object(ctx: &ToolContext, args: BlenderDeleteObject) -> Outcome<String> {
    let name = object_name(&args.object_name)?;
    let parameters = json!({"action": "delete", "name": name});
    edit::run(ctx, &parameters).map(|deleted| pretty(&deleted))
}

fn set_material(ctx: &ToolContext, args: BlenderSetMaterial) -> Outcome<String> {
    let name = object_name(&args.object_name)?;
    let material = match args.material_name.trim() {
        "" => Value::Null,
        name => object_name(name)?.into(),
    };
    // Without a colour a material that exists keeps its own.
    let color = args.color.map(edit::color).transpose()?;
    let parameters = json!({
        "action": "material",
        "name": name,
        "material": material,
        "color": color,
        "new_color": edit::DEFAULT_COLOR,
    });
    edit::run(ctx, &parameters).map(|material| pretty(&material))
}

fn execute_code(ctx: &ToolContext, args: BlenderExecuteCode) -> Outcome<String> {
    let example = "For example: print([o.name for o in bpy.data.objects])";
    not_empty("code", &args.code, example)?;
    if args.code.len() > MAX_CODE_BYTES {
        return Err(Problem::limit(format!(
            "The code is longer than {} KB.",
            MAX_CODE_BYTES / 1024
        ))
        .next("Send it in parts, or have Blender read it from a file."));
    }
    let add_on = AddOn::new(&ctx.session.env)?;
    ctx.approve(ApprovalRequest::new(
        "Run this Python code in Blender?",
        "run this Python code in Blender",
        &args.code,
    ))?;
    let params = json!({"code": args.code});
    let ran = add_on.ask(Command::ExecuteCode, &params, CODE_LIMIT, &ctx.stop)?;
    Ok(pretty(&ran))
}

fn take_screenshot(ctx: &ToolContext, args: BlenderScreenshot) -> Outcome<String> {
    screenshot::take(ctx, args.max_size)
}

/// The name of an object or a material. Blender reads names up to a NUL, so that one with a NUL would name another object.
fn object_name(name: &str) -> Outcome<&str> {
    if name.is_empty() || name.contains('\0') {
        return Err(
            Problem::input("The name is empty or contains a NUL character.")
                .next("blender_get_scene lists the objects."),
        );
    }
    Ok(name)
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::base::problem::ProblemKind;

    #[test]
    fn code_beyond_the_limit_is_refused_before_blender_is_asked() {
        let ctx = ToolContext::for_tests(Env::default());
        let code = "#".repeat(MAX_CODE_BYTES + 1);
        let problem = execute_code(&ctx, BlenderExecuteCode { code }).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Limit);
    }
}
