// Made by clients/generate.py from the server's OpenAPI document; do not edit.

export interface AppendedBody {
  messages: MessageIn[];
}

export interface Approximate {
  questions: number;
  recall: number;
}

export interface AuditEntry {
  action: string;
  actor?: string;
  at: string;
  codes?: string[] | null;
  digest: string | null;
  hash: string | null;
  outcome?: string;
  prev: string | null;
  ref?: string;
  ruleset?: string;
  seq: number;
  why?: string;
}

export interface Authorization {
  action: string;
  answer: string;
  items: number;
  lowest?: string;
  reasons: Ground[] | null;
}

export interface AuthorizeAskedBody {
  /** payment, account_change, outbound_message, data_sharing, code_execution, deletion, or one of the policy's own */
  action: string;
  /** the records that the action rests on */
  records?: string[] | null;
}

export interface Blob {
  created_at: string;
  data: string | null;
  expires_at?: string;
  id: string;
  meta?: string | null;
  parent?: string;
  thread: string;
}

export interface BlobPutBody {
  /** at most 1 MiB, base64; read back byte for byte */
  data: string | null;
  /** default: the server's */
  keep_seconds?: number;
  /** at most 256 KiB, base64 */
  meta?: string | null;
  parent?: string;
  /** 409 unless the parent is the newest version */
  strict?: boolean;
}

export interface Candidate {
  cites?: string[] | null;
  id: string;
  if_version?: string;
  key?: string;
  multi?: boolean;
  op?: string;
  position?: number;
  proposed_at?: string;
  proposed_by?: string;
  quote?: string;
  recalled?: string[] | null;
  route?: string;
  safety?: boolean;
  session?: string;
  speaker?: string;
  text: string;
  tier?: string;
  valid?: Interval;
  value?: unknown;
}

export interface CandidateIn {
  /** ids of messages of this subject that say it */
  cites?: string[] | null;
  /** makes the proposal itself idempotent */
  id?: string;
  key?: string;
  /** the words that say it, which the key attests were said */
  quote?: string;
  safety?: boolean;
  text?: string;
  /** named by the writer; there is no default, and the gate refuses a record without */
  tier?: "fact" | "note";
  valid_from?: string;
  valid_to?: string;
  value?: unknown;
}

export interface Checkpoint {
  at: string;
  by: string;
  done?: Step[] | null;
  effects?: string[] | null;
  position: number;
  session: string;
  state?: string | null;
  step: number;
  version: number;
}

export interface CheckpointInBody {
  done?: Step[] | null;
  /** keys of the effects begun so far */
  effects?: string[] | null;
  /** of a hold; a stale one is refused */
  fence?: number;
  /** of the message log */
  position?: number;
  /** at most 1 MiB, base64 */
  state?: string | null;
  /** index of the step to run next */
  step: number;
  /** the last one plus one */
  version: number;
}

export interface Claimed {
  effect: Effect;
  granted: boolean;
}

export interface ClaimedBody {
  fence?: number;
  /** what would be sent; only a keyed digest is kept */
  payload?: unknown;
  /** the provider honours the key: grant another attempt when it is in doubt or failed */
  retry?: boolean;
  /** how long the outcome may take; default 60 */
  seconds?: number;
  step?: number;
}

export interface Cluster {
  conflicts: (string[] | null)[] | null;
  id: string;
  records: Record[] | null;
}

export interface Clusters {
  clusters: Cluster[] | null;
}

export interface ConfirmedBody {
  /** of the prompt that the user was shown */
  nonce: string;
}

export interface ContextAskedBody {
  /** default: the last user message */
  query?: string;
  /** most records recalled by meaning; default 10, -1 for none */
  recall?: number;
  /** of what the facts leave; default 0.4 */
  recall_share?: number;
  /** for everything together; default 4000 */
  tokens?: number;
}

export interface Decision {
  verdict: Verdict;
}

export interface DiscardedBody {
  /** for the audit entry; no memory text */
  why?: string;
}

