"""Asks a person to approve an order, by a message with callback URLs. The application sfn-callback-urls makes them.

The environment variable CREATE_URLS is the name of its function, and TOPIC that of the messages.
"""

import json
import os

import boto3

functions = boto3.client("lambda")
topic = boto3.resource("sns").Topic(os.environ["TOPIC"])


def handler(event, context):
    message = {"order": event["order"], "answer": callback_urls(event["taskToken"])}
    topic.publish(Subject="Approve an order", Message=json.dumps(message))


def callback_urls(token):
    actions = [
        {"name": "approve", "type": "success", "output": {"approved": True}},
        {"name": "reject", "type": "failure", "error": "Rejected", "cause": "by a person"},
    ]
    return call("CREATE_URLS", {"token": token, "actions": actions})["urls"]


def call(name, request):
    response = functions.invoke(FunctionName=os.environ[name], Payload=json.dumps(request))
    reply = json.load(response["Payload"])
    if "FunctionError" in response:
        raise RuntimeError(f"{name}: {reply['errorMessage']}")
    return reply
