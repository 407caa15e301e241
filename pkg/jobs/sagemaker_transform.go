package jobs

func init() {
	addMade(func() Kind {
		k := sagemakerJob("sm-transform", "Transform", sagemakerForm, field{"output_uri", "TransformOutput.S3OutputPath"})
		k.rights.roleTo = "" // the job has the role of its model
		return k
	})
}
