package mqtt

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"

	"reprise/internal/accounts"
	"reprise/internal/words"
)

// entity is something that Home Assistant shows of a user.
type entity struct {
	name      string // last part of its topic; its name for people is the sentence mqtt.<name>
	component string // of Home Assistant
	more      map[string]any
}

var entities = []entity{
	{"playing", "sensor", map[string]any{"icon": "mdi:music", "value_template": "{{ value_json.state }}"}},
	{"today", "sensor", map[string]any{"icon": "mdi:counter", "state_class": "total_increasing"}},
	{"needs", "binary_sensor", map[string]any{"device_class": "problem"}},
}

// config returns the topic on which Home Assistant reads about an entity.
func (n *session) config(e entity, user string) string {
	return n.Discovery + "/" + e.component + "/" + n.device(user) + "_" + e.name + "/config"
}

func (n *session) device(user string) string { return plain(n.Topic) + "_" + user }

// unfit are the characters that Home Assistant accepts in no id.
var unfit = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// plain returns a topic as a part of an id.
func plain(topic string) string { return unfit.ReplaceAllString(topic, "_") }

// discover has Home Assistant show a user as a device, in their language.
func (n *session) discover(ctx context.Context, u accounts.User) error {
	if n.Discovery == "" {
		return nil
	}
	user, reader := topicOf(u.ID), u.Reader(ctx)
	device := map[string]any{"identifiers": []string{n.device(user)}, "name": "Reprise " + u.Name,
		"manufacturer": "Reprise", "sw_version": n.Version}
	for _, e := range entities {
		state := n.Topic + "/" + user + "/" + e.name
		about := map[string]any{"name": words.Each("mqtt.", e.name).T(reader),
			"unique_id": n.device(user) + "_" + e.name, "state_topic": state,
			"availability_topic": n.Topic + "/status", "device": device}
		maps.Copy(about, e.more)
		if e.name == "playing" {
			about["json_attributes_topic"] = state
		}
		text, _ := json.Marshal(about)
		if err := n.sendTo(ctx, n.config(e, user), string(text)); err != nil {
			return err
		}
	}
	return nil
}
