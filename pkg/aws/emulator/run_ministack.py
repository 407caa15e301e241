# Runs the AWS emulator with less work: it parses the condition of a query anew for each item of the partition, so what depends
# on the text alone is kept; and it makes garbage with each request, which is collected without what was loaded before.
# A service that sends to a queue has the condition key aws:PrincipalIsAWSService, as on AWS. Conditions of a template may join
# and split texts, and look into mappings; the emulator alone would take each of these for a text that is not empty. Numbers of
# mappings are texts in the environment of a function, as on AWS.
import gc
from functools import lru_cache

from ministack.app import main
from ministack.core import iam_evaluator
from ministack.services import dynamodb
from ministack.services.cloudformation import changesets, engine, handlers, stacks

for name in ("_tokenize", "_condition_syntax_error"):
    setattr(dynamodb, name, lru_cache(getattr(dynamodb, name)))
evaluate = iam_evaluator.evaluate_resource_policy


def evaluate_for_services(policy, ctx, *args, **more):
    if ctx.principal_type == "Service":
        ctx.service_context.setdefault("aws:principalisawsservice", "true")
    return evaluate(policy, ctx, *args, **more)


iam_evaluator.evaluate_resource_policy = evaluate_for_services
evaluate_conditions = engine._evaluate_conditions


def value_in_condition(node, template, params):
    """Return what functions in a condition make of parameters and mappings."""
    if isinstance(node, list):
        return [value_in_condition(n, template, params) for n in node]
    if not isinstance(node, dict) or len(node) != 1:
        return node
    (name, args), = node.items()
    if name == "Ref" and args in params:
        text = params[args]["Value"]
        is_list = template["Parameters"][args]["Type"] == "CommaDelimitedList"
        return [t.strip() for t in text.split(",") if t] if is_list else text
    args = value_in_condition(args, template, params)
    if name == "Fn::Join":
        return args[0].join(args[1])
    if name == "Fn::Split":
        return args[1].split(args[0])
    if name == "Fn::FindInMap":
        return template["Mappings"][args[0]][args[1]][args[2]]
    return {name: args}


def evaluate_with_functions(template, params):
    conditions = {k: value_in_condition(v, template, params) for k, v in template.get("Conditions", {}).items()}
    return evaluate_conditions({**template, "Conditions": conditions}, params)


resolve_refs = engine._resolve_refs


def resolve_with_texts(*args, **more):
    resolved = resolve_refs(*args, **more)
    if isinstance(resolved, dict) and isinstance(resolved.get("Variables"), dict):
        resolved["Variables"] = {k: str(v) if isinstance(v, (int, float)) else v for k, v in resolved["Variables"].items()}
    return resolved


for module in (changesets, engine, handlers, stacks):
    module._evaluate_conditions = evaluate_with_functions
    module._resolve_refs = resolve_with_texts
gc.freeze()
gc.set_threshold(20_000, 20, 50)
main()