export interface Document {
  label: string;
  path: string;
  sha256: string;
  text: string;
  valid: Interval;
  version: string;
}

export interface DocumentHit {
  label: string;
  path: string;
  score: number;
  sha256: string;
  text: string;
  valid: Interval;
  version: string;
}

export interface DocumentHits {
  approximate?: Approximate;
  degraded?: string;
  hits: DocumentHit[] | null;
}

export interface DocumentOut {
  label: string;
  path: string;
  sha256: string;
  text: string;
  valid: Interval;
  version: string;
}

export interface DocumentPutBody {
  cites?: string[] | null;
  /** at most 100 KiB, kept byte for byte */
  text: string;
}

export interface DocumentsSearchedBody {
  /** default 10 */
  k?: number;
  prefix?: string;
  query: string;
}

export interface DropAskedBody {
  /** for the audit entry; no memory text */
  why: string;
}

export interface Dropped {
  dropped: number;
}

export interface Dumped {
  items: number;
  kept: number;
  refused: { [key: string]: unknown };
  turned: Turned[] | null;
}

export interface Effect {
  attempt: number;
  claimed_at: string;
  claimed_by: string;
  key: string;
  lease_until: string;
  outcome?: unknown;
  session: string;
  settled_at?: string;
  state: string;
  step: number;
}

export interface Effects {
  effects: Effect[] | null;
}

export interface Ending {
  messages: number;
  scope: Scope;
  session: string;
  verdicts: Verdict[] | null;
}

export interface EraseAskedBody {
  /** count, and write nothing */
  dry_run?: boolean;
  /** the record's, message's or session's id, the key, or the origin (a principal, or channel:external); none for subject and tenant */
  name?: string;
  /** what to begin with; all that hangs on it goes, too */
  what: "record" | "message" | "session" | "key" | "origin" | "subject" | "tenant";
  /** for the receipt; no memory text */
  why?: string;
}

export interface Erasure {
  counts: { [key: string]: unknown };
  dry_run?: boolean;
  kept: string[] | null;
  not_searched?: string;
  receipt?: ErasureReceipt;
  records: string[] | null;
  what: string;
}

export interface ErasureCheck {
  chain?: string;
  ok: boolean;
  places: { [key: string]: unknown };
  signature: boolean;
}

export interface ErasureReceipt {
  at: string;
  by: string;
  chain: string;
  counts: { [key: string]: unknown };
  form: string;
  hash: string;
  id: string;
  key: string;
  not_searched?: string;
  removed: Journaled;
  seq: number;
  sig: string;
  what: string;
  why?: string;
}

export interface ErasureState {
  at: string;
  chain: string;
  counts: { [key: string]: unknown };
  id: string;
  seq: number;
  state: string;
  what: string;
}

export interface ErasuresOut {
  erasures: ErasureState[] | null;
}

export interface Evidence {
  excerpt: string;
  label: string;
  message: string;
  role: string;
  said_at: string;
  session?: string;
}

export interface Explanation {
  Approximate: boolean;
  Dense: number;
  Exact: number;
  Near: number;
  Preference: number;
  Session: number;
  Speaker: number;
  Standing: number;
  Terms: TermPart[] | null;
  Time: number;
  Turn: number;
  Window: number;
}

export interface Fact {
  closed?: string;
  confirmation: string;
  elevates?: string;
  expired?: boolean;
  expires_at?: string;
  fragment_of?: string;
  id: string;
  key?: string;
  known: Interval;
  label: string;
  message?: string;
  multi?: boolean;
  origins: Origin[] | null;
  position?: number;
  revalidate_after?: string;
  safety?: boolean;
  scope: Scope;
  seen: number;
  session?: string;
  shadowed_by?: string;
  speaker?: string;
  stale?: boolean;
  superseded_by?: string;
  supersedes?: string;
  text: string;
  tier: string;
  tool_call?: string;
  valid: Interval;
  value?: unknown;
}

