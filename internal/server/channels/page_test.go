package channels

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/notify"
	"reprise/internal/words"
)

func phone() notify.Channel {
	return notify.Channel{ID: 7, Kind: "ntfy", Name: "My phone", URL: "ntfy://ntfy.sh/topic-12345",
		Wishes: notify.DefaultWishes(), CreatedAt: time.Now()}
}

func TestACardSaysWhatAChannelNeeds(t *testing.T) {
	t.Parallel()
	c := cardOf(t.Context(), phone(), nil)
	require.Equal(t, "Working", c.State.Word)
	require.Empty(t, c.Trouble)
	require.Contains(t, c.Facts, "Nothing sent yet.")

	failing := phone()
	failing.Failures, failing.Reason, failing.FailingSince = 2, words.Plain("No answer."), time.Now()
	require.Equal(t, "Failing", cardOf(t.Context(), failing, nil).State.Word)
	failing.Waiting = 3
	c = cardOf(t.Context(), failing, nil)
	require.Equal(t, "Retrying", c.State.Word)
	require.Contains(t, c.Facts, "3 messages are waiting.")

	failing.StoppedAt = time.Now()
	c = cardOf(t.Context(), failing, nil)
	require.Equal(t, "Needs you", c.State.Word)
	require.Contains(t, c.Trouble, "No answer. Nothing has been sent there since ")
	require.True(t, c.Actions[0].Main, "to try again is the way out")
}

func TestFailedMessagesAreWithTheirChannel(t *testing.T) {
	t.Parallel()
	c := cardOf(t.Context(), phone(), []delivery.Group{{Connection: "channel-7", Kind: delivery.Notify,
		Reason: words.Plain("Refused."), Count: 2}, {Connection: "channel-7", Kind: delivery.Notify, Count: 1}})
	require.Equal(t, "2 messages could not be sent. Refused.", c.Failed[0].Says)
	to, err := url.Parse(c.Failed[0].Actions[0].URL)
	require.NoError(t, err)
	require.Equal(t, "/deliveries/redrive", to.Path)
	require.Equal(t, "connection=channel-7&reason=Refused.&state=dead", to.RawQuery)
	require.Empty(t, c.Failed[1].Actions, "nothing by which they can be selected")
}

// Every kind and field has its words, in both languages; ids of fields are unique; hostile names turn nothing.
func TestThePageHasWordsForEveryKind(t *testing.T) {
	t.Parallel()
	ch := phone()
	ch.Name = "\u202eאבג"
	for _, l := range []*words.Language{words.English, words.German} {
		ctx := words.With(t.Context(), l)
		for _, kind := range append(channels.Kinds(), channels.Kind{Name: "url"}) {
			v := listView{Cards: []card{cardOf(ctx, ch, nil)}, Forms: formsOf(ctx, typed{Kind: kind.Name,
				Problem: "No.", Values: map[string]string{"topic": "x"}})}
			require.Len(t, v.Forms, len(channels.Kinds()),
				"a browser is added by itself, and there is one for addresses")
			var b strings.Builder
			require.NoError(t, list(v).Render(ctx, &b))
			html := b.String()
			require.NotContains(t, html, "channels.", "every sentence is there")
			require.NotContains(t, html, "\u202e")
			require.Equal(t, kind.Name == "ntfy", strings.Contains(html, `value="x"`), kind.Name)
			require.Equal(t, len(v.Forms), strings.Count(html, `class="kind"`))
			for _, f := range v.Forms {
				for _, field := range append(f.Fields, f.Wishes.Fields...) {
					shown := 0
					if f.Open {
						shown = 1
					}
					require.Equal(t, shown, strings.Count(html, ` id="`+field.ID+`"`), field.ID)
				}
			}
		}
	}
}
