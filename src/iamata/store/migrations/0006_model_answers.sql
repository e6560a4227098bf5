-- What language models answered.

-- mark: one patient
-- What a language model answered, so that it is asked once: its readings of talk, its adjudications of pairs. `id` is a
-- keyed hash of what was asked, of which model, under which version of the question.
create table model_answers (
  patient text not null references patients (patient),
  id text not null,
  received_at text not null,
  body blob not null,
  primary key (patient, id)
);
-- append only: model_answers