export interface FactEndedBody {
  /** one version, when the key holds several; with it the key may be - for any */
  record?: string;
  /** when it stopped being true; default now */
  to?: string;
  /** for the audit entry; no memory text */
  why?: string;
}

export interface FactPutBody {
  cites?: string[] | null;
  quote?: string;
  safety?: boolean;
  text?: string;
  valid_from?: string;
  valid_to?: string;
  value?: unknown;
}

export interface Facts {
  facts: Fact[] | null;
}

export interface FieldProblem {
  location: string;
  message: string;
}

export interface Finding {
  check: string;
  code: string;
  detail?: string;
  end?: number;
  start?: number;
}

export interface Found {
  approximate?: Approximate;
  degraded?: string;
  hits: Recalled[] | null;
  reason?: string;
  time?: Range;
}

export interface Frozen {
  by: string;
  overdue: number;
  scope: Scope;
  seq: number;
  since: string;
  why: string;
}

export interface Ground {
  answer: string;
  code: string;
  label?: string;
  messages?: string[] | null;
  n: number;
  records?: string[] | null;
}

export interface Held {
  by: string;
  expires_at: string;
  proposal: Candidate;
  state: string;
  verdict: Verdict;
}

export interface HeldBody {
  /** names the worker; the same one extends */
  holder: string;
  /** default 60 */
  seconds?: number;
}

export interface Hold {
  fence: number;
  until: string;
}

export interface ImportAskedBody {
  /** the file's text */
  file: string;
  /** what the file is: an export of Tenet's, mem0's get_all, or the items of a LangGraph store */
  form: "export" | "mem0" | "langgraph";
  /** kept with the audit entry; no memory text */
  why?: string;
}

export interface ImportOut {
  dump?: Dumped;
  export?: Imported;
}

export interface Imported {
  kept: number;
  merged: number;
  own: boolean;
  parts: number;
  refused: { [key: string]: unknown };
  restored: number;
  sessions: number;
  there: number;
}

export interface Interval {
  from?: string;
  to?: string;
}

export interface Job {
  attempts?: number;
  code?: string;
  due_at?: string;
  messages: number;
  scope: Scope;
  session: string;
  state: string;
}

export interface Journaled {
  at: string;
  chains?: string[] | null;
  gone?: string[] | null;
  id: string;
  parts?: JournaledPart[] | null;
  what: string;
}

export interface JournaledPart {
  chain: string;
  items?: string[] | null;
  tombs?: string[] | null;
}

export interface Key {
  created_at: string;
  expires_at?: string;
  id: string;
  kind: string;
  name: string;
  owns?: string[] | null;
  revoked_at?: string;
  subjects?: string[] | null;
  tenant: string;
}

export interface KeyExpiringBody {
  /** from now; 0: until it is revoked */
  seconds: number;
}

export interface KeyInBody {
  kind: "agent" | "app" | "user" | "connector" | "operator" | "admin";
  /** who holds it; kept as provenance */
  name: string;
  /** fact keys of a connector */
  owns?: string[] | null;
  /** how long it is good; default: until revoked */
  seconds?: number;
  /** user:ID, project:ID, tenant; empty: the whole tenant */
  subjects?: string[] | null;
}

export interface KeyOut {
  key: Key;
  /** shown this once; only a keyed hash is kept */
  secret: string;
}

export interface LegalHoldAskedBody {
  /** for the audit entry and the list of holds; no memory text */
  why: string;
}

export interface LegalHoldOut {
  entry: AuditEntry;
}

export interface MemoryCommandBody {
  command: "view" | "create" | "str_replace" | "insert" | "delete" | "rename";
  /** the digest that the file must have, or none; 409 otherwise */
  content_sha256?: string;
  file_text?: string;
  insert_line?: number;
  insert_text?: string;
  new_path?: string;
  new_str?: string;
  old_path?: string;
  old_str?: string;
  path?: string;
  /** first and last line; -1 is the end */
  view_range?: number[] | null;
}

