package deliveries

import (
	"strconv"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/core"
)

// View is a delivery as the API shows it.
type View struct {
	ID            string  `json:"id"`
	Provider      string  `json:"provider"`
	Kind          string  `json:"kind"`
	Ref           string  `json:"ref"`
	Subject       string  `json:"subject"`
	Items         int     `json:"items"`
	State         string  `json:"state"`
	Attempts      int     `json:"attempts"`
	MaxAttempts   int     `json:"max_attempts"`
	NextAttemptAt *string `json:"next_attempt_at"`
	NextLookAt    *string `json:"next_look_at"` // of a dead letter that is tried again by itself
	CreatedAt     string  `json:"created_at"`
	EndedAt       *string `json:"ended_at"`
	Category      *string `json:"category"`
	Reason        string  `json:"reason"`
	ReasonID      string  `json:"reason_id"` // of the latest failure; empty without one
	LastAnswer    string  `json:"last_answer"`
	Question      *string `json:"question"` // where its song is chosen, on the pages and below /api/v1
	Redrivable    bool    `json:"-"`
	Discardable   bool    `json:"-"`
}

// View returns the view of a delivery.
func (n Names) View(d delivery.Delivery) View {
	v := View{ID: strconv.FormatInt(d.ID, 10), Provider: n.service(d), Kind: d.Kind, Ref: d.Ref,
		Subject: n.say(n.subject(d)), Items: d.Items,
		State: string(d.State), Attempts: d.Attempts, MaxAttempts: d.MaxAttempts,
		CreatedAt: library.Stamp(d.CreatedAt), EndedAt: core.Moment(d.EndedAt),
		Category: core.Text(d.Category), LastAnswer: d.Answer, Redrivable: redrivable(d.State),
		Discardable: discardable(d.State)}
	v.NextLookAt = core.Moment(n.lookAgain(d))
	if q, ok := n.asked[d.ID]; ok {
		v.Question = core.Text("/connections/" + string(q.Connection) + "/songs/" + strconv.FormatInt(q.ID, 10))
	}
	reason, until := n.why(d)
	v.Reason, v.ReasonID = reason, reasonID(d.Reason)
	if d.State == delivery.Scheduled || d.State == delivery.Retrying {
		v.NextAttemptAt = core.Moment(Later(d.Due, until))
	}
	return v
}

func redrivable(s delivery.State) bool  { return s == delivery.Dead || s == delivery.Retrying }
func discardable(s delivery.State) bool { return s != delivery.Running && s != delivery.Done }
