package jobs

func init() { add(&transcribeJob) }

var transcribeJob = Kind{
	Name: "transcribe-job", Service: "transcribe", StartOp: "StartTranscriptionJob", DescribeOp: "GetTranscriptionJob", Scope: ScopeResource,
	Source: "aws.transcribe", DetailType: "Transcribe Job State Change", Delivery: DeliveryBestEffort, Once: OnceByName,
	parts: &parts{
		event: event{key: "detail.TranscriptionJobName", id: "detail.TranscriptionJobName", status: "TranscriptionJobStatus"},
		start: startSpec{
			key: "TranscriptionJob.TranscriptionJobName", id: "TranscriptionJob.TranscriptionJobName",
			began:    []path{"TranscriptionJob.CreationTime", "TranscriptionJob.StartTime"},
			required: []string{"TranscriptionJobName", "Media"}, nameParam: "TranscriptionJobName", nameForm: transcribeForm,
			inUse: []string{"ConflictException"},
		},
		describe: describeSpec{
			params: `{"TranscriptionJobName":ID}`, idForm: transcribeForm, idMeans: "the name of a transcription job",
			unknown: []string{"BadRequestException", "NotFoundException"}, // GetTranscriptionJob returns the former for an unknown name
			job:     "TranscriptionJob", key: "TranscriptionJobName", status: "TranscriptionJobStatus", at: "CompletionTime",
			began:   []path{"CreationTime", "StartTime"},
			success: []string{"COMPLETED"}, failure: []string{"FAILED"}, causes: []field{{"", "FailureReason"}},
		},
		rights: rights{
			start: []right{
				{"transcribe:StartTranscriptionJob", nil},
				{"s3:GetObject", []string{"s3:::*/*"}}, // Transcribe reads the media with the rights of its caller
			},
			describe: []right{{"transcribe:GetTranscriptionJob", []string{"transcribe:REGION:ACCOUNT:transcription-job/*"}}},
		},
	},
}

var transcribeForm = formOf(`^[0-9A-Za-z._-]+$`, 200)
