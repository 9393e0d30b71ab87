window.BENCHMARK_DATA = {"lastUpdate": 1700000000000, "repoUrl": "https://example.org/a/b", "entries": {"Go": [
 {"commit": {"id": "a"}, "date": 1, "tool": "go", "benches": [{"name": "BenchmarkFib", "value": 300, "unit": "ns/op", "extra": "5000000 times"}]},
 {"commit": {"id": "b"}, "date": 2, "tool": "go", "benches": [{"name": "BenchmarkFib", "value": 325, "unit": "ns/op"}]}]}}
