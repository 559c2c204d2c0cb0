-- What failed is counted without a walk over all sessions.
CREATE INDEX sessions_failed ON tenet.sessions (due_at) WHERE attempts > 0;
