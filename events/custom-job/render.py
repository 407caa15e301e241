# The function of the kind custom:render-video. Waitless asks it to start, describe and stop jobs. These jobs render nothing: the
# id of a job has the video and the instant of its end.
import json
import sys
import time


def handler(event, context):
    if event["action"] == "start":
        params = event["params"]
        if not params.get("video"):
            raise NoVideo("params.video is missing")
        return {"job_id": f"{params['video']}/{time.time() + float(params['seconds']):.0f}"}
    video, _, end = event["job_id"].rpartition("/")
    if event["action"] == "stop":
        return {}
    if not end.isdigit():
        return {"status": "unknown"}
    if time.time() < int(end):
        return {"status": "running"}
    if video == "broken":
        return {"status": "failed", "message": "the codec is unknown"}
    return {"status": "succeeded", "output": {"file": video + ".mp4"}}


class NoVideo(Exception):
    pass


if __name__ == "__main__":  # exec:python3 render.py
    print(json.dumps(handler(json.load(sys.stdin), None)))
