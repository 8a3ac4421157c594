#!/bin/sh
# Runs Marvin's Blender tools with a real Blender on a virtual display, prints what they say and checks what came of it:
#   cargo build --release && scripts/blender.sh
# Needs Debian's packages blender, xvfb and xauth (as root: scripts/blender.sh install). MARVIN names another binary.
# In place of the add-on BlenderMCP Blender runs scripts/blender_add_on.py. With BLENDER_MCP_PORT set, the Blender that listens there is used, with
# its own add-on; it must show the scene that it starts with, which is changed.
set -eu
if [ "${1:-}" = install ]; then
    exec apt-get install -y --no-install-recommends blender xvfb xauth
fi
root=$(cd "$(dirname "$0")/.." && pwd)
marvin=${MARVIN:-$root/target/release/marvin}
[ -x "$marvin" ] || { echo "There is no $marvin; build it: cargo build --release" >&2; exit 1; }
work=$(mktemp -d)
group=
end() {
    [ -z "$group" ] || kill -- "-$group" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM
export HOME="$work" MARVIN_CONFIG_DIR="$work/config"
cd "$work"
if [ -z "${BLENDER_MCP_PORT:-}" ]; then
    export BLENDER_MCP_PORT=9976
    blender --version | head -1
    LIBGL_ALWAYS_SOFTWARE=1 setsid xvfb-run -a blender -noaudio --factory-startup \
        --python "$root/scripts/blender_add_on.py" -- "$BLENDER_MCP_PORT" >"$work/blender.log" 2>&1 &
    group=$!
fi

check() { echo '!blender' | "$marvin" --plain --provider offline >"$work/said" 2>&1 && grep -qF "with 3 objects" "$work/said"; }
tries=0
# While it starts, Blender answers and then draws for a while.
until check && check && check; do
    tries=$((tries + 1))
    [ "$tries" -lt 120 ] || { echo "Blender does not answer." >&2; cat "$work/said" "$work/blender.log" >&2; exit 1; }
    sleep 0.5
done

# fine WORDS TOOL ARGUMENTS: succeeds and says WORDS. fails: the same for an error.
fine() { try 0 "$@"; }
fails() { try 1 "$@"; }
try() {
    status=$1 words=$2
    shift 2
    printf '\n$ marvin tool %s\n' "$*"
    got=0
    "$marvin" tool "$@" >"$work/said" 2>&1 || got=$?
    cat "$work/said"
    [ "$got" = "$status" ] || { echo "FAILED: status $got instead of $status" >&2; exit 1; }
    grep -qF -- "$words" "$work/said" || { echo "FAILED: it does not say: $words" >&2; exit 1; }
}

printf '\n!blender\n'
tail -1 "$work/said"
"$marvin" doctor | grep -F "program    blender"

fine '"object_count": 3' blender_get_scene
for kind in cube sphere cylinder cone torus plane uv_sphere ico_sphere; do
    fine "\"name\": \"My $kind\"" blender_create_object object_type=$kind "name=My $kind" location=0,0,3 scale=0.5
done
# A name that is taken stays where it is.
fine '"name": "Cube.001"' blender_create_object --json '{"object_type": "cube", "name": "Cube", "rotation": [0.5, 0, 0]}'
fine '"vertices": 8' blender_get_object object_name=Cube
fine '0.25' blender_modify_object object_name=Cube location=1,2,0.25 rotation=0,0,1.5
fine '"type": "LIGHT"' blender_modify_object object_name=Light scale=2
fine '"material": "Material"' blender_set_material object_name=Cube color=0.8,0.1,0.1
fine '"material": "Felt"' blender_set_material object_name=Cube.001 material_name=Felt
fine '"Felt"' blender_get_object object_name=Cube.001
fails 'has no material' blender_set_material object_name=Light
hostile='{"object_type": "cone", "name": "it'\''s \"\"\" \\ \n\t'\'''\'''\'' é😀"}'
fine '😀' blender_create_object --json "$hostile"
fine '"deleted"' blender_delete_object --json '{"object_name": "it'\''s \"\"\" \\ \n\t'\'''\'''\'' é😀"}'
fine '"deleted": "Cube.001"' blender_delete_object object_name=Cube.001
fails 'Object not found: Cube.001' blender_delete_object object_name=Cube.001
fine '"executed": true' blender_execute_code 'code=print(bpy.app.version_string, len(bpy.data.objects))'
fails 'division by zero' blender_execute_code code=1/0
# Objects whose rotation is a quaternion turn too.
fine '' blender_execute_code 'code=bpy.data.objects["Camera"].rotation_mode = "QUATERNION"'
fine '0.5' blender_modify_object object_name=Camera rotation=0,0,0.5
fine '0.968' blender_execute_code 'code=print(list(bpy.data.objects["Camera"].rotation_quaternion))'
# In edit mode a primitive would become part of the edited object.
fine '' blender_execute_code 'code=bpy.context.view_layer.objects.active = bpy.data.objects["Cube"]; bpy.ops.object.mode_set(mode="EDIT")'
fails 'go back to object mode' blender_create_object object_type=cube
fails 'go back to object mode' blender_delete_object object_name=Cube
fine '' blender_execute_code 'code=bpy.ops.object.mode_set(mode="OBJECT")'
# What a tool changes is one step back for the user.
fine '"My step"' blender_create_object object_type=cube 'name=My step'
fine '' blender_execute_code 'code=bpy.ops.ed.undo()'
fails 'Object not found' blender_get_object 'object_name=My step'
fine "'Felt'" blender_execute_code 'code=print([m.name for m in bpy.data.materials])'
fine '200 x' blender_screenshot max_size=200
picture=$(sed -n 's/^The picture is //p' "$work/said")
[ -s "$picture" ] && [ "$(find "$work/.cache/marvin/blender" -mindepth 1 | wc -l)" = 1 ]
# A Blender that is busy longer than the caller waits.
printf '\n$ timeout 2 marvin tool blender_execute_code code="import time; time.sleep(5)"\n'
timeout -s INT 2 "$marvin" tool blender_execute_code 'code=import time; time.sleep(5)' || echo "status $?"
fine '"object_count"' blender_get_scene
printf '\nAll of it worked.\n'
