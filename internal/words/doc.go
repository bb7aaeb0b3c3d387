// Package words holds every sentence that a person reads in the browser, in a notification or in a mail, in English, in
// German and in the languages that people have contributed.
//
// # The catalogue
//
// The files en/*.toml and de/*.toml are the catalogue: one file for each area, with the same name and the same ids in
// both languages. Any other folder, such as fr, is a contributed language: its words.toml has the same ids, and what it
// lacks is said in English. An id is "area.what". A sentence names its arguments in braces ({{.Name}}); one with a
// plural has the forms of its language, "one" and "other" in English, chosen by the argument Count.
//
// # In code
//
// Code names ids. [T] puts a sentence into the language of a request; a [Text] is a sentence whose reader is not known
// yet: an error, a state, a stored notification. It keeps the id and the arguments, and is put into a language where
// somebody reads it, with [Text.In] or [Text.T]. An id is a constant in the source, so that a test can compare the
// source with the catalogue; where one is computed, [Each] takes the constant prefix.
//
// Arguments are strings, numbers, [time.Time] (shown as a time of day, with the date if it is another day), [Day], and
// other Texts. A time becomes an RFC 3339 stamp in the sentence: a page makes it a time element, and
// [Language.Plain] writes it out for a message.
//
// Everything here is safe for concurrent use.
package words