export interface Message {
  channel?: string;
  client_id?: string;
  id: string;
  label: string;
  recorded_at: string;
  recorded_by: string;
  retain_none?: boolean;
  role: string;
  said_at?: string;
  seq: number;
  session?: string;
  speaker?: string;
  text: string;
  tool_call_id?: string;
  tool_calls?: string[] | null;
}

export interface MessageIn {
  /** how it arrived when not typed: prefilled, external */
  channel?: string;
  /** the caller's id: appending it again is a harmless retry */
  client_id?: string;
  /** keep it out of durable memory */
  retain_none?: boolean;
  role: "user" | "assistant" | "tool" | "system";
  said_at?: string;
  speaker?: string;
  text: string;
  tool_call_id?: string;
  tool_calls?: string[] | null;
}

export interface Messages {
  messages: Message[] | null;
}

export interface Omitted {
  messages: number;
  pending: number;
  recalled: number;
}

export interface OpenedBody {
  /** further subjects it may read, from narrow to wide: project:ID, tenant */
  reads?: string[] | null;
}

export interface Origin {
  channel?: string;
  holds?: Interval;
  message?: string;
  principal: string;
  session?: string;
  subject?: string;
  tool_call?: string;
}

export interface OutcomeBody {
  /** ids of what was recalled and used */
  records: string[];
  /** whether it went well */
  success: boolean;
}

export interface PageAuditEntry {
  items: AuditEntry[] | null;
  /** pass it as cursor for what follows; absent at the end */
  next?: string;
}

export interface PageBlob {
  items: Blob[] | null;
  /** pass it as cursor for what follows; absent at the end */
  next?: string;
}

export interface PageCheckpoint {
  items: Checkpoint[] | null;
  /** pass it as cursor for what follows; absent at the end */
  next?: string;
}

export interface PageDocument {
  items: Document[] | null;
  /** pass it as cursor for what follows; absent at the end */
  next?: string;
}

export interface PageFrozen {
  items: Frozen[] | null;
  /** pass it as cursor for what follows; absent at the end */
  next?: string;
}

export interface PageHeld {
  items: Held[] | null;
  /** pass it as cursor for what follows; absent at the end */
  next?: string;
}

export interface PageJob {
  items: Job[] | null;
  /** pass it as cursor for what follows; absent at the end */
  next?: string;
}

export interface PageKey {
  items: Key[] | null;
  /** pass it as cursor for what follows; absent at the end */
  next?: string;
}

export interface PageScope {
  items: Scope[] | null;
  /** pass it as cursor for what follows; absent at the end */
  next?: string;
}

export interface PageThread {
  items: Thread[] | null;
  /** pass it as cursor for what follows; absent at the end */
  next?: string;
}

export interface Piece {
  of: Record;
  origins?: Origin[] | null;
  valid: Interval;
}

export interface PrincipalOut {
  kind: string;
  name: string;
  tenant: string;
}

export interface Problem {
  /** a stable reason code, such as ONCE_PAYLOAD or PERSISTENT_FULL */
  code?: string;
  detail?: string;
  errors?: FieldProblem[] | null;
  /** the limit that was passed */
  limit?: number;
  request_id?: string;
  status: number;
  title: string;
  /** a URN that names the class of problem */
  type: string;
  /** what the gate decided, when it refused */
  verdict?: Verdict;
}

export interface Prompt {
  current?: string;
  effect: string;
  expires_at: string;
  held: string;
  key?: string;
  nonce: string;
  op?: string;
  origin: string;
  text: string;
  tier: string;
  value?: unknown;
}

export interface ProposalOut {
  /** its verdict is under this id once the session has been consolidated */
  id: string;
}

export interface ProposalWaits {
  id: string;
  /** where the conversation's consolidation stands; dead: until an operator retries or drops it */
  state: "waiting" | "due" | "failing" | "dead";
}

export interface Quota {
  bytes: number;
  records: number;
  subjects: number;
}

export interface Range {
  End: string;
  Start: string;
}

export interface RecallBody {
  explain?: boolean;
  /** find what forgetting has taken out of the default results, too */
  include_dormant?: boolean;
  /** default 10 */
  k?: number;
  query: string;
}

