"""Finishes the book that mdBook has built, and checks it.

    tools/book/finish.py target/book

Links to files and folders outside of docs/ lead to pages with their text, which this writes beside the book: the book needs no other address. Every
link must lead to a file, every anchor to an element, every page of docs/ must be in the index of the search. Prints what is wrong, and exits with
status 1 if something is.
"""

import functools
import html
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
# Without those that have the scheme of another address.
LINK = re.compile(r'(?<==")(?P<path>[^"#:]*)(?P<anchor>#[^"]*)?(?=")')
ATTRIBUTE = re.compile(r' (?:href|src)="[^"]*"')


class Ids(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.ids.update(value for name, value in attrs if name in ("id", "name"))


@functools.cache
def ids(page):
    return Ids(page.read_text()).ids


def source(path):
    """Returns the file or folder of the repository that a link leads to; mdBook has replaced `.md` by `.html`."""
    found = [ROOT / path, ROOT / re.sub(r"\.html$", ".md", str(path))]
    return next((each for each in found if each.exists()), None)


def show(found, target):
    """Writes a page with the text of a file, or with links to the files of a folder."""
    title = html.escape(str(found.relative_to(ROOT)))
    if found.is_dir():
        names = sorted(each.name for each in found.iterdir() if each.is_file())
        body = "".join(f'<li><a href="{name}.html">{html.escape(name)}</a>' for name in names)
        for name in names:
            show(found / name, target.parent / f"{name}.html")
    else:
        body = f"<pre>{html.escape(found.read_text(errors='replace'))}</pre>"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{title}</title><h1>{title}</h1>{body}</html>\n')


def finish(book):
    docs = book / "docs"
    problems, outside = [], set()
    for page in sorted(set(docs.rglob("*.html")) - {docs / "404.html"}):  # whose links have no base
        text = page.read_text()

        def link(match):
            """Returns what replaces a link."""
            path, anchor = unquote(match["path"]), unquote((match["anchor"] or "")[1:])
            target = (page.parent / path).resolve() if path else page
            if target.is_relative_to(docs) and target.name == "README.html":  # mdBook renames the pages, but not the links to them
                target = target.with_name("index.html")
                path = path.removesuffix("README.html") + "index.html"
            elif target == docs / "SUMMARY.html":  # which each page has at its side
                show(ROOT / "docs/SUMMARY.md", target)
            elif target.is_relative_to(book) and not target.is_relative_to(docs):
                found = source(target.relative_to(book))
                if found:
                    target = target / "index.html" if found.is_dir() else target.parent / f"{found.name}.html"
                    show(found, target)
            if not target.is_file():
                problems.append(f"{page.relative_to(book)}: {match[0]}: no such file")
                return match[0]
            if not target.is_relative_to(docs):
                outside.add(target)
                return "../" * len(page.relative_to(book).parts[:-1]) + str(target.relative_to(book))
            if anchor and target.suffix == ".html" and anchor not in ids(target):
                problems.append(f"{page.relative_to(book)}: {match[0]}: no such anchor")
            return path + (match["anchor"] or "")

        page.write_text(ATTRIBUTE.sub(lambda attribute: LINK.sub(link, attribute[0]), text))
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")} - {Path("SUMMARY")}
    pages = {f"{page.parent / 'index' if page.name == 'README' else page}.html" for page in pages}
    [index] = docs.glob("searchindex-*.js")
    indexed = set(json.loads(re.search(r'"doc_urls":(\[.*?\])', index.read_text())[1]))
    problems += [f"{page} is not in the search" for page in sorted(pages - {url.split("#")[0] for url in indexed})]
    print(f"{len(pages)} pages, {len(outside)} files beside them, {len(indexed)} sections in the search")
    return problems


if __name__ == "__main__":
    problems = finish(Path(sys.argv[1]).resolve())
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
