package resumetest

import (
	"context"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Close verifies the text of a token and closes the token.
func Close(ctx context.Context, tokens *resume.Tokens, text string, outcome token.Outcome) (resume.CloseResult, token.Record, error) {
	verified, err := tokens.Verify(ctx, text)
	if err != nil {
		return 0, token.Record{}, err
	}
	return verified.Close(ctx, outcome)
}

// Beat verifies the text of a token and sends a heartbeat for the token.
func Beat(ctx context.Context, tokens *resume.Tokens, text string) (token.Record, error) {
	verified, err := tokens.Verify(ctx, text)
	if err != nil {
		return token.Record{}, err
	}
	return verified.Heartbeat(ctx)
}

// Describe verifies the text of a token and describes the token.
func Describe(ctx context.Context, tokens *resume.Tokens, text string) (token.ID, token.Record, error) {
	verified, err := tokens.Verify(ctx, text)
	if err != nil {
		return token.ID{}, token.Record{}, err
	}
	record, err := verified.Describe(ctx)
	return verified.ID, record, err
}
