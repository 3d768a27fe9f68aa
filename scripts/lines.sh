#!/usr/bin/env bash
# Counts the lines of code that one provider costs: here, in Airbyte's connectors
# and in Singer's taps, and prints them as Markdown for docs/connectors.md:
#
#   scripts/lines.sh
#
# A line counts that is neither blank nor comment; a docstring of Python is
# comment. Of this repository, a connector's files without its tests, or its
# provider file; of a package, the Python of the connector itself and its
# manifest.yaml. What is counted nowhere: tests, generated files, packaging, JSON
# schemas, and what all connectors share (the engine, airbyte-cdk, singer-python).
# Schemas that stand in a manifest have a column of their own, as do the streams.
#
# rclone has no column: its back ends are file stores (its backend/all/all.go), and
# none is of these providers.
#
# It needs Python with pip and venv, and the Python Package Index. pip runs the
# setup.py of a package that has no wheel. All is done in a temporary folder,
# which is removed.
set -euo pipefail
cd "$(dirname "$0")/.."

# Each provider, with the package of Airbyte and that of Singer; "-" where the
# index has none.
table='
github           airbyte-source-github==2.7.1   tap-github==4.0.0
stripe           airbyte-source-stripe==5.14.1  tap-stripe==3.3.0
google_calendar  -                              -
strava           airbyte-source-strava==0.2.17  tap-strava==0.0.1
shopify          airbyte-source-shopify==4.3.0  tap-shopify==3.13.0
slack            airbyte-source-slack==3.0.0    tap-slack==1.1.2
notion           airbyte-source-notion==3.2.0   -
gitea            -                              -
gitlab           airbyte-source-gitlab==4.3.7   tap-gitlab==1.0.1
hubspot          airbyte-source-hubspot==5.7.0  tap-hubspot==4.5.0
jira             airbyte-source-jira==4.0.0     tap-jira==2.6.0
hacker_news      -                              -
miniflux         -                              -
pocketbase       -                              -
'

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

python3 -m venv "$scratch/venv" >&2
python=$scratch/venv/bin/python
"$python" -m pip --quiet --no-cache-dir install pyyaml==6.0.2 >&2

while read -r provider airbyte singer; do
	[ -n "$provider" ] || continue
	for package in "$airbyte" "$singer"; do
		[ "$package" != - ] || continue
		printf 'lines.sh: %s\n' "$package" >&2
		# A connector may ask for another Python than this one: it is read, not run.
		"$python" -m pip --quiet --no-cache-dir download --no-deps --ignore-requires-python \
			--dest "$scratch/packages/$package" "$package" </dev/null >&2
	done
done <<<"$table"

cat >"$scratch/count.py" <<'PYTHON'
import ast, email, io, pathlib, re, shutil, sys, tokenize
import yaml

packages = pathlib.Path(sys.argv[1])


def counted(text, lines):
    """How many of the lines, by number from 0, are not blank."""
    split = text.split("\n")
    return sum(1 for n in lines if n < len(split) and split[n].strip())


def go(text):
    if re.search(r"^// Code generated .* DO NOT EDIT\.$", text, re.M):
        return 0
    pattern = r"""//[^\n]*|/\*.*?\*/|`[^`]*`|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    comment = lambda m: re.sub(r"[^\n]", "", m[0]) if m[0][0] == "/" else m[0]
    bare = re.sub(pattern, comment, text, flags=re.S)
    return counted(bare, range(bare.count("\n") + 1))


def python(text):
    code = set()
    for t in tokenize.generate_tokens(io.StringIO(text).readline):
        if t.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
            code.update(range(t.start[0] - 1, t.end[0]))
    for n in ast.walk(ast.parse(text)):  # docstrings, and other texts that are statements
        if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) and isinstance(n.value.value, str):
            code.difference_update(range(n.lineno - 1, n.end_lineno))
    return counted(text, code)


def span(start, end):
    """The lines from a mark up to another one, which is behind the last character."""
    return range(start.line, max(end.line + (end.column > 0), start.line + 1))


def yaml_lines(text):
    code = set()
    for t in yaml.scan(text):
        if t.start_mark.index < t.end_mark.index:
            code.update(span(t.start_mark, t.end_mark))
    return code


def schema_lines(text):
    """The lines of a manifest that are schemas, or notes of the builder's about them."""
    found = set()

    def walk(node):
        if isinstance(node, yaml.SequenceNode):
            for each in node.value:
                walk(each)
        elif isinstance(node, yaml.MappingNode):
            inline = any(k.value == "type" and v.value == "InlineSchemaLoader" for k, v in node.value)
            for k, v in node.value:
                if inline and k.value == "schema" and v.end_mark.line > k.start_mark.line:
                    # A block ends where the next thing begins, so that line is not its own.
                    found.update(range(k.start_mark.line, v.end_mark.line))
                else:
                    walk(v)

    root = yaml.compose(text)
    for k, v in root.value:
        if k.value in ("schemas", "metadata"):
            found.update(range(k.start_mark.line, v.end_mark.line))
        else:
            walk(v)
    return found


