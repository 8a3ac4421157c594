#!/bin/sh
# Puts OSRM's programs and the map of a small invented town into a folder, prepared for cars, bicycles and pedestrians, for the tests
# that use a real routing server. Nothing is installed on the system:
#   MARVIN_OSRM="$(scripts/osrm.sh)" cargo test --test suite osrm::
set -eu
dir=${1:-${TMPDIR:-/tmp}/marvin-osrm}
mkdir -p "$dir"
cd "$dir"
if [ ! -x osrm/bin/osrm-routed ]; then
    # The wheel is for newer Pythons than some systems have, but the programs in it need none.
    {
        [ -x venv/bin/pip ] || python3 -m venv venv
        venv/bin/pip -q download --python-version 3.12 --only-binary=:all: --no-deps osrm-bindings -d wheel
        python3 -m zipfile -e wheel/osrm_bindings-*.whl .
        chmod +x osrm/bin/*
    } >&2
fi

# A town on a grid of thousandths of a degree from 46 north, 8 east: x to the east, y to the north.
{
    echo '<osm version="0.6">'
    awk '{ printf "<node id=\"%d\" version=\"1\" lat=\"%.4f\" lon=\"%.4f\"/>\n", $1, 46 + $3 / 1000, 8 + $2 / 1000 }' <<NODES
1 0 0
2 4 0
3 8 0
5 12 5
6 17 0
7 12 -5
8 17 4
9 14 4
10 20 4
11 33 5
12 36 5
13 6 3
21 11 0
22 12 1
23 13 0
24 12 -1
31 21 2
32 22 4
33 30 6
34 40 8
41 60 60
42 64 60
51 50 -20
52 50 -24
NODES
    way=100
    road() { # nodes, then tags
        way=$((way + 1))
        echo "<way id=\"$way\" version=\"1\">"
        for node in $1; do echo "<nd ref=\"$node\"/>"; done
        shift
        for tag in "$@"; do echo "<tag k=\"${tag%%=*}\" v=\"${tag#*=}\"/>"; done
        echo '</way>'
    }
    road "1 2 3 21" highway=residential "name=Main Street"
    road "21 24 23 22 21" highway=secondary junction=roundabout
    road "22 5" highway=residential "name=North Road"
    road "23 6" highway=primary "ref=B 7"
    road "24 7" highway=unclassified
    road "6 8" highway=residential "name=Station Road"
    road "9 8 10" highway=residential "name=Cross Street"
    road "1 13 5" highway=footway "name=Meadow Path"
    road "2 7" highway=cycleway "name=Canal Cycleway"
    road "10 32" highway=motorway_link oneway=yes
    road "31 32 33" highway=motorway oneway=yes "ref=A 9"
    road "33 34" highway=motorway oneway=yes "ref=A 9"
    road "33 11" highway=motorway_link oneway=yes "destination=Farville"
    road "11 12" highway=tertiary "name=Far Street"
    road "12 51" route=ferry "name=Lake Ferry" duration=00:20 motor_vehicle=yes bicycle=yes foot=yes
    road "51 52" highway=residential "name=Harbour Lane"
    road "41 42" highway=residential "name=Island Street"
    echo '</osm>'
} > town.new
if ! cmp -s town.new town.osm || [ ! -e foot/ready ]; then
    mv town.new town.osm
    for profile in car bicycle foot; do
        rm -rf "$profile" && mkdir "$profile" && cp town.osm "$profile/"
        {
            osrm/bin/osrm-extract -t 1 -p "osrm/share/profiles/$profile.lua" "$profile/town.osm"
            osrm/bin/osrm-partition -t 1 "$profile/town.osrm"
            osrm/bin/osrm-customize -t 1 "$profile/town.osrm"
        } > "$profile/log" 2>&1 || { cat "$profile/log" >&2; exit 1; }
        touch "$profile/ready"
    done
fi
rm -f town.new
echo "$dir"
