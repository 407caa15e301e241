package jobs

func init() { add(&glueCrawler) }

var glueCrawler = Kind{
	Name: "glue-crawler", Service: "glue", StartOp: "StartCrawler", DescribeOp: "GetCrawler", StopOp: "StopCrawler", Scope: ScopeResource,
	Source: "aws.glue", DetailType: "Glue Crawler State Change", Delivery: DeliveryBestEffort, Once: OnceBusy,
	parts: &parts{
		event: event{
			key: "detail.crawlerName", id: "detail.crawlerName", status: "state",
			words: map[string]string{"Succeeded": "SUCCEEDED", "Failed": "FAILED"}, hint: true,
		},
		start: startSpec{
			key: "params.Name", id: "params.Name", required: []string{"Name"}, resourceParam: "Name", inUse: []string{"CrawlerRunningException"},
		},
		describe: describeSpec{
			params: `{"Name":ID}`, idForm: formOf(`^[!-~]+$`, 255), idMeans: "the name of a crawler, without spaces",
			unknown: []string{"EntityNotFoundException"},
			job:     "Crawler", key: "Name", status: "LastCrawl.Status", began: []path{"LastCrawl.StartTime"},
			busy: "State", idle: "READY",
			success: []string{"SUCCEEDED"}, failure: []string{"FAILED"}, stopped: []string{"CANCELLED"},
			causes: []field{{"", "LastCrawl.ErrorMessage"}},
			output: []field{{"database", "DatabaseName"}, {"log_stream", "LastCrawl.LogStream"}},
		},
		stop: stopSpec{params: `{"Name":ID}`, over: []string{"CrawlerNotRunningException", "CrawlerStoppingException", "EntityNotFoundException"}},
		rights: rights{
			start:    []right{{"glue:StartCrawler", []string{"glue:REGION:ACCOUNT:crawler/*"}}},
			describe: []right{{"glue:GetCrawler", []string{"glue:REGION:ACCOUNT:crawler/*"}}},
			stop:     []right{{"glue:StopCrawler", []string{"glue:REGION:ACCOUNT:crawler/*"}}},
		},
	},
}
