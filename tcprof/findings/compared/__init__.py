"""What a comparison says: is it faster, by how much, how sure, why, and what makes the sides hard to compare."""

from tcprof.findings.compared.judge import ComparedFindings, ComparedGpu, judge_comparison, judge_gate

__all__ = ["ComparedFindings", "ComparedGpu", "judge_comparison", "judge_gate"]