def read(path):
    return path.read_text(encoding="utf-8")


def ours(provider):
    file = pathlib.Path("providers", provider + ".yaml")
    if file.exists():
        return counted(read(file), yaml_lines(read(file))), len(yaml.safe_load(read(file))["streams"]), "YAML"
    files = [f for f in pathlib.Path("connectors", provider.replace("_", "")).glob("*.go") if not f.name.endswith("_test.go")]
    # The streams are a table of the provider's page.
    page = read(pathlib.Path("docs", provider + ".md"))
    streams = re.findall(r"^\| `", re.search(r"^## Streams$(.*?)(?=^## |\Z)", page, re.M | re.S)[1], re.M)
    return sum(go(read(f)) for f in files), len(streams), "Go"


def streams_of(folder, manifest):
    if manifest:
        listed = len(yaml.safe_load(read(manifest))["streams"])
        if listed:
            return listed
    names = {"STREAMS", "ALL_STREAMS", "AVAILABLE_STREAMS", "STREAM_SDK_OBJECTS", "stream_instances"}
    for f in sorted(folder.rglob("*.py")):
        for n in ast.walk(ast.parse(read(f))):
            if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) and n.targets[0].id in names:
                elements = n.value.keys if isinstance(n.value, ast.Dict) else getattr(n.value, "elts", [])
                if elements:
                    return len(elements)
    return len(list((folder / "schemas").glob("*.json")))


def theirs(package):
    """The lines of Python, of the manifest without its schemas, of these, and the streams."""
    if package == "-":
        return None
    (archive,) = (packages / package).iterdir()
    unpacked = packages / package / "unpacked"
    shutil.unpack_archive(archive, unpacked, "zip" if archive.suffix == ".whl" else None)
    (folder,) = [f for f in (*unpacked.glob("source_*"), *unpacked.glob("*/tap_*")) if f.is_dir() and "." not in f.name]
    info = email.message_from_string(read(next(f for f in sorted(unpacked.rglob("*")) if f.name in ("METADATA", "PKG-INFO"))))
    publishers[package] = info["Author"] or info["Author-email"]
    code = sum(python(read(f)) for f in folder.rglob("*.py") if not any("test" in p for p in f.relative_to(folder).parts))
    manifest = next(iter(folder.glob("manifest.yaml")), None)
    plain = schemas = 0
    if manifest:
        lines, out = yaml_lines(read(manifest)), schema_lines(read(manifest))
        plain, schemas = counted(read(manifest), lines - out), counted(read(manifest), lines & out)
    spec = folder / "spec.yaml"
    if spec.exists():
        plain += counted(read(spec), yaml_lines(read(spec)))
    streams = streams_of(folder, manifest)
    if not (code and streams):
        sys.exit(f"lines.sh: {package}: {code} lines and {streams} streams: it is laid out in another way than this script knows")
    return code, plain, schemas, streams


def cell(number):
    return f"{number:,}" if number else ""


publishers = {}
print("| provider | syncd | streams | Airbyte | of it Python, YAML | schemas beside | streams | Singer | streams |")
print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
for row in sys.stdin.read().split("\n"):
    if not row.strip():
        continue
    provider, airbyte, singer = row.split()
    lines, streams, language = ours(provider)
    if not (lines and streams):
        sys.exit(f"lines.sh: {provider}: {lines} lines and {streams} streams are found here")
    cells = [f"`{provider}`", f"{lines:,} {language}", str(streams)]
    a = theirs(airbyte)
    cells += [cell(a[0] + a[1]), f"{a[0]:,} + {a[1]:,}", cell(a[2]), cell(a[3])] if a else [""] * 4
    s = theirs(singer)
    cells += [cell(s[0] + s[1]), cell(s[3])] if s else [""] * 2
    print("| " + " | ".join(cells) + " |")
print()
print("Counted by `scripts/lines.sh` in " + ", ".join(f"`{p}` ({who})" for p, who in publishers.items()) + ".")
PYTHON
"$python" "$scratch/count.py" "$scratch/packages" <<<"$table"
