-- What search looks in: the words of every spelling, which is never changed, and each word once.

-- +goose Up
CREATE VIRTUAL TABLE search_texts USING fts5(title, artist, album, content='', detail=column,
    prefix='1 2 3', tokenize='ascii');
CREATE TABLE search_words (
    id   INTEGER PRIMARY KEY,
    word TEXT NOT NULL UNIQUE
);
