package mqtt

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/players"
	"reprise/internal/words"
)

// publish publishes the states of users who share their listening: of some, or with nil of all. It takes back what the
// broker holds of others.
func (n *session) publish(ctx context.Context, only map[int64]bool, former map[string]bool) error {
	users, err := n.Store.Users(ctx)
	if err != nil {
		return err
	}
	if err := n.send(ctx, "status", "online"); err != nil {
		return err
	}
	sharing := map[int64]bool{}
	for _, u := range users {
		if !u.SharesListening {
			continue
		}
		sharing[u.ID] = true
		delete(former, topicOf(u.ID))
		if n.watched[u.ID] == nil {
			n.watched[u.ID] = n.follow(u.ID)
		} else if only != nil && !only[u.ID] {
			continue
		}
		if err := n.states(ctx, u); err != nil {
			return err
		}
	}
	for id, end := range n.watched {
		if !sharing[id] {
			end()
			delete(n.watched, id)
			former[topicOf(id)] = true
		}
	}
	for user := range former {
		if err := n.forget(ctx, user); err != nil {
			return err
		}
		delete(former, user)
	}
	return nil
}

// topicOf returns a user's part of the topics.
func topicOf(user int64) string { return strconv.FormatInt(user, 10) }

// track is what is playing, as Home Assistant's state and attributes.
type track struct {
	State  string `json:"state"`
	Track  string `json:"track"`
	Artist string `json:"artist"`
	Album  string `json:"album"`
	With   string `json:"with"`
	Since  string `json:"since,omitempty"`
}

// idle is the state while nothing is playing.
const idle = "idle"

// mostOfState is how many letters a state of Home Assistant has at most.
const mostOfState = 255

// states publishes the states of a user.
func (n *session) states(ctx context.Context, u accounts.User) error {
	zone, ok := words.ZoneNamed(u.Zone)
	if !ok {
		zone = time.Local
	}
	now := time.Now().In(zone)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, zone)
	today, err := n.Store.CountSent(ctx, u.ID, midnight)
	if err != nil {
		return err
	}
	open, err := n.Store.Notifications(ctx, u.ID, true)
	if err != nil {
		return err
	}
	needs := "OFF"
	for _, one := range open {
		if one.Severity == notify.Error && one.AcknowledgedAt.IsZero() {
			needs = "ON"
		}
	}
	playing := track{State: idle}
	all := n.Playing.Of(u.ID)
	if i := slices.IndexFunc(all, players.Playing.Sent); i >= 0 {
		what, t := all[i], all[i].Track
		state := []rune(t.Artist + " – " + t.Title)
		playing = track{string(state[:min(len(state), mostOfState)]), t.Title, t.Artist, t.Album, what.With,
			library.Stamp(what.Since)}
	}
	if err := n.discover(ctx, u); err != nil {
		return err
	}
	text, _ := json.Marshal(playing)
	for under, text := range map[string]string{"playing": string(text), "today": strconv.Itoa(today), "needs": needs} {
		if err := n.send(ctx, topicOf(u.ID)+"/"+under, text); err != nil {
			return err
		}
	}
	return nil
}

// silentError says that the broker doesn't answer about a topic. It is published again with the next look.
type silentError struct{ topic string }

func (e *silentError) Error() string { return "the broker doesn't answer about " + e.topic }

// send publishes a text under our topic, unless it is the one that was published last.
func (n *session) send(ctx context.Context, under, text string) error {
	return n.sendTo(ctx, n.Topic+"/"+under, text)
}

func (n *session) sendTo(ctx context.Context, topic, text string) error {
	if was, ok := n.said[topic]; ok && was == text {
		return nil
	}
	sent := n.client.Publish(topic, 1, true, text)
	select {
	case <-sent.Done():
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(answerWithin):
		return &silentError{topic}
	}
	if sent.Error() != nil {
		return &silentError{topic}
	}
	n.said[topic] = text
	return nil
}

// forget takes back all that the broker holds of a user.
func (n *session) forget(ctx context.Context, user string) error {
	if _, err := strconv.ParseInt(user, 10, 64); err != nil { // another program's topic
		return nil
	}
	for _, one := range entities {
		if n.Discovery != "" {
			if err := n.sendTo(ctx, n.config(one, user), ""); err != nil {
				return err
			}
		}
		if err := n.send(ctx, user+"/"+one.name, ""); err != nil {
			return err
		}
	}
	return nil
}
