"""Asks a person to approve an order, by a message with a callback URL. A stack of Waitless makes the URL.

The environment variable START_JOB is the name of the function StartJob, and TOPIC that of the messages.
"""

import json
import os

import boto3

functions = boto3.client("lambda")
topic = boto3.resource("sns").Topic(os.environ["TOPIC"])


def handler(event, context):
    message = {"order": event["order"], "answer": callback_url(event["taskToken"])}
    topic.publish(Subject="Approve an order", Message=json.dumps(message))


def callback_url(token):
    return call("START_JOB", {"kind": "callback", "taskToken": token, "timeoutSeconds": 259200})["callback_url"]


def call(name, request):
    response = functions.invoke(FunctionName=os.environ[name], Payload=json.dumps(request))
    reply = json.load(response["Payload"])
    if "FunctionError" in response:
        raise RuntimeError(f"{name}: {reply['errorMessage']}")
    return reply
