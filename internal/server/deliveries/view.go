package deliveries

import (
	"strconv"

	"reprise/internal/delivery"
	"reprise/internal/server/core"
)

// Delivery is a delivery as the API shows it.
type Delivery struct {
	ID            string         `json:"id"`
	Provider      string         `json:"provider" doc:"Of messages the kind of their channel, such as ntfy; empty once it was removed."`
	Kind          string         `json:"kind" enum:"DeliveryKind"`
	Ref           string         `json:"ref" doc:"The id of a playlist, a month such as 2026-11, the id of a channel, or of the correction that deletes listens; empty for listens that are sent."`
	Subject       string         `json:"subject" doc:"What is carried where, in words."`
	Items         int            `json:"items" minimum:"0" doc:"Listens, or copies."`
	State         string         `json:"state" enum:"DeliveryState"`
	Attempts      int            `json:"attempts" minimum:"0" doc:"Used up."`
	MaxAttempts   int            `json:"max_attempts" minimum:"1"`
	NextAttemptAt core.MaybeTime `json:"next_attempt_at"`
	NextLookAt    core.MaybeTime `json:"next_look_at" doc:"When a dead letter is tried again by itself; null if its person has to re-drive it."`
	CreatedAt     core.Time      `json:"created_at"`
	EndedAt       core.MaybeTime `json:"ended_at"`
	Category      *string        `json:"category" doc:"Of the latest attempt that failed."`
	Reason        string         `json:"reason" doc:"Why it is not done, for a person; empty when nothing is in its way."`
	ReasonID      string         `json:"reason_id" doc:"Why the latest attempt failed, in no language; the filter takes it."`
	LastAnswer    string         `json:"last_answer" doc:"What the provider said to the latest attempt that failed."`
	Question      *string        `json:"question" doc:"Path below /api/v1 where its song is chosen; null if there is nothing to choose."`
	Redrivable    bool           `json:"-"`
	Discardable   bool           `json:"-"`
}

// View returns the view of a delivery.
func (n Names) View(d delivery.Delivery) Delivery {
	v := Delivery{ID: strconv.FormatInt(d.ID, 10), Provider: n.service(d), Kind: d.Kind, Ref: d.Ref,
		Subject: n.say(n.subject(d)), Items: d.Items,
		State: string(d.State), Attempts: d.Attempts, MaxAttempts: d.MaxAttempts,
		CreatedAt: core.Stamp(d.CreatedAt), EndedAt: core.Moment(d.EndedAt),
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
