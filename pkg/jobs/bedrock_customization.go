package jobs

func init() {
	addMade(func() Kind {
		return bedrockJob("bedrock-customization", "ModelCustomizationJob", "Model Customization Job",
			event{key: "detail.jobArn", status: "jobStatus"}, "customModelName", field{"", "failureMessage"}, field{"model_arn", "outputModelArn"}, "Failed")
	})
}
