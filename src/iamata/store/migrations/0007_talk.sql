-- Tool calls beside talk, and what was put into contexts.

-- mark: one patient
-- What agents asked of tools during a conversation. `position` counts the calls of a session from 0; `follows` is the
-- position of the message before, -1 if there was none. Not tied to `sessions`: a call may come before the first turn.
create table tool_calls (
  patient text not null references patients (patient),
  id text not null,
  session text not null,
  position bigint not null,
  follows bigint not null,
  received_at text not null,
  body blob not null,
  primary key (patient, id),
  unique (patient, session, position)
);
-- append only: tool_calls

-- mark: one patient
-- Runs of words that were put into somebody's context, as keyed hashes: what comes back in talk is known by them.
create table shown_words (
  patient text not null references patients (patient),
  mark blob not null,
  primary key (patient, mark)
);
-- append only: shown_words
