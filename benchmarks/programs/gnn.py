"""A graph attention network on a citation graph, as in PyTorch Geometric's examples; remedy: training as a CUDA graph."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch.nn import functional
from torch_geometric.nn import GATConv
from torch_geometric.utils import add_self_loops

NODES, EDGES, FEATURES, CLASSES = size(2708, 200), size(10556, 200), size(1433, 20), 7


class GAT(torch.nn.Module):
    def __init__(self, hidden=8, heads=8):
        super().__init__()
        self.conv1 = GATConv(FEATURES, hidden, heads, dropout=0.6, add_self_loops=False)
        self.conv2 = GATConv(hidden * heads, hidden, heads, dropout=0.6, add_self_loops=False)
        self.conv3 = GATConv(hidden * heads, CLASSES, heads=1, concat=False, dropout=0.6, add_self_loops=False)

    def forward(self, x, edge_index):
        x = functional.dropout(x, p=0.6, training=self.training)
        x = functional.elu(self.conv1(x, edge_index))
        x = functional.dropout(x, p=0.6, training=self.training)
        x = functional.elu(self.conv2(x, edge_index))
        return self.conv3(functional.dropout(x, p=0.6, training=self.training), edge_index)


torch.manual_seed(0)
x, y = torch.rand(NODES, FEATURES, device=DEVICE), torch.randint(0, CLASSES, (NODES,), device=DEVICE)
edge_index = add_self_loops(torch.randint(0, NODES, (2, EDGES), device=DEVICE), num_nodes=NODES)[0]
train_index, test_index = torch.arange(140, device=DEVICE), torch.arange(NODES - 40, NODES, device=DEVICE)
model = GAT().to(DEVICE)
graphed = FIXED and DEVICE == "cuda"
optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4, capturable=graphed)


def train():
    model.train()
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(x, edge_index)[train_index], y[train_index])
    loss.backward()
    optimizer.step()
    return loss


@torch.no_grad()
def test():
    model.eval()
    pred = model(x, edge_index).argmax(dim=-1)
    return float((pred[test_index] == y[test_index]).float().mean())


if graphed:
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            train()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static_loss = train()
clock = Clock()
for _ in range(STEPS):
    clock.begin("train")
    if graphed:
        graph.replay()
    else:
        train()
    clock.begin("test")
    accuracy = test()
clock.stop()
print(f"accuracy {accuracy:.3f}")
