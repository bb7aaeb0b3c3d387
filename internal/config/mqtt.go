package config

import (
	"net/url"
	"strings"

	"reprise/internal/resilience"
	"reprise/internal/words"
)

// MQTT is the broker to which Reprise publishes what people are playing.
type MQTT struct {
	Broker    resilience.Secret // mqtt://NAME:PASSWORD@HOST:1883, or mqtts://; empty for none
	Topic     string            // prefix of all topics
	Discovery string            // prefix of Home Assistant's topics for discovery; empty for none
}

func (c *Config) ofMQTT() []row {
	return []row{
		{Setting{Path: "mqtt.url", Group: Notifications, Kind: Secret}, c.setBroker},
		{Setting{Path: "mqtt.topic", Default: "reprise", Group: Notifications, Kind: Text}, topic(&c.MQTT.Topic)},
		{Setting{Path: "mqtt.discovery", Default: "homeassistant", Group: Notifications, Kind: Text},
			c.setDiscovery},
	}
}

func (c *Config) setBroker(s string) error {
	if s = strings.TrimSpace(s); s == "" {
		return nil
	}
	u, err := url.Parse(s) // the error would contain the password
	if err != nil || u.Scheme != "mqtt" && u.Scheme != "mqtts" || u.Hostname() == "" ||
		strings.Trim(u.Path, "/") != "" {
		return words.Errorf("settings.wrong.mqtt")
	}
	c.MQTT.Broker = resilience.Secret(s)
	return nil
}

// noDiscovery turns Home Assistant's discovery off.
const noDiscovery = "off"

func (c *Config) setDiscovery(s string) error {
	err := topic(&c.MQTT.Discovery)(s)
	if c.MQTT.Discovery == noDiscovery {
		c.MQTT.Discovery = ""
	}
	return err
}

// topic returns a setter for the prefix of topics: without wildcards, and not one that brokers keep for themselves.
func topic(to *string) func(string) error {
	return func(s string) error {
		s = strings.Trim(strings.TrimSpace(s), "/")
		if s == "" || strings.ContainsAny(s, "#+ \x00") || strings.HasPrefix(s, "$") || len(s) > 100 {
			return words.Errorf("settings.wrong.topic")
		}
		*to = s
		return nil
	}
}
