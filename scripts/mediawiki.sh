#!/bin/sh
# A MediaWiki with a few pages on loopback, for the tests that use a real one; it runs until this script ends:
#   scripts/mediawiki.sh & MARVIN_TEST_MEDIAWIKI=http://127.0.0.1:8085 cargo test --test suite wiki::
# Needs Debian's packages: mediawiki php-cli php-sqlite3 php-intl php-mbstring php-xml (as root: scripts/mediawiki.sh install).
set -eu
if [ "${1:-}" = install ]; then
    exec apt-get install -y --no-install-recommends mediawiki php-cli php-sqlite3 php-intl php-mbstring php-xml
fi
port=${MARVIN_MEDIAWIKI_PORT:-8085}
dir=${TMPDIR:-/tmp}/marvin-mediawiki-$port
code=/usr/share/mediawiki
[ -f "$code/maintenance/install.php" ] || { echo "MediaWiki is not installed; try: scripts/mediawiki.sh install" >&2; exit 1; }
rm -rf "$dir"
mkdir -p "$dir/data" "$dir/root"
ln -s "$code" "$dir/root/w"
export MW_CONFIG_FILE="$dir/LocalSettings.php"
php "$code/maintenance/install.php" --dbtype sqlite --dbpath "$dir/data" --dbname wiki --confpath "$dir" --scriptpath /w \
    --server "http://127.0.0.1:$port" --with-extensions=TextExtracts --pass "a-long-test-passphrase-1" "Marvin's wiki" Admin >&2
grep -q TextExtracts "$MW_CONFIG_FILE" || echo "wfLoadExtension( 'TextExtracts' );" >>"$MW_CONFIG_FILE"
{
    echo "\$wgArticlePath = '/wiki/\$1';"
    # A disambiguation page; the extension that marks such pages is not in Debian.
    echo "\$wgHooks['ParserBeforeInternalParse'][] = function ( \$parser, &\$text ) {"
    echo "    if ( strpos( \$text, 'could mean several things' ) !== false ) { \$parser->getOutput()->setProperty( 'disambiguation', '' ); }"
    echo "};"
} >>"$MW_CONFIG_FILE"
page() { php "$code/maintenance/edit.php" -u Admin -s test "$1" >&2; }
page "Tide mill" <<'TEXT'
A '''tide mill''' is a mill whose wheel is turned by the [[tide]]. It stands at a ''dam'' & a pond.

== History ==
The oldest one known stood at [[Nendrum]] in the year 619.

== Use ==
It grinds grain twice a day, while the water <nowiki><falls></nowiki>.
TEXT
page "Tidemill" <<'TEXT'
#REDIRECT [[Tide mill]]
TEXT
page "Mill" <<'TEXT'
'''Mill''' could mean several things:
* [[Tide mill]]
* [[Windmill]]
TEXT
page "Windmill" <<'TEXT'
A '''windmill''' is a mill whose sails are turned by the wind.
TEXT
page "Köln/Mühle 水車" <<'TEXT'
Die '''Mühle''' heißt auch 水車 und мельница.
TEXT
php "$code/maintenance/runJobs.php" >/dev/null
echo "http://127.0.0.1:$port" >"$dir/ready"
echo "ready: http://127.0.0.1:$port" >&2
exec php -S "127.0.0.1:$port" -t "$dir/root"
