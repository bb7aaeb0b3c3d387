package mqtt

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"

	"reprise/internal/accounts"
)

// entity is what Home Assistant shows of a person.
type entity struct {
	name      string // of the topic
	component string
	label     string
	more      map[string]any
}

var entities = []entity{
	{"playing", "sensor", "Playing", map[string]any{"icon": "mdi:music", "value_template": "{{ value_json.state }}"}},
	{"today", "sensor", "Plays today", map[string]any{"icon": "mdi:counter", "state_class": "total_increasing",
		"unit_of_measurement": "plays"}},
	{"needs", "binary_sensor", "Needs you", map[string]any{"device_class": "problem"}},
}

// config returns the topic on which Home Assistant reads about an entity.
func (n *session) config(e entity, person string) string {
	return n.Discovery + "/" + e.component + "/" + n.id(e, person) + "/config"
}

func (n *session) id(e entity, person string) string { return n.device(person) + "_" + e.name }

func (n *session) device(person string) string { return plain(n.Topic) + "_" + person }

// unfit is what Home Assistant takes in no id, and a broker perhaps not either.
var unfit = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// plain returns a topic as part of an id.
func plain(topic string) string { return unfit.ReplaceAllString(topic, "_") }

// discover has Home Assistant show a person as a device.
func (n *session) discover(ctx context.Context, person string, u accounts.User) error {
	if n.Discovery == "" {
		return nil
	}
	device := map[string]any{"identifiers": []string{n.device(person)}, "name": "Reprise " + u.Name,
		"manufacturer": "Reprise", "sw_version": n.Version}
	for _, e := range entities {
		state := n.Topic + "/" + person + "/" + e.name
		about := map[string]any{"name": e.label, "unique_id": n.id(e, person), "state_topic": state,
			"availability_topic": n.Topic + "/status", "device": device}
		maps.Copy(about, e.more)
		if e.name == "playing" {
			about["json_attributes_topic"] = state
		}
		text, _ := json.Marshal(about)
		if err := n.sendTo(ctx, n.config(e, person), string(text)); err != nil {
			return err
		}
	}
	return nil
}
