package s3

import (
	"errors"
	"net/http"
	"slices"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// The codes that the adapter itself acts on.
const (
	codeNoSuchKey = "NoSuchKey"                  // of a write: the object to replace is gone
	codeConflict  = "ConditionalRequestConflict" // two conditional writes at once
	codeChanged   = "ChangedMeanwhile"           // our own: found by reading
)

func fatal(c resilience.Category, advice words.Text) resilience.Meaning {
	return resilience.Meaning{Class: resilience.Fatal, Category: c, Scope: resilience.ScopeConnection, Advice: advice}
}

var (
	slowDown = resilience.Meaning{Class: resilience.Retriable, Category: resilience.RateLimit,
		Scope: resilience.ScopeConnection}
	passes = resilience.Meaning{Class: resilience.Retriable, Category: resilience.Upstream,
		Scope: resilience.ScopeStream}
	meanwhile = resilience.Meaning{Class: resilience.Retriable, Category: resilience.Upstream,
		Scope: resilience.ScopeStream, Advice: adviceMeanwhile}
	full = resilience.Meaning{Class: resilience.Retriable, Category: resilience.Quota,
		Scope: resilience.ScopeConnection, Advice: adviceFull}
	stranger = resilience.Meaning{Class: resilience.Retriable, Category: resilience.Upstream,
		Scope: resilience.ScopeStream, FatalAfter: 10}
	tooLarge = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
		Advice: adviceTooLarge}
	unknownKey = fatal(resilience.Auth,
		words.New("s3.key"))
	wrongSecret = fatal(resilience.Auth,
		words.New("s3.secret"))
	notAllowed = fatal(resilience.Permission, words.New("s3.denied"))
	noBucket   = fatal(resilience.Config, words.New("s3.no_bucket"))
	otherPlace = fatal(resilience.Config, words.New("s3.elsewhere"))
	wrongClock = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config,
		Scope: resilience.ScopeConnection, Advice: words.New("s3.clock"),
		ForAdmin: words.New("s3.clock_admin")}
)

var (
	adviceMeanwhile = words.New("s3.meanwhile")
	adviceFull      = words.New("s3.full")
	adviceTooLarge  = words.New("s3.too_large")
)

// table is the error table of S3 and compatible servers. Amazon answers some retriable failures with 400. A 404
// without a code comes from a proxy whose server is restarting.
var table = providers.Table{
	{Code: "SlowDown", Meaning: slowDown},
	{Code: "SlowDownRead", Meaning: slowDown},
	{Code: "SlowDownWrite", Meaning: slowDown},
	{Code: "RequestTimeout", Meaning: passes},
	{Code: "IncompleteBody", Meaning: passes},
	{Code: "BadDigest", Meaning: passes},
	{Code: "XAmzContentSHA256Mismatch", Meaning: passes},
	{Code: "TemporaryRedirect", Meaning: passes},
	{Code: "InvalidAccessKeyId", Meaning: unknownKey},
	{Code: "XAdminUserNotFound", Meaning: unknownKey}, // versitygw, with 404
	{Code: "ExpiredToken", Meaning: unknownKey},
	{Code: "InvalidToken", Meaning: unknownKey},
	{Code: "SignatureDoesNotMatch", Meaning: wrongSecret},
	{Code: "RequestTimeTooSkewed", Meaning: wrongClock},
	{Code: "QuotaExceeded", Meaning: full},
	{Code: "AccessDenied", Meaning: notAllowed},
	{Code: "NoSuchBucket", Meaning: noBucket},
	{Code: "InvalidBucketName", Meaning: noBucket},
	{Code: "PermanentRedirect", Meaning: otherPlace},
	{Code: "AuthorizationHeaderMalformed", Meaning: otherPlace},
	{Code: "InvalidRegion", Meaning: otherPlace},
	{Code: "IllegalLocationConstraintException", Meaning: otherPlace},
	{Code: "EntityTooLarge", Meaning: tooLarge},
	{Code: codeNoSuchKey, Meaning: meanwhile},
	{Status: http.StatusForbidden, Meaning: notAllowed},
	{Status: http.StatusNotFound, Meaning: stranger},
	{Status: http.StatusConflict, Meaning: meanwhile},
	{Status: http.StatusPreconditionFailed, Meaning: meanwhile},
	{Status: http.StatusRequestEntityTooLarge, Meaning: tooLarge},
	{Status: http.StatusInsufficientStorage, Meaning: full},
}

// changedMeanwhile reports whether err says that the object has changed since it was read.
func changedMeanwhile(err error) bool {
	e, ok := errors.AsType[*resilience.AnswerError](err)
	codes := []string{codeConflict, codeNoSuchKey, codeChanged}
	return ok && !e.HTML && (e.Status == http.StatusPreconditionFailed || slices.Contains(codes, e.Code))
}

// wordless reports whether err is a refusal of a HEAD, whose answer has no body and so no reason. The next request is
// either refused with a reason, or succeeds: a key that may not list a bucket gets a 403 for a missing object, but may
// still write it.
func wordless(err error) bool {
	e, ok := errors.AsType[*resilience.AnswerError](err)
	return ok && !e.HTML && e.Status >= 300 && !e.Busy() && e.Status != http.StatusRequestTimeout
}

// answered reports whether err is the storage's own answer with this status.
func answered(err error, status int) bool {
	e, ok := errors.AsType[*resilience.AnswerError](err)
	return ok && !e.HTML && e.Status == status
}

// notThere reports whether the storage answers that the object does not exist.
func notThere(err error) bool { return answered(err, http.StatusNotFound) }

// notBuilt reports whether the storage answers that it does not implement the request.
func notBuilt(err error) bool { return answered(err, http.StatusNotImplemented) }

// tables returns the error tables for docs/providers.md.
func tables() providers.Tables {
	return providers.Tables{
		Provider: "S3-compatible storage",
		Sources:  []string{"https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html"},
		Reading: "The code is `Code` in the XML body. XML counts as data here, unless it is HTML. If " +
			"Reprise looks for an object that isn't there, that is no failure. If another program " +
			"changes an object between Reprise's look and its write, that counts as a 412, however " +
			"Reprise notices.",
		Of: []providers.NamedTable{{Calls: "all calls", Table: table}},
	}
}
