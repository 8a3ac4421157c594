import contextlib
import json

import bpy
import mathutils


def find_object(name):
    found = bpy.data.objects.get(name)
    if found is None:
        raise ValueError("Object not found: " + name)
    return found


def clipped(name, max_bytes=63):
    # The longest name that Blender stores.
    return name.encode()[:max_bytes].decode(errors="ignore")


def free_name(wanted, created):
    # Blender would rename the object that has the name already, and not the new one.
    name = clipped(wanted)
    number = 0
    while bpy.data.objects.get(name) not in (None, created):
        number += 1
        suffix = ".%03d" % number
        name = clipped(wanted, 63 - len(suffix)) + suffix
    return name


def require_object_mode(found):
    # In another mode a primitive becomes part of the object that is edited, and its removal pulls it from under the editor.
    if found is not None and found.mode != "OBJECT":
        raise ValueError(
            "The object " + found.name + " is in the mode " + found.mode
            + ": go back to object mode first (Tab in the viewport)"
        )


def set_rotation(found, angles):
    turned = mathutils.Euler(angles).to_quaternion()
    if found.rotation_mode == "QUATERNION":
        found.rotation_quaternion = turned
    elif found.rotation_mode == "AXIS_ANGLE":
        axis, angle = turned.to_axis_angle()
        found.rotation_axis_angle = (angle, axis[0], axis[1], axis[2])
    else:
        found.rotation_euler = angles


def rounded(numbers):
    # Adding zero makes -0.0 a 0.0.
    return [round(number, 5) + 0.0 for number in numbers]


def described(found):
    if found.rotation_mode in ("QUATERNION", "AXIS_ANGLE"):
        rotation = found.matrix_basis.to_euler()
    else:
        rotation = found.rotation_euler
    return {
        "name": found.name,
        "type": found.type,
        "location": rounded(found.location),
        "rotation": rounded(rotation),
        "scale": rounded(found.scale),
    }


def create(wanted):
    objects = bpy.context.view_layer.objects
    require_object_mode(objects.active)
    add = getattr(bpy.ops.mesh, "primitive_" + wanted["primitive"] + "_add")
    add(location=wanted["location"], rotation=wanted["rotation"])
    created = objects.active
    created.scale = wanted["scale"]
    if wanted["name"] is not None:
        created.name = free_name(wanted["name"], created)
    return described(created)


def modify(wanted):
    found = find_object(wanted["name"])
    if wanted["location"] is not None:
        found.location = wanted["location"]
    if wanted["scale"] is not None:
        found.scale = wanted["scale"]
    if wanted["rotation"] is not None:
        set_rotation(found, wanted["rotation"])
    return described(found)


def delete(wanted):
    found = find_object(wanted["name"])
    require_object_mode(found)
    name = found.name
    bpy.data.objects.remove(found, do_unlink=True)
    return {"deleted": name}


def material(wanted):
    found = find_object(wanted["name"])
    if getattr(found.data, "materials", None) is None:
        raise ValueError("The object " + found.name + " is of the type " + found.type + ", which has no material")
    color = wanted["color"]
    chosen = found.active_material
    if wanted["material"] is not None:
        chosen = bpy.data.materials.get(clipped(wanted["material"]))
    elif chosen is not None and chosen.users > 1:
        # Other objects keep their colour.
        chosen = None
    if chosen is None:
        chosen = bpy.data.materials.new(wanted["material"] or "Material")
        color = color or wanted["new_color"]
    elif wanted["material"] is None:
        color = color or wanted["new_color"]
    found.active_material = chosen
    report = {"object": found.name, "material": chosen.name}
    if color is not None:
        chosen.use_nodes = True
        chosen.diffuse_color = color
        shaders = [node for node in chosen.node_tree.nodes if node.type == "BSDF_PRINCIPLED"]
        for shader in shaders:
            shader.inputs["Base Color"].default_value = color
        if not shaders:
            report["note"] = "Only the colour in the viewport is set: the material has no Principled BSDF node."
        elif any(shader.inputs["Base Color"].is_linked for shader in shaders):
            report["note"] = "A texture or another node is connected to Base Color and hides the colour."
    report["color"] = rounded(chosen.diffuse_color)
    return report


wanted = json.loads(PARAMETERS)
actions = {"create": create, "modify": modify, "delete": delete, "material": material}
report = actions[wanted["action"]](wanted)
with contextlib.suppress(RuntimeError):
    # One step for the user's Ctrl-Z.
    bpy.ops.ed.undo_push(message="Marvin: " + wanted["action"])
print(json.dumps(report))
