package jobs

func init() {
	addMade(func() Kind {
		k := transcribeKind("transcribe-job", "Transcription", "Transcribe", "transcription-job")
		k.event.key, k.event.status = "detail.TranscriptionJobName", "TranscriptionJobStatus"
		k.start.began = []path{"TranscriptionJob.CreationTime", "TranscriptionJob.StartTime"}
		k.describe.began, k.describe.idMeans = []path{"CreationTime", "StartTime"}, "the name of a transcription job"
		k.event.id, k.rights.roleTo = k.event.key, ""
		return k
	})
}

var transcribeForm = formOf(`^[0-9A-Za-z._-]+$`, 200)

// transcribeKind returns the kind of a job of Transcribe. Word is in the names of its operations
// and members, title in the detail-type of its events, and resource in the ARNs of its jobs.
func transcribeKind(name, word, title, resource string) Kind {
	job := word + "Job"
	named := path(job + "Name")
	return Kind{
		Name: name, Service: "transcribe", StartOp: "Start" + job, DescribeOp: "Get" + job, Scope: ScopeResource,
		Source: "aws.transcribe", DetailType: title + " Job State Change", Delivery: DeliveryBestEffort, Once: OnceByName,
		parts: &parts{
			event: event{key: "detail.JobName", id: "detail.JobName", status: "JobStatus"},
			start: startSpec{
				key: path(job) + "." + named, id: path(job) + "." + named, began: []path{path(job) + ".CreationTime"},
				required: []string{string(named), "Media"}, nameParam: string(named), nameForm: transcribeForm, inUse: []string{"ConflictException"},
			},
			describe: describeSpec{
				params: `{"` + string(named) + `":ID}`, idForm: transcribeForm, idMeans: "the name of a call analytics job",
				unknown: []string{"BadRequestException", "NotFoundException"}, // the service returns the former for an unknown name
				job:     path(job), key: named, status: path(job + "Status"), at: "CompletionTime", began: []path{"CreationTime"},
				success: []string{"COMPLETED"}, failure: []string{"FAILED"}, causes: []field{{"", "FailureReason"}},
			},
			rights: rights{
				// Transcribe reads the media with the rights of its caller.
				start:    []right{{"transcribe:Start" + job, nil}, {"s3:GetObject", []string{"s3:::*/*"}}},
				roleTo:   "transcribe.amazonaws.com",
				describe: []right{{"transcribe:Get" + job, []string{"transcribe:REGION:ACCOUNT:" + resource + "/*"}}},
			},
		},
	}
}
