"""Write metrics.md, and with it the JSON Schemas, from the frames' schemas: ``python docs/generate_metrics.py``."""

import runpy
from pathlib import Path

from tcprof.frames import NCU_METRICS, SCHEMAS

HEAD = """# The frames and their columns

Generated from `tcprof/frames/` by `docs/generate_metrics.py`. Units stand at the end of a name: `_ns` nanoseconds on
the recording's clock, `_s` seconds, `_pct` percent from 0 to 100, `_hz`, `_w` (watts), `_bytes`,
`_count`. Unknown is NaN, never 0.
"""


def render() -> str:
    """The page as Markdown."""
    parts = [HEAD]
    for schema in SCHEMAS:
        names = {name: f" Nsight Compute: `{metric}`." for name, metric in NCU_METRICS.items()}
        rows = "\n".join(
            f"| `{c.name}` | {c.title} | {c.unit} | {c.dtype} | {c.meaning}{names.get(c.name, '')} |"
            for c in schema.columns
        )
        head = "| column | title | unit | dtype | meaning |\n|---|---|---|---|---|"
        parts.append(f"## {schema.name}\n\n{schema.meaning}\n\n{head}\n{rows}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    (Path(__file__).parent / "metrics.md").write_text(render(), encoding="utf-8")
    runpy.run_path(str(Path(__file__).parent / "generate_schemas.py"), run_name="__main__")
