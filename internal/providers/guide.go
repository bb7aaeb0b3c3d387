package providers

import "reprise/internal/words"

// Guide leads an administrator through the registration of the installation with a provider, step by step.
type Guide struct {
	// First is what decides whether it can work at all, such as a subscription; zero when nothing does.
	First words.Text
	Steps []Step
}

// Step is one thing to do.
type Step struct {
	Text words.Text
	Page string   // the address at which it is done; empty for that of the step before
	Copy []string // what is to be copied into that page; see RedirectURI
}

// RedirectURI in Step.Copy is replaced by the address that the provider's consent page leads back to.
const RedirectURI = "{redirect}"