export interface Recalled {
  dormant?: boolean;
  id: string;
  key?: string;
  label: string;
  lane: string;
  message?: string;
  recorded_at: string;
  scope: Scope;
  score: number;
  session?: string;
  similar?: string[] | null;
  speaker?: string;
  text: string;
  tier: string;
  valid: Interval;
  why?: Explanation;
}

export interface Receipt {
  at: string;
  facts?: string[] | null;
  id: string;
  lowest?: string;
  pending?: number[] | null;
  recalled?: string[] | null;
  scores?: Score[] | null;
  session: string;
  tokens: number;
}

export interface Record {
  closed?: string;
  elevates?: string;
  expired?: boolean;
  expires_at?: string;
  fragment_of?: string;
  id: string;
  key?: string;
  known: Interval;
  label: string;
  message?: string;
  multi?: boolean;
  origins: Origin[] | null;
  position?: number;
  safety?: boolean;
  scope: Scope;
  seen: number;
  session?: string;
  speaker?: string;
  superseded_by?: string;
  supersedes?: string;
  text: string;
  tier: string;
  tool_call?: string;
  valid: Interval;
  value?: unknown;
}

export interface RecordOut {
  evidence: Evidence[] | null;
  record: Record;
}

export interface Records {
  records: Record[] | null;
}

export interface Reextraction {
  added: Candidate[] | null;
  committed: boolean;
  extractor: string;
  messages: number;
  removed: Record[] | null;
  same: number;
  sessions: number;
  skipped: number;
  verdicts?: Verdict[] | null;
}

export interface ReextractionBody {
  /** apply the difference; without it, it is only shown */
  commit?: boolean;
  extractor: "rules" | "verbatim" | "anthropic" | "openai";
  /** only turns said since then; default all */
  since?: string;
}

export interface ReleasedAsBody {
  /** of a fact */
  key?: string;
  /** where it belongs; for a candidate that named no tier */
  tier: "fact" | "note";
}

export interface Replayed {
  failed?: string;
  flips: boolean;
  held: Held;
  now: Verdict;
  partial?: string;
}

export interface ReplayedOut {
  items: Replayed[] | null;
  /** the cursor of the next page */
  next?: string;
  ruleset: string;
}

export interface Reply {
  content: string;
  content_sha256?: string;
  is_error: boolean;
}

export interface Report {
  messages: number;
  scope: Scope;
  session: string;
  verdicts: Verdict[] | null;
}

export interface Rescan {
  flips: Rescanned[] | null;
  judged: number;
  ruleset: string;
  withdrew: number;
}

export interface RescanAskedBody {
  /** take what would be held or rejected now out of belief; without it nothing is written */
  apply?: boolean;
  /** for the audit entries; no memory text */
  why?: string;
}

export interface Rescanned {
  now: Verdict;
  record: Record;
}

export interface ResolvedBody {
  attempt: number;
  outcome?: unknown;
  /** what the provider says became of it */
  state: "completed" | "failed";
}

export interface Resumption {
  checkpoint: Checkpoint;
  in_doubt: Effect[] | null;
  open: Effect[] | null;
  settled: Effect[] | null;
}

export interface Scope {
  subject: string;
  tenant: string;
}

export interface ScopedReceipt {
  at: string;
  facts?: string[] | null;
  id: string;
  lowest?: string;
  pending?: number[] | null;
  recalled?: string[] | null;
  scope: Scope;
  scores?: Score[] | null;
  session: string;
  tokens: number;
}

export interface Score {
  dense?: number;
  exact?: number;
  near?: number;
  preference?: number;
  session?: number;
  speaker?: number;
  standing?: number;
  time?: number;
  turn?: number;
  window?: number;
}

export interface Session {
  attempts?: number;
  consolidated: number;
  created_at: string;
  due_at?: string;
  ended_at?: string;
  id: string;
  last_at: string;
  last_code?: string;
  length: number;
  reads: Scope[] | null;
  retain_none?: boolean;
  scope: Scope;
  ttl: number;
}

