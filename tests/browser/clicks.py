"""Clicks on what may still move: figures are drawn as they come near, and what lies below them is laid out anew."""


def draw(opened, figure="[data-figure]"):
    """Bring figures into view one by one, which draws them; those in closed parts stay undrawn."""
    for plot in [each for each in opened.locator(figure).all() if each.is_visible()]:
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for()


def find_rest(located):
    """Where something lies when it has not moved for a second: figures are drawn above it, and sections laid out."""
    found = [located.bounding_box()["y"]]
    for _ in range(100):
        located.page.wait_for_timeout(100)
        found.append(located.bounding_box()["y"])
        if len(found) > 10 and len({*found[-10:]}) == 1:
            break
    return found[-1]


def click_middle(located):
    """Click in the middle of something, wherever it is."""
    box = located.bounding_box()
    located.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
