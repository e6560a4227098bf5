-- What stands beside the turns of a conversation: tool calls, and what was put into contexts before.

-- name: count_messages
-- mark: one patient
-- How many turns a session has.
select count(*) from messages where patient = :patient and session = :session;

-- name: count_tool_calls
-- mark: one patient
-- How many calls a session has.
select count(*) from tool_calls where patient = :patient and session = :session;

-- name: has_tool_call
-- mark: one patient
-- Is this call held?
select 1 from tool_calls where patient = :patient and id = :id;

-- name: insert_tool_call
-- mark: one patient
-- One call.
insert into tool_calls (patient, id, session, position, follows, received_at, body)
values (:patient, :id, :session, :position, :follows, :received_at, :body);

-- name: tool_calls
-- mark: one patient
-- The calls of one session, in order.
select id, follows, received_at, body from tool_calls where patient = :patient and session = :session order by position;

-- name: called_sessions
-- mark: one patient
-- The sessions that have recorded calls.
select distinct session from tool_calls where patient = :patient order by session;

-- name: insert_shown_word
-- mark: one patient
-- A run of words that was put into a context.
insert into shown_words (patient, mark) values (:patient, :mark) on conflict (patient, mark) do nothing;

-- name: any_shown_words
-- mark: one patient
-- Was anything put into a context?
select 1 from shown_words where patient = :patient limit 1;

-- name: shown_words
-- mark: one patient
-- Which of 32 runs of words were put into a context.
select mark from shown_words where patient = :patient and mark in (
  :m0, :m1, :m2, :m3, :m4, :m5, :m6, :m7, :m8, :m9, :m10, :m11, :m12, :m13, :m14, :m15,
  :m16, :m17, :m18, :m19, :m20, :m21, :m22, :m23, :m24, :m25, :m26, :m27, :m28, :m29, :m30, :m31
);