export interface SettledBody {
  attempt: number;
  /** at most 64 KiB; what later claims get */
  outcome?: unknown;
}

export interface Skipped {
  /** messages that are never extracted; they stay in the session's log */
  skipped: number;
}

export interface Stats {
  actions: { [key: string]: unknown };
  barren: number;
  codes: { [key: string]: unknown };
  corroboration: number;
  credited: number;
  dead: number;
  entries: number;
  failing: number;
  first?: string;
  hit_rate: number;
  lag_max: number;
  lag_median: number;
  lag_of: number;
  last?: string;
  outcomes: { [key: string]: unknown };
  queue_age: number;
  quota?: Quota;
  recalls: number;
  served: number;
  stored?: Stored;
  supersession: number;
  useful_rate: number;
  waiting: number;
  windows: number;
}

export interface Status {
  attempts?: number;
  code?: string;
  due_at?: string;
  messages: number;
  next?: string;
  scope: Scope;
  session: string;
  staged: number;
  state: string;
  verdicts: Verdict[] | null;
}

export interface Step {
  name: string;
  outcome?: unknown;
}

export interface Stored {
  bytes: number;
  records: number;
  subjects: number;
}

export interface Taint {
  again: string[] | null;
  agreed: string[] | null;
  missed?: string[] | null;
  records: Record[] | null;
  restored: Piece[] | null;
  revoked?: string;
  served: ScopedReceipt[] | null;
  undone: Record[] | null;
}

export interface TaintAskedBody {
  /** of a fact or document */
  key?: string;
  message?: string;
  /** a principal (connector:crm) or a channel (channel:external) */
  origin?: string;
  record?: string;
  /** close it all in one transaction and put back what it had pushed out, ended or retracted; without it nothing is written */
  revoke?: boolean;
  session?: string;
  /** only what was learned from then on */
  since?: string;
  /** for the audit entry; no memory text */
  why?: string;
}

export interface TermPart {
  Kin: boolean;
  Session: number;
  Term: string;
  Turn: number;
  Window: number;
}

export interface Thread {
  name: string;
  newest_at: string;
}

export interface Tokens {
  budget: number;
  facts: number;
  messages: number;
  pending: number;
  recalled: number;
  total: number;
}

export interface Turned {
  codes: string;
  item: string;
}

export interface Values {
  values: Fact[] | null;
}

export interface Verdict {
  at: string;
  candidate: string;
  codes?: string[] | null;
  effect?: string;
  findings?: Finding[] | null;
  key?: string;
  label?: string;
  outcome: string;
  record?: string;
  replaced?: string;
  ruleset: string;
  tier?: string;
}

export interface Verification {
  /** the first entry that does not verify */
  bad?: number;
  entries: number;
  ok: boolean;
  records: number;
  why?: string;
}

export interface VersionIn {
  /** at most 1 MiB, base64; read back byte for byte */
  data: string;
  id: string;
  /** at most 256 KiB, base64 */
  meta?: string;
  parent?: string;
  /** take the place of a version of this id; without it the first stays */
  replace?: boolean;
}

export interface Versions {
  versions: Blob[] | null;
}

export interface VersionsFoundBody {
  /** only ids below this one */
  below?: string;
  /** these versions, in no order, instead of a prefix */
  ids?: string[] | null;
  /** default 100 */
  limit?: number;
  /** versions whose id begins with it */
  prefix?: string;
}

export interface VersionsPutBody {
  /** default: the server's */
  keep_seconds?: number;
  versions: VersionIn[];
}

export interface VersionsRemovedBody {
  ids: string[];
}

export interface Window {
  approximate?: Approximate;
  degraded?: string;
  facts: Fact[] | null;
  messages: Message[] | null;
  omitted: Omitted;
  pending: Message[] | null;
  recalled: Recalled[] | null;
  receipt: Receipt;
  system: string;
  tokens: Tokens;
}
