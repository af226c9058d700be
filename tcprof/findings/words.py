"""Words of the findings."""

TIME_NAMES = {
    "tensor_kernel": "tensor kernel",
    "memory_bound": "memory-bound",
    "issue_bound": "issue-bound",
    "other_kernel": "other kernel",
    "unresolved_kernel": "unresolved",
    "graph": "CUDA graph",
    "communication": "NCCL",
    "copy": "copy or set",
    "idle": "idle",
}
WINDOW_NAMES = {"gpu": "gpu windows", "host": "host windows", "busy": "busy windows"}
