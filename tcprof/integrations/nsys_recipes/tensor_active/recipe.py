"""The recipe ``tensor_active`` of ``nsys recipe``: frames of many reports in two tables, for what runs recipes already.

nsys finds it by ``NSYS_RECIPE_PATH``, and runs it with the Python of its other recipes, which needs tcprof.
"""

from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
from nsys_recipe.lib import recipe
from nsys_recipe.lib.args import Option
from nsys_recipe.log import logger

import tcprof
from tcprof.errors import TcprofError

FRAMES = ("ranges", "kernels")


class TensorActive(recipe.Recipe):  # type: ignore[misc]  # it has no types
    """Analyze each report in a process of its own, then write one table of all for each frame."""

    @staticmethod
    def analyze(path: str) -> dict[str, pd.DataFrame]:
        """Return the frames of a report, with the column ``file``; none if the report cannot be read."""
        try:
            report = tcprof.read(path)
        except TcprofError as error:
            logger.error(f"{error.message} {error.hint}")
            return {}
        return {name: getattr(report, name).assign(file=Path(path).name) for name in FRAMES}

    def run(self, context: Any) -> None:
        """Write Parquet, CSV if asked, and the description that Nsight Systems opens."""
        super().run(context)
        analyzed = context.wait(context.map(self.analyze, self._parsed_args.input))
        reports = [frames for frames in analyzed if frames]
        for name in FRAMES if reports else ():
            table = pd.concat([frames[name] for frames in reports], ignore_index=True)
            table.to_parquet(self.add_output_file(f"{name}.parquet"))
            if self._parsed_args.csv:
                table.to_csv(self.add_output_file(f"{name}.csv"), index=False)
        self._analysis_dict |= {"EndTime": str(datetime.now()), "InputFiles": self._parsed_args.input}
        self._analysis_dict["Outputs"] = self._output_files
        self.create_analysis_file()

    @classmethod
    def get_argument_parser(cls) -> Any:
        """Return the options that every recipe has, and ``--csv``."""
        parser = super().get_argument_parser()
        for choice in (Option.INPUT, Option.OUTPUT, Option.FORCE_OVERWRITE, Option.CSV):
            parser.add_recipe_argument(choice)
        return parser
