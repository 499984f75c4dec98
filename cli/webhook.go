//go:build !front

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/isohound/isohound/hunt"
)

// webhookVariable is the environment variable for the address of a webhook, which may hold a secret.
const webhookVariable = "ISOHOUND_WEBHOOK"

// webhookLimit bounds the time for a webhook.
const webhookLimit = 10 * time.Second

// nightMessage is what a webhook receives at the end of a hunt. Chat services show Text.
type nightMessage struct {
	Text       string           `json:"text"`
	Plan       string           `json:"plan"`
	Night      int64            `json:"night"`
	Over       bool             `json:"over"`
	ExitCode   int              `json:"exit_code"`
	Runs       int              `json:"runs"`
	Judged     int              `json:"judged"`
	Violated   int              `json:"violated"`
	EndedEarly int              `json:"ended_early"`
	Failed     int              `json:"failed"`
	Commits    int64            `json:"commits"`
	Cells      map[string]int   `json:"cells"` // by status
	New        []string         `json:"new"`
	Violations []nightViolation `json:"violations"`
	Page       string           `json:"page"`
}

type nightViolation struct {
	Name      string   `json:"name"`
	Levels    []string `json:"levels"`
	Target    string   `json:"target"`
	Isolation string   `json:"isolation"`
	Status    string   `json:"status"`
	Rate      string   `json:"rate"`
}

// webhookOf returns the address of the webhook, "" if there is none.
func webhookOf(flag string) (string, error) {
	if flag == "" {
		flag = os.Getenv(webhookVariable)
	}
	if flag == "" {
		return "", nil
	}
	u, err := url.Parse(flag)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", usage("--webhook: expected an address such as https://chat.example.com/hooks/1, here or as %s", webhookVariable)
	}
	return flag, nil
}

// tellNight posts what a night found. A webhook that cannot be reached is no error of the hunt. The address, which
// may hold a secret, is not printed.
func (a *app) tellNight(address string, m *hunt.Morning, page string) {
	if address == "" {
		return
	}
	t := &m.Total
	msg := nightMessage{
		Text: m.Summary(), Plan: m.Plan, Night: m.Night.ID, Over: m.Over, ExitCode: int(a.code),
		Runs: t.Runs, Judged: t.Judged, Violated: t.Violated, EndedEarly: t.Early, Failed: t.Failed, Commits: t.Commits,
		Cells: map[string]int{}, New: append([]string{}, m.New...), Violations: []nightViolation{}, Page: page,
	}
	for _, c := range m.Counts() {
		msg.Cells[c.Status.String()] = c.N
	}
	for _, g := range m.Groups {
		msg.Violations = append(msg.Violations, nightViolation{g.Name, g.Levels, g.Target, g.Isolation, g.Status.String(), g.Rate()})
	}
	if err := post(a.ctx, address, msg); err != nil {
		fmt.Fprintf(a.msg, "isohound: the webhook was not told: %v\n", err)
	}
}

// post sends a message as JSON.
func post(ctx context.Context, address string, message any) error {
	ctx, cancel := context.WithTimeout(ctx, webhookLimit)
	defer cancel()
	b, err := json.Marshal(message)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(b))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		if u, ok := err.(*url.Error); ok { // it repeats the address
			err = u.Err
		}
		return err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
	if answer.StatusCode >= 300 {
		return fmt.Errorf("it answered %s: %q", answer.Status, text)
	}
	return nil
}
