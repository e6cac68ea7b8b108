"""Writes the files beside it, with pandas, Polars, DuckDB and Arrow: python3 make.py FOLDER"""

import datetime as dt
import sys
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

folder = sys.argv[1]
utc = dt.timezone.utc
times = [
    dt.datetime(2024, 8, 8, 23, 54, 16, 302000, utc),
    dt.datetime(2024, 8, 8, 23, 54, 17, 0, utc),
    dt.datetime(2024, 8, 8, 23, 54, 18, 5000, utc),
]
books = [
    ([(2684.49, 0.194), (2684.40, 2.0)], [(2684.50, 12.5)]),
    ([(2684.49, 0.001)], [(2684.50, 0.003), (2684.75, 7.25)]),
    ([(2684.48, 0.1), (2684.47, 0.05)], [(2684.49, 0.001), (2684.51, 0.001)]),
]
wide = {"time": times, "sequence": [56, 57, 58]}
for at, side in enumerate(["bid", "ask"]):
    for level in range(2):
        for what in range(2):
            wide[f"{side}_{['px', 'qty'][what]}_{level + 1}"] = [
                book[at][level][what] if level < len(book[at]) else None for book in books
            ]
long = [
    {"time": time, "side": side, "px": px, "qty": qty}
    for time, book in zip(times, books)
    for side, levels in zip(["bid", "ask"], book)
    for px, qty in levels
]

pd.DataFrame(wide).to_parquet(f"{folder}/pandas-wide.parquet", index=False)
pd.DataFrame(long).to_parquet(f"{folder}/pandas-long.parquet", index=False)
pd.DataFrame(long).to_parquet(
    f"{folder}/pandas-int96.parquet", index=False, use_deprecated_int96_timestamps=True
)
pl.DataFrame(wide).write_parquet(f"{folder}/polars-wide.parquet")
text = [{**row, "time": row["time"].isoformat(timespec="milliseconds")} for row in long]
pl.DataFrame(text).write_parquet(f"{folder}/polars-text-times.parquet")

decimals = dict(wide)
priced = pa.table(
    {
        name: pa.array(
            [None if v is None else Decimal(str(v)) for v in values],
            pa.decimal128(18, 2) if "_px_" in name else pa.decimal128(30, 3),
        )
        if "_" in name
        else pa.array(values)
        for name, values in decimals.items()
    }
)
duckdb.sql("SET TimeZone = 'UTC'")
duckdb.sql(f"COPY priced TO '{folder}/duckdb-decimals.parquet' (FORMAT parquet)")
frame = pd.DataFrame(long)
duckdb.sql(f"COPY frame TO '{folder}/duckdb-long.parquet' (FORMAT parquet)")
for codec in ["gzip", "lz4", "brotli"]:
    pq.write_table(pa.table(wide), f"{folder}/{codec}.parquet", compression=codec)
ticks = {
    name: [None if v is None else round(v * (100 if "_px_" in name else 1000)) for v in values]
    if "_px_" in name or "_qty_" in name
    else values
    for name, values in wide.items()
}
ticks["time"] = [round(time.timestamp() * 1000) for time in times]
pl.DataFrame(ticks).write_parquet(f"{folder}/ticks.parquet", compression="snappy")
nested = pa.table({"time": times, "bid_px_1": [[1.0], [2.0], [3.0]], "bid_qty_1": [1.0, 1.0, 1.0]})
pq.write_table(nested, f"{folder}/nested.parquet")
