package resumetest

import (
	"context"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Close opens the token with that text and closes it.
func Close(ctx context.Context, tokens *resume.Tokens, text string, outcome token.Outcome) (resume.CloseResult, token.Record, error) {
	opened, err := tokens.Open(ctx, text)
	if err != nil {
		return 0, token.Record{}, err
	}
	return opened.Close(ctx, outcome)
}

// Beat opens the token with that text and sends a heartbeat for it.
func Beat(ctx context.Context, tokens *resume.Tokens, text string) (token.Record, error) {
	opened, err := tokens.Open(ctx, text)
	if err != nil {
		return token.Record{}, err
	}
	return opened.Heartbeat(ctx)
}

// Describe opens the token with that text and describes it.
func Describe(ctx context.Context, tokens *resume.Tokens, text string) (token.ID, token.Record, error) {
	opened, err := tokens.Open(ctx, text)
	if err != nil {
		return token.ID{}, token.Record{}, err
	}
	record, err := opened.Describe(ctx)
	return opened.ID, record, err
}
