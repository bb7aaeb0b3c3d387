package accounts

import (
	"regexp"
	"strings"

	"reprise/internal/words"
)

// browsers are the marks of browsers in the header User-Agent, with their names. The first match counts, because most
// browsers also name others.
var browsers = []struct{ mark, name string }{
	{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Vivaldi", "Vivaldi"}, {"SamsungBrowser", "Samsung Internet"},
	{"Firefox/", "Firefox"}, {"FxiOS", "Firefox"}, {"CriOS", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
}

// systems are the marks of operating systems, with their names.
var systems = []struct{ mark, name string }{
	{"iPhone", "an iPhone"}, {"iPad", "an iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"},
	{"Mac OS X", "macOS"}, {"Linux", "Linux"},
}

// someProgram is what sends no name.
const someProgram = "a program"

// product matches the name at the start of the header that a program sends.
var product = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{0,30}`)

// Agent says in words what sent a request with that User-Agent: a browser and its system, or the name of a program.
func Agent(header string) string {
	for _, b := range browsers {
		if !strings.Contains(header, b.mark) {
			continue
		}
		for _, s := range systems {
			if strings.Contains(header, s.mark) {
				return b.name + " on " + s.name
			}
		}
		return b.name
	}
	if name := product.FindString(header); name != "" && name != "Mozilla" {
		return name
	}
	return someProgram
}

// Device returns what Agent returned, for people to read in their language.
func Device(agent string) words.Text {
	if agent == someProgram {
		return words.New("device.program")
	}
	return device(agent)
}

// device is Device inside a sentence.
func device(agent string) words.Text {
	browser, system, ok := strings.Cut(agent, " on ")
	switch {
	case agent == someProgram:
		return words.New("device.some_program")
	case !ok:
		return words.Plain(agent)
	case system == "an iPhone":
		return words.New("device.on", "Browser", browser, "System", words.New("device.iphone"))
	case system == "an iPad":
		return words.New("device.on", "Browser", browser, "System", words.New("device.ipad"))
	}
	return words.New("device.on", "Browser", browser, "System", system)
}

// from is between a device and its address in the log of activity.
const from = " from "

// Visit returns what the log of activity keeps of a sign-in: what Agent returned, and the address that it came from.
func Visit(agent, address string) string { return agent + from + address }

// VisitOf returns what Visit returned, for people to read in their language.
func VisitOf(visit string) words.Text {
	agent, address, ok := strings.Cut(visit, from)
	if !ok {
		return words.Plain(visit)
	}
	return words.New("device.from", "Device", device(agent), "Address", address)
}
