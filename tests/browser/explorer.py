"""The table of a page, as tests use it: only rows near its window are in the page."""

ROWS = ".explorer tbody tr[data-place]"


def group(opened, by):
    opened.locator(f"[data-group-by={by}]").dispatch_event("click")  # wherever it moves as the page is laid out


def rows_with(opened, name):
    return opened.locator(ROWS, has_text=name)


def whole_names(opened, rows=ROWS):
    """Names in full, as on hover, without what stands below them there."""
    titles = opened.locator(f"{rows} th").evaluate_all("heads => heads.map(head => head.title)")
    return [title.split("\n")[0] for title in titles]


def column(opened, title):
    heads = opened.locator(".explorer thead th").all_text_contents()
    place = [head.strip() for head in heads].index(title) + 1
    return opened.locator(f"{ROWS} > :nth-child({place}) .value").all_text_contents()
