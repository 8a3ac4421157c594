# Answers as the add-on BlenderMCP does on its socket, for scripts/blender.sh: to try Marvin's tools with a real Blender where the add-on
# itself cannot be fetched. Written from the protocol; no part of it is the add-on's.
#
# Run by Blender: blender --factory-startup --python scripts/blender_add_on.py -- PORT
import contextlib
import io
import json
import queue
import socket
import sys
import threading

import bpy
import mathutils

requests = queue.Queue()


def scene():
    names = bpy.context.scene
    return {
        "name": names.name,
        "object_count": len(names.objects),
        "objects": [
            {"name": o.name, "type": o.type, "location": [round(part, 2) for part in o.location]}
            for o in names.objects[:10]
        ],
        "materials_count": len(bpy.data.materials),
    }


def object_info(name):
    found = bpy.data.objects.get(name)
    if found is None:
        raise ValueError("Object not found: " + name)
    info = {
        "name": found.name,
        "type": found.type,
        "location": list(found.location),
        "rotation": list(found.rotation_euler),
        "scale": list(found.scale),
        "visible": found.visible_get(),
        "materials": [slot.material.name for slot in found.material_slots if slot.material],
    }
    if found.type == "MESH":
        corners = [found.matrix_world @ mathutils.Vector(corner) for corner in found.bound_box]
        info["world_bounding_box"] = [[f(axis) for axis in zip(*corners)] for f in (min, max)]
        info["mesh"] = {
            "vertices": len(found.data.vertices),
            "edges": len(found.data.edges),
            "polygons": len(found.data.polygons),
        }
    return info


def execute(code):
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(code, {"bpy": bpy})
    except Exception as error:
        raise Exception("Code execution error: " + str(error))
    return {"executed": True, "result": printed.getvalue()}


def screenshot(max_size=800, filepath=None, format="png"):
    if not filepath:
        return {"error": "No filepath provided"}
    window = bpy.context.window_manager.windows[0]
    area = next((area for area in window.screen.areas if area.type == "VIEW_3D"), None)
    if area is None:
        return {"error": "No 3D viewport found"}
    with bpy.context.temp_override(window=window, area=area):
        bpy.ops.screen.screenshot_area(filepath=filepath)
    picture = bpy.data.images.load(filepath)
    width, height = picture.size
    if max(width, height) > max_size:
        factor = max_size / max(width, height)
        width, height = max(1, int(width * factor)), max(1, int(height * factor))
        picture.scale(width, height)
        picture.file_format = format.upper()
        picture.save()
    bpy.data.images.remove(picture)
    return {"success": True, "width": width, "height": height, "filepath": filepath, "method": "screenshot_area"}


commands = {
    "get_scene_info": scene,
    "get_object_info": lambda name: object_info(name),
    "execute_code": lambda code: execute(code),
    "get_viewport_screenshot": screenshot,
}


def answer(request):
    command = commands.get(request.get("type"))
    if command is None:
        return {"status": "error", "message": "Unknown command type: " + str(request.get("type"))}
    try:
        return {"status": "success", "result": command(**request.get("params", {}))}
    except Exception as error:
        return {"status": "error", "message": str(error)}


def serve(client):
    # One JSON object and nothing after it, in both directions; the connection stays open.
    received = b""
    while True:
        piece = client.recv(8192)
        if not piece:
            return
        received += piece
        try:
            request = json.loads(received.decode("utf-8"))
        except json.JSONDecodeError:
            continue
        received = b""
        requests.put((request, client))


def listen(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("localhost", port))
    listener.listen(1)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


def work():
    # Blender's data may be touched only by its main thread, which calls this.
    while not requests.empty():
        request, client = requests.get()
        reply = json.dumps(answer(request)).encode("utf-8")
        with contextlib.suppress(OSError):
            client.sendall(reply)
    return 0.02


port = int(sys.argv[sys.argv.index("--") + 1])
threading.Thread(target=listen, args=(port,), daemon=True).start()
bpy.app.timers.register(work, persistent=True)
