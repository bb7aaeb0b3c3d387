package delivery

// State is the state of a delivery.
type State string

// The states.
const (
	Scheduled State = "scheduled" // not attempted yet
	Running   State = "running"   // taken with others to its connection, and attempted when it is its turn
	Retrying  State = "retrying"  // attempted, and tried again when it is due
	Parked    State = "parked"    // waits for a person; uses no attempts and does not age
	Done      State = "done"
	Dead      State = "dead" // given up
)

// Live reports whether a delivery in this state has not ended.
func (s State) Live() bool { return s != Done && s != Dead }

// States are all states, in the order in which people see them.
var States = []State{Scheduled, Running, Retrying, Parked, Dead, Done}

// Transition is a change from one state to another.
type Transition struct {
	From, To State  // an empty From is before the delivery, an empty To after it
	When     string // without colon or semicolon, which older versions of Mermaid do not read
}

// Transitions are all transitions.
var Transitions = []Transition{
	{"", Scheduled, "stored with its data"},
	{"", Dead, "refused alone in a batch that was accepted"},
	{Scheduled, Running, "due"},
	{Retrying, Running, "due"},
	{Running, Done, "accepted by the provider"},
	{Running, Retrying, "retriable, or the process died (an attempt is used up)"},
	{Running, Scheduled, "postponed before its first attempt (a wait, a hold, a shutdown, a batch halved)"},
	{Running, Dead, "one bad item, or attempts used up"},
	{Running, Parked, "fatal (a person has to act)"},
	{Scheduled, Parked, "its connection was stopped, paused or removed"},
	{Retrying, Parked, "its connection was stopped, paused or removed"},
	{Parked, Scheduled, "reconnected, resumed or tried again"},
	{Parked, Retrying, "the same, after earlier attempts"},
	{Retrying, Scheduled, "re-driven"},
	{Dead, Scheduled, "re-driven, or its cause is gone"},
	{Dead, Retrying, "retried after a day"},
	{Done, "", "forgotten after a week, or discarded"},
	{Dead, "", "removed after delivery.keep_dead, or discarded"},
	{Scheduled, "", "discarded"},
	{Retrying, "", "discarded"},
	{Parked, "", "discarded"},
}
