package accounts

// FirstSteps is how far a person has come in what Reprise leads them through after their account was created. It can be
// left and taken up again.
type FirstSteps struct {
	Begun   bool     // the person was led there at all
	Contact bool     // an administrator has answered or skipped the question for an e-mail address
	Chosen  []string // the services that they use
	LeftOut []string // those of them that they have put off
	Ended   bool     // finished or dismissed
}
