package jobs

func init() {
	addMade(func() Kind {
		k := sagemakerJob("sm-tuning", "HyperParameterTuning", formOf(`^[0-9A-Za-z](?:-*[0-9A-Za-z])*$`, 32),
			field{"best_training_job", "BestTrainingJob.TrainingJobName"})
		k.DetailType = "SageMaker HyperParameter Tuning Job State Change"
		for _, of := range [][]right{k.rights.start, k.rights.describe, k.rights.stop} {
			of[0].resources = []string{"sagemaker:REGION:ACCOUNT:hyper-parameter-tuning-job/*"}
		}
		return k
	})
}
