# Makes the calls that stand in the standard input, one JSON array a line: the name of an action and its parameters. Prints what
# each was answered: the body, or the error's code and HTTP status.
import importlib
import json
import os
import sys

from aliyunsdkcore.acs_exception.exceptions import ServerException
from aliyunsdkcore.client import AcsClient

host, port = os.environ["ENDPOINT"].split(":")
# A function on a busy machine may take longer than the 10 s of the default.
client = AcsClient(os.environ["AK_ID"], os.environ["AK_SECRET"], "cn-hangzhou", port=int(port), timeout=60)
client.add_endpoint("cn-hangzhou", "fnf", host)
for line in sys.stdin:
    action, parameters = json.loads(line)
    name = action + "Request"
    request = getattr(importlib.import_module("aliyunsdkfnf.request.v20190315." + name), name)()
    for name, value in parameters.items():
        getattr(request, "set_" + name)(value)
    try:
        print(client.do_action_with_exception(request).decode().strip())
    except ServerException as error:
        print(error.get_error_code(), error.get_http_status())
