"""Reads cases as JSON and writes what the vendor's library makes of each: requests, results, errors and endpoints."""
import base64
import json
import sys

import botocore.session
from botocore.endpoint_provider import EndpointProvider
from botocore.model import ServiceModel
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

loader = botocore.session.get_session().get_component("data_loader")
partitions = loader.load_data("partitions")


def plain(value):
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat()


def blobs(shape, value):
    if shape.type_name == "blob":
        return base64.b64decode(value)
    if shape.type_name == "structure":
        return {name: blobs(shape.members[name], each) for name, each in value.items()}
    if shape.type_name == "list":
        return [blobs(shape.member, each) for each in value]
    if shape.type_name == "map":
        return {name: blobs(shape.value, each) for name, each in value.items()}
    return value


def run(case):
    if case["what"] == "endpoints":
        provider = EndpointProvider(loader.load_service_model(case["service"], "endpoint-rule-set-1"), partitions)
        found = {}
        for part in partitions["partitions"]:
            for region in [each for each in part["regions"] if "global" not in each]:
                for fips in (False, True):
                    for dual in (False, True):
                        asked = {"Region": region, "UseFIPS": fips, "UseDualStack": dual}
                        if case["service"] == "sts":
                            asked["UseGlobalEndpoint"] = False
                        key = region + (" fips" if fips else "") + (" dual" if dual else "")
                        found[key] = provider.resolve_endpoint(**asked).url
        return found
    model = ServiceModel(loader.load_service_model(case["service"], "service-2"))
    operation = model.operation_model(case["operation"])
    if case["what"] == "request":
        params = blobs(operation.input_shape, case["params"]) if operation.input_shape else {}
        made = create_serializer(model.metadata["protocol"]).serialize_to_request(params, operation)
        body = made["body"]
        return {
            "method": made["method"], "path": made["url_path"], "query": made["query_string"], "headers": dict(made["headers"]),
            "body": body.decode() if isinstance(body, bytes) else body,
        }
    response = {"status_code": case["status"], "headers": {k.lower(): v for k, v in case["headers"].items()}, "body": case["body"].encode()}
    parsed = create_parser(model.metadata["protocol"]).parse(response, operation.output_shape)
    parsed.pop("ResponseMetadata", None)
    return parsed


json.dump([run(case) for case in json.load(sys.stdin)], sys.stdout, default=plain)
