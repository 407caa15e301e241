# Stands in for the function of sfn-callback-urls: a URL for each action, which carries the token and the action.
import base64
import json
import uuid


def handler(event, context):
    urls = {}
    for action in event["actions"]:
        payload = base64.urlsafe_b64encode(json.dumps({"token": event["token"], "action": action}).encode()).decode()
        urls[action["name"]] = f"https://callbacks.example.com/respond?payload={payload}"
    return {"transaction_id": uuid.uuid4().hex, "urls": urls}
