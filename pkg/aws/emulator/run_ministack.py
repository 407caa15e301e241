# Runs the AWS emulator with less work: it parses the condition of a query anew for each item of the partition, so what depends
# on the text alone is kept; and it makes garbage with each request, which is collected without what was loaded before.
# A service that sends to a queue has the condition key aws:PrincipalIsAWSService, as on AWS.
import gc
from functools import lru_cache

from ministack.app import main
from ministack.core import iam_evaluator
from ministack.services import dynamodb

for name in ("_tokenize", "_condition_syntax_error"):
    setattr(dynamodb, name, lru_cache(getattr(dynamodb, name)))
evaluate = iam_evaluator.evaluate_resource_policy


def evaluate_for_services(policy, ctx, *args, **more):
    if ctx.principal_type == "Service":
        ctx.service_context.setdefault("aws:principalisawsservice", "true")
    return evaluate(policy, ctx, *args, **more)


iam_evaluator.evaluate_resource_policy = evaluate_for_services
gc.freeze()
gc.set_threshold(20_000, 20, 50)
main()
