package demo

// about explains a mode on the page: what the upstream does, and what to expect in Reprise.
type about struct{ Label, Shape, Does, See string }

var modeText = map[Mode]about{
	Normal: {"Normal", "●", "Answers as it should.", "The connection is healthy, and plays arrive."},
	Unavailable: {
		"Out of order",
		"▲",
		"Answers every call with 503.",
		"The connection waits and tries again, later and later. Nobody has to act, no alert appears.",
	},
	RateLimited: {
		"Rate limited",
		"◆",
		"Answers every call with 429 and says how long to wait.",
		"The connection is held until exactly that time. “Sync now” is refused with the time.",
	},
	Revoked: {
		"Revoked",
		"✕",
		"Has ended what was authorized, for good.",
		"One alert with one button. Nothing is called until you have connected anew, which also sets this back to " +
			"normal.",
	},
	ReadOnly: {
		"Writing refused",
		"◐",
		"Reading works, submitting is answered with 403.",
		"Plays arrive; what is to be sent is parked, and one alert says so. Set this back and press “Try again”: it " +
			"goes out.",
	},
	WrongAccount: {
		"Other account",
		"◇",
		"The browser is signed in as Bob.",
		"After connecting as Bob, Reprise names both accounts and asks before anything changes.",
	},
	Hidden: {
		"Listens hidden",
		"◌",
		"Does not let recent listens be read.",
		"One alert says which privacy setting to change. After “Try again” it goes on.",
	},
	DailyLimit: {
		"Daily limit",
		"◒",
		"Takes no more plays today.",
		"Plays arrive; what is to be sent waits until midnight UTC, and nothing is lost.",
	},
	KeySpent: {
		"First key spent",
		"◓",
		"Has no quota left for the first API key.",
		"Nothing changes: the same request goes out with the second key. The settings page shows that the first " +
			"cools until midnight Pacific time.",
	},
	KeysSpent: {
		"All keys spent",
		"◉",
		"Has no quota left for any API key.",
		"Nothing stops: everything is read with your own permission. The settings page shows that all keys cool " +
			"until midnight Pacific time.",
	},
	KeyInvalid: {
		"Last key refused",
		"⊗",
		"Does not know the last API key.",
		"Nothing changes: the other keys are used. The settings page shows which one is refused.",
	},
	Suspended: {
		"Key suspended",
		"⊘",
		"Refuses the API key of this installation.",
		"One alert for the administrator; everyone else reads that the administrator must fix it.",
	},
	Portal: {
		"Captive portal",
		"▢",
		"Answers 200 with a web page that is not from the service.",
		"The connection waits, as in an outage.",
	},
	Hang: {
		"Hanging",
		"…",
		"Accepts every call and never answers.",
		"A sync ends at its time limit, and the connection waits.",
	},
	Slow: {"Slow", "◔", "Answers after a few seconds.", "Everything works, only later."},
	Cut: {
		"Cut off",
		"✂",
		"Breaks the connection in the middle of every answer.",
		"The connection waits. What had arrived before is kept, nothing is counted as read.",
	},
}

// factsText is modeText for the services that are asked for facts about music, on behalf of the installation, where
// something else is to be seen.
var factsText = map[Mode]about{
	Normal: {
		"Normal",
		"●",
		"Answers as it should.",
		"Artists, albums and tracks get their facts and pictures, one after the other.",
	},
	Unavailable: {
		"Out of order",
		"▲",
		"Answers every call with 503.",
		"The queue waits and goes on later. Nobody has to act, no alert appears.",
	},
	RateLimited: {
		"Rate limited",
		"◆",
		"Answers every call with 429 and says how long to wait.",
		"The queue waits until exactly that time.",
	},
	KeySpent: {
		"First key limited",
		"◓",
		"Answers the first API key with 429.",
		"Nothing changes: the same request goes out with the second key. The settings page shows until when the " +
			"first cools.",
	},
	Portal: {
		"Captive portal",
		"▢",
		"Answers 200 with a web page that is not from the service.",
		"The queue waits, as in an outage.",
	},
	Hang: {
		"Hanging",
		"…",
		"Accepts every call and never answers.",
		"A call ends at its time limit, and the queue waits.",
	},
	Cut: {
		"Cut off",
		"✂",
		"Breaks the connection in the middle of every answer.",
		"The queue waits. Nothing is counted as known.",
	},
}

// digestText is modeText for the language model, where something else is to be seen. A digest is called for when it is
// due, or asked for on its page.
var digestText = map[Mode]about{
	Normal: {
		"Normal",
		"●",
		"Answers as it should.",
		"The last week's digest stands on its page. Delete it there to have it written once more.",
	},
	Unavailable: {
		"Out of order",
		"▲",
		"Answers every call with 503.",
		"A digest that is asked for waits, and comes later. Nobody has to act, no alert appears.",
	},
	RateLimited: {
		"Rate limited",
		"◆",
		"Answers every call with 429 and says how long to wait.",
		"A digest that is asked for waits until exactly that time.",
	},
	KeySpent: {
		"First key spent",
		"◓",
		"Has no credit left for the first API key.",
		"Nothing changes: the same request goes out with the second key. The settings page shows that the first " +
			"cools for a day.",
	},
	KeysSpent: {
		"All keys spent",
		"◉",
		"Has no credit left for any API key.",
		"A digest that is asked for is held for a day, also after you set this back, and the administrator is told " +
			"once.",
	},
	Portal: {
		"Captive portal",
		"▢",
		"Answers 200 with a web page that is not from the service.",
		"A digest that is asked for waits, as in an outage.",
	},
	Hang: {
		"Hanging",
		"…",
		"Accepts every call and never answers.",
		"The call ends after 30 seconds, and the digest waits.",
	},
	Cut: {
		"Cut off",
		"✂",
		"Breaks the connection in the middle of every answer.",
		"A digest that is asked for waits.",
	},
}

// textOf returns the explanation of a mode of an upstream.
func textOf(provider string, m Mode) about {
	switch {
	case provider == MusicBrainz && m == Unavailable:
		return about{
			"Throttling",
			"▲",
			"Answers every call with 503, which there means too many calls, and says how long to wait.",
			"The queue waits until exactly that time.",
		}
	case provider == MusicBrainz, provider == FanartTV:
		if text, ok := factsText[m]; ok {
			return text
		}
	case provider == OpenAI:
		if text, ok := digestText[m]; ok {
			return text
		}
	}
	return modeText[m]
}
