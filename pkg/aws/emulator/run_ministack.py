# Runs the AWS emulator with less work: it parses the condition of a query anew for each item of the partition, so what depends
# on the text alone is kept; and it makes garbage with each request, which is collected without what was loaded before.
import gc
from functools import lru_cache

from ministack.app import main
from ministack.services import dynamodb

for name in ("_tokenize", "_condition_syntax_error"):
    setattr(dynamodb, name, lru_cache(getattr(dynamodb, name)))
gc.freeze()
gc.set_threshold(20_000, 20, 50)
main()
