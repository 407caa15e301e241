// Command fnf-go does what pkg/httpapi/fnf/testdata/calls.py does, with the vendor's client for Go.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	sdkerrors "github.com/aliyun/alibaba-cloud-sdk-go/sdk/errors"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/responses"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/fnf"
)

func main() {
	config := sdk.NewConfig().WithScheme("HTTP").WithTimeout(time.Minute)
	key := credentials.NewAccessKeyCredential(os.Getenv("AK_ID"), os.Getenv("AK_SECRET"))
	client, err := fnf.NewClientWithOptions("local", config, key)
	if err != nil {
		log.Fatal(err)
	}
	for calls := json.NewDecoder(os.Stdin); ; {
		var action string
		var parameters map[string]any
		switch err := calls.Decode(&[]any{&action, &parameters}); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			log.Fatal(err)
		}
		if err := call(client, action, parameters); err != nil {
			log.Fatal(err)
		}
	}
}

// call makes one call and prints the body of the response, or the code and the status of the error.
func call(client *fnf.Client, action string, parameters map[string]any) error {
	request, response := newCall(action)
	fields := reflect.ValueOf(request).Elem()
	for name, value := range parameters {
		fields.FieldByName(name).SetString(fmt.Sprint(value))
	}
	request.SetDomain(os.Getenv("ENDPOINT"))
	err := client.DoAction(request, response)
	var refused *sdkerrors.ServerError
	if errors.As(err, &refused) {
		fmt.Println(refused.ErrorCode(), refused.HttpStatus())
		return nil
	}
	if err == nil {
		fmt.Println(strings.TrimSpace(response.GetHttpContentString()))
	}
	return err
}

// newCall returns the request and the response of an action.
func newCall(action string) (requests.AcsRequest, responses.AcsResponse) {
	switch action {
	case "CreateFlow":
		return fnf.CreateCreateFlowRequest(), fnf.CreateCreateFlowResponse()
	case "UpdateFlow":
		return fnf.CreateUpdateFlowRequest(), fnf.CreateUpdateFlowResponse()
	case "DescribeFlow":
		return fnf.CreateDescribeFlowRequest(), fnf.CreateDescribeFlowResponse()
	case "DeleteFlow":
		return fnf.CreateDeleteFlowRequest(), fnf.CreateDeleteFlowResponse()
	case "ListFlows":
		return fnf.CreateListFlowsRequest(), fnf.CreateListFlowsResponse()
	case "StartExecution":
		return fnf.CreateStartExecutionRequest(), fnf.CreateStartExecutionResponse()
	case "StopExecution":
		return fnf.CreateStopExecutionRequest(), fnf.CreateStopExecutionResponse()
	case "DescribeExecution":
		return fnf.CreateDescribeExecutionRequest(), fnf.CreateDescribeExecutionResponse()
	case "ListExecutions":
		return fnf.CreateListExecutionsRequest(), fnf.CreateListExecutionsResponse()
	case "GetExecutionHistory":
		return fnf.CreateGetExecutionHistoryRequest(), fnf.CreateGetExecutionHistoryResponse()
	case "ReportTaskSucceeded":
		return fnf.CreateReportTaskSucceededRequest(), fnf.CreateReportTaskSucceededResponse()
	case "ReportTaskFailed":
		return fnf.CreateReportTaskFailedRequest(), fnf.CreateReportTaskFailedResponse()
	case "CreateSchedule":
		return fnf.CreateCreateScheduleRequest(), fnf.CreateCreateScheduleResponse()
	case "UpdateSchedule":
		return fnf.CreateUpdateScheduleRequest(), fnf.CreateUpdateScheduleResponse()
	case "DescribeSchedule":
		return fnf.CreateDescribeScheduleRequest(), fnf.CreateDescribeScheduleResponse()
	case "DeleteSchedule":
		return fnf.CreateDeleteScheduleRequest(), fnf.CreateDeleteScheduleResponse()
	case "ListSchedules":
		return fnf.CreateListSchedulesRequest(), fnf.CreateListSchedulesResponse()
	}
	log.Fatalf("the client has no action %s", action)
	return nil, nil
}
