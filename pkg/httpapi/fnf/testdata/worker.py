# The worker.py of the vendor's tutorial on callbacks. Adapted: the print statements, which are those of Python 2 there, and
# the two lines about the endpoint.
import os
import sys
from aliyunsdkcore.acs_exception.exceptions import ServerException
from aliyunsdkcore.client import AcsClient
from aliyunsdkfnf.request.v20190315 import ReportTaskSucceededRequest
def main():
    account_id = os.environ['ACCOUNT_ID']
    akid = os.environ['AK_ID']
    ak_secret = os.environ['AK_SECRET']
    fnf_client = AcsClient(akid, ak_secret, "cn-hangzhou", port=int(os.environ['ENDPOINT'].split(":")[1]))
    fnf_client.add_endpoint("cn-hangzhou", "fnf", os.environ['ENDPOINT'].split(":")[0])
    task_token = sys.argv[1]
    print("Task token: " + task_token)
    try:
        request = ReportTaskSucceededRequest.ReportTaskSucceededRequest()
        request.set_Output("{\"status\": \"ok\"}")
        request.set_TaskToken(task_token)
        resp = fnf_client.do_action_with_exception(request)
        print("ReportTaskSucceeded finished")
    except ServerException as e:
        print(e)
if __name__ == '__main__':
    main()
