"""Reads cases as JSON and writes what the vendor's library makes of each: requests, results, errors and endpoints."""
import base64
import datetime
import json
import os
import sys
from xml.sax.saxutils import escape

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


def hosts(service):
    """The hosts of a service for each set of parameters that its operations have, with the regions and names in signatures."""
    provider = EndpointProvider(loader.load_service_model(service, "endpoint-rule-set-1"), partitions)
    sets = {}
    for name, each in loader.load_service_model(service, "service-2")["operations"].items():
        params = {key: value["value"] for key, value in each.get("staticContextParams", {}).items()}
        sets.setdefault(json.dumps(params, sort_keys=True), []).append(name)
    found = []
    for params, operations in sorted(sets.items()):
        urls = {}
        for part in partitions["partitions"]:
            for region in [each for each in part["regions"] if "global" not in each]:
                for variant in ("", " fips", " dual", " fips dual"):
                    asked = {"Region": region, "UseFIPS": "fips" in variant, "UseDualStack": "dual" in variant}
                    try:
                        endpoint = provider.resolve_endpoint(**asked, **json.loads(params))
                    except Exception:  # the rules have no endpoint
                        continue
                    schemes = [each for each in endpoint.properties.get("authSchemes", []) if each["name"] == "sigv4"]
                    scheme = schemes[0] if schemes else {}
                    urls[part["id"] + " " + region + variant] = [
                        endpoint.url, scheme.get("signingRegion", ""), scheme.get("signingName", ""),
                    ]
        found.append({"operations": sorted(operations), "urls": urls})
    return found


def model_of(service):
    """The model of a service with a protocol that is JSON, if it has one, and without members that only the library knows."""
    found = loader.load_data(os.path.join(service, loader.determine_latest_version(service, "service-2"), "service-2"))
    if found["metadata"]["protocol"] == "smithy-rpc-v2-cbor" and "json" in found["metadata"].get("protocols", []):
        found["metadata"]["protocol"] = "json"
    return ServiceModel(found)


def sample(shape, most=3, depth=0):
    """A value of a shape, and the same as JSON, with structures, lists and maps that are not required down to a depth."""
    kind = shape.type_name
    if kind == "structure":
        if getattr(shape, "is_document_type", False):
            return {"any": ["document"]}, {"any": ["document"]}
        pairs = {
            name: sample(each, most, depth + 1) for name, each in shape.members.items()
            if depth < most or each.type_name not in ("structure", "list", "map") or name in shape.required_members
        }
        if getattr(shape, "is_tagged_union", False):
            pairs = dict(list(pairs.items())[:1])
        return {name: each[0] for name, each in pairs.items()}, {name: each[1] for name, each in pairs.items()}
    if kind == "list":
        value, text = sample(shape.member, most, depth + 1)
        return [value, value], [text, text]
    if kind == "map":
        value, text = sample(shape.value, most, depth + 1)
        return {"Some-key": value}, {"Some-key": text}
    if kind == "timestamp":
        return datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc), "2026-01-02T03:04:05Z"
    if kind == "blob":
        return b"bytes", base64.b64encode(b"bytes").decode()
    if kind in ("string", "character"):
        return "a/b c%&?#+=", "a/b c%&?#+="
    value = {"boolean": True, "integer": 7, "long": 1 << 40, "float": 1.5, "double": 1.5}[kind]
    return value, value


def samples(service):
    """A request of each operation with all members of its input, and in the query protocol a response with all of its output."""
    model = model_of(service)
    is_query = model.metadata["protocol"] == "query"
    most = 99 if is_query else 3
    found = {}
    for name in model.operation_names:
        operation = model.operation_model(name)
        try:
            value, text = sample(operation.input_shape, most) if operation.input_shape else ({}, {})
            found[name] = {"params": text, "request": request(model, operation, value)}
            if is_query:
                body = response(operation)
                found[name]["response"] = {"body": body, "parsed": parse(model, operation, 200, {}, body)}
        except Exception as problem:
            found[name] = {"problem": str(problem)}
    return found


def response(operation):
    """The response of an operation in the query protocol."""
    shape = operation.output_shape
    result = ""
    if shape:
        wrapper = shape.serialization["resultWrapper"]
        result = "<" + wrapper + ">" + element(shape, sample(shape, 99)[1]) + "</" + wrapper + ">"
    return "<{0}Response xmlns=\"urn:x\">{1}<ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></{0}Response>".format(operation.name, result)


def element(shape, value):
    """The content of an element, as the service writes a value of that shape."""
    def named(name, within):
        return "\n  <" + name + ">" + within + "</" + name + ">"
    kind = shape.type_name
    if kind == "structure":
        return "".join(named(each.serialization.get("name", name), element(each, value[name])) for name, each in shape.members.items() if name in value)
    if kind == "list":
        return "".join(named(shape.member.serialization.get("name", "member"), element(shape.member, each)) for each in value)
    if kind == "map":
        key, item = shape.key.serialization.get("name", "key"), shape.value.serialization.get("name", "value")
        return "".join(named("entry", named(key, escape(name)) + named(item, element(shape.value, each))) for name, each in value.items())
    return escape(value if isinstance(value, str) else json.dumps(value))


def request(model, operation, params):
    made = create_serializer(model.metadata["protocol"], include_validation=False).serialize_to_request(params, operation)
    body = made["body"]
    return {
        "method": made["method"], "path": made["url_path"], "query": made["query_string"], "headers": dict(made["headers"]),
        "body": body.decode() if isinstance(body, bytes) else body,
    }


def run(case):
    if case["what"] == "samples":
        return samples(case["service"])
    if case["what"] == "hosts":
        return hosts(case["service"])
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
    model = model_of(case["service"])
    operation = model.operation_model(case["operation"])
    if case["what"] == "request":
        params = blobs(operation.input_shape, case["params"]) if operation.input_shape else {}
        return request(model, operation, params)
    return parse(model, operation, case["status"], case["headers"], case["body"])


def parse(model, operation, status, headers, body):
    response = {"status_code": status, "headers": {k.lower(): v for k, v in headers.items()}, "body": body.encode()}
    parsed = create_parser(model.metadata["protocol"]).parse(response, operation.output_shape)
    parsed.pop("ResponseMetadata", None)
    return parsed


json.dump([run(case) for case in json.load(sys.stdin)], sys.stdout, default=plain)
