"""Made by clients/generate.py from the server's OpenAPI document; do not edit."""
from typing import Any, Dict, List, Literal, Optional, TypedDict


class AppendedBody(TypedDict):
    messages: List["MessageIn"]


class Approximate(TypedDict):
    questions: int
    recall: float


_AuditEntry = TypedDict("_AuditEntry", {"action": str, "at": str, "digest": Optional[str], "hash": Optional[str], "prev": Optional[str], "seq": int})


class AuditEntry(_AuditEntry, total=False):
    actor: str
    codes: Optional[List[str]]
    outcome: str
    ref: str
    ruleset: str
    why: str


_Authorization = TypedDict("_Authorization", {"action": str, "answer": str, "items": int, "reasons": Optional[List["Ground"]]})


class Authorization(_Authorization, total=False):
    lowest: str


_AuthorizeAskedBody = TypedDict("_AuthorizeAskedBody", {"action": str})


class AuthorizeAskedBody(_AuthorizeAskedBody, total=False):
    records: Optional[List[str]]


_Blob = TypedDict("_Blob", {"created_at": str, "data": Optional[str], "id": str, "thread": str})


class Blob(_Blob, total=False):
    expires_at: str
    meta: Optional[str]
    parent: str


_BlobPutBody = TypedDict("_BlobPutBody", {"data": Optional[str]})


class BlobPutBody(_BlobPutBody, total=False):
    keep_seconds: float
    meta: Optional[str]
    parent: str
    strict: bool


_Candidate = TypedDict("_Candidate", {"id": str, "text": str})


class Candidate(_Candidate, total=False):
    cites: Optional[List[str]]
    if_version: str
    key: str
    multi: bool
    op: str
    position: int
    proposed_at: str
    proposed_by: str
    quote: str
    recalled: Optional[List[str]]
    route: str
    safety: bool
    session: str
    speaker: str
    tier: str
    valid: "Interval"
    value: Any


class CandidateIn(TypedDict, total=False):
    cites: Optional[List[str]]
    id: str
    key: str
    quote: str
    safety: bool
    text: str
    tier: Literal["fact", "note"]
    valid_from: str
    valid_to: str
    value: Any


_Checkpoint = TypedDict("_Checkpoint", {"at": str, "by": str, "position": int, "session": str, "step": int, "version": int})


class Checkpoint(_Checkpoint, total=False):
    done: Optional[List["Step"]]
    effects: Optional[List[str]]
    state: Optional[str]


_CheckpointInBody = TypedDict("_CheckpointInBody", {"step": int, "version": int})


class CheckpointInBody(_CheckpointInBody, total=False):
    done: Optional[List["Step"]]
    effects: Optional[List[str]]
    fence: int
    position: int
    state: Optional[str]


class Claimed(TypedDict):
    effect: "Effect"
    granted: bool


class ClaimedBody(TypedDict, total=False):
    fence: int
    payload: Any
    retry: bool
    seconds: float
    step: int


class Cluster(TypedDict):
    conflicts: Optional[List[Optional[List[str]]]]
    id: str
    records: Optional[List["Record"]]


class Clusters(TypedDict):
    clusters: Optional[List["Cluster"]]


class ConfirmedBody(TypedDict):
    nonce: str


class ContextAskedBody(TypedDict, total=False):
    query: str
    recall: int
    recall_share: float
    tokens: int


class Decision(TypedDict):
    verdict: "Verdict"


class DiscardedBody(TypedDict, total=False):
    why: str


class Document(TypedDict):
    label: str
    path: str
    sha256: str
    text: str
    valid: "Interval"
    version: str


class DocumentHit(TypedDict):
    label: str
    path: str
    score: float
    sha256: str
    text: str
    valid: "Interval"
    version: str


_DocumentHits = TypedDict("_DocumentHits", {"hits": Optional[List["DocumentHit"]]})


class DocumentHits(_DocumentHits, total=False):
    approximate: "Approximate"
    degraded: str


class DocumentOut(TypedDict):
    label: str
    path: str
    sha256: str
    text: str
    valid: "Interval"
    version: str


_DocumentPutBody = TypedDict("_DocumentPutBody", {"text": str})


class DocumentPutBody(_DocumentPutBody, total=False):
    cites: Optional[List[str]]


_DocumentsSearchedBody = TypedDict("_DocumentsSearchedBody", {"query": str})


class DocumentsSearchedBody(_DocumentsSearchedBody, total=False):
    k: int
    prefix: str


class DropAskedBody(TypedDict):
    why: str


class Dropped(TypedDict):
    dropped: int


class Dumped(TypedDict):
    items: int
    kept: int
    refused: Dict[str, Any]
    turned: Optional[List["Turned"]]


_Effect = TypedDict("_Effect", {"attempt": int, "claimed_at": str, "claimed_by": str, "key": str, "lease_until": str, "session": str, "state": str, "step": int})


class Effect(_Effect, total=False):
    outcome: Any
    settled_at: str


class Effects(TypedDict):
    effects: Optional[List["Effect"]]


class Ending(TypedDict):
    messages: int
    scope: "Scope"
    session: str
    verdicts: Optional[List["Verdict"]]


_EraseAskedBody = TypedDict("_EraseAskedBody", {"what": Literal["record", "message", "session", "key", "origin", "subject", "tenant"]})


class EraseAskedBody(_EraseAskedBody, total=False):
    dry_run: bool
    name: str
    why: str


_Erasure = TypedDict("_Erasure", {"counts": Dict[str, Any], "kept": Optional[List[str]], "records": Optional[List[str]], "what": str})


class Erasure(_Erasure, total=False):
    dry_run: bool
    not_searched: str
    receipt: "ErasureReceipt"


_ErasureCheck = TypedDict("_ErasureCheck", {"ok": bool, "places": Dict[str, Any], "signature": bool})


class ErasureCheck(_ErasureCheck, total=False):
    chain: str


_ErasureReceipt = TypedDict("_ErasureReceipt", {"at": str, "by": str, "chain": str, "counts": Dict[str, Any], "form": str, "hash": str, "id": str, "key": str, "removed": "Journaled", "seq": int, "sig": str, "what": str})


class ErasureReceipt(_ErasureReceipt, total=False):
    not_searched: str
    why: str


class ErasureState(TypedDict):
    at: str
    chain: str
    counts: Dict[str, Any]
    id: str
    seq: int
    state: str
    what: str


class ErasuresOut(TypedDict):
    erasures: Optional[List["ErasureState"]]


_Evidence = TypedDict("_Evidence", {"excerpt": str, "label": str, "message": str, "role": str, "said_at": str})


class Evidence(_Evidence, total=False):
    session: str


class Explanation(TypedDict):
    Approximate: bool
    Dense: float
    Exact: float
    Near: float
    Preference: float
    Session: float
    Speaker: float
    Standing: float
    Terms: Optional[List["TermPart"]]
    Time: float
    Turn: float
    Window: float


_Fact = TypedDict("_Fact", {"confirmation": str, "id": str, "known": "Interval", "label": str, "origins": Optional[List["Origin"]], "scope": "Scope", "seen": int, "text": str, "tier": str, "valid": "Interval"})


class Fact(_Fact, total=False):
    closed: str
    elevates: str
    expired: bool
    expires_at: str
    fragment_of: str
    key: str
    message: str
    multi: bool
    position: int
    revalidate_after: str
    safety: bool
    session: str
    shadowed_by: str
    speaker: str
    stale: bool
    superseded_by: str
    supersedes: str
    tool_call: str
    value: Any


class FactEndedBody(TypedDict, total=False):
    record: str
    to: str
    why: str


class FactPutBody(TypedDict, total=False):
    cites: Optional[List[str]]
    quote: str
    safety: bool
    text: str
    valid_from: str
    valid_to: str
    value: Any


class Facts(TypedDict):
    facts: Optional[List["Fact"]]


class FieldProblem(TypedDict):
    location: str
    message: str


_Finding = TypedDict("_Finding", {"check": str, "code": str})


class Finding(_Finding, total=False):
    detail: str
    end: int
    start: int


_Found = TypedDict("_Found", {"hits": Optional[List["Recalled"]]})


class Found(_Found, total=False):
    approximate: "Approximate"
    degraded: str
    reason: str
    time: "Range"


class Frozen(TypedDict):
    by: str
    overdue: int
    scope: "Scope"
    seq: int
    since: str
    why: str


_Ground = TypedDict("_Ground", {"answer": str, "code": str, "n": int})


class Ground(_Ground, total=False):
    label: str
    messages: Optional[List[str]]
    records: Optional[List[str]]


class Held(TypedDict):
    by: str
    expires_at: str
    proposal: "Candidate"
    state: str
    verdict: "Verdict"


_HeldBody = TypedDict("_HeldBody", {"holder": str})


class HeldBody(_HeldBody, total=False):
    seconds: float


class Hold(TypedDict):
    fence: int
    until: str


_ImportAskedBody = TypedDict("_ImportAskedBody", {"file": str, "form": Literal["export", "mem0", "langgraph"]})


class ImportAskedBody(_ImportAskedBody, total=False):
    why: str


class ImportOut(TypedDict, total=False):
    dump: "Dumped"
    export: "Imported"


class Imported(TypedDict):
    kept: int
    merged: int
    own: bool
    parts: int
    refused: Dict[str, Any]
    restored: int
    sessions: int
    there: int


Interval = TypedDict("Interval", {"from": str, "to": str}, total=False)


_Job = TypedDict("_Job", {"messages": int, "scope": "Scope", "session": str, "state": str})


class Job(_Job, total=False):
    attempts: int
    code: str
    due_at: str


_Journaled = TypedDict("_Journaled", {"at": str, "id": str, "what": str})


class Journaled(_Journaled, total=False):
    chains: Optional[List[str]]
    gone: Optional[List[str]]
    parts: Optional[List["JournaledPart"]]


_JournaledPart = TypedDict("_JournaledPart", {"chain": str})


class JournaledPart(_JournaledPart, total=False):
    items: Optional[List[str]]
    tombs: Optional[List[str]]


_Key = TypedDict("_Key", {"created_at": str, "id": str, "kind": str, "name": str, "tenant": str})


class Key(_Key, total=False):
    expires_at: str
    owns: Optional[List[str]]
    revoked_at: str
    subjects: Optional[List[str]]


class KeyExpiringBody(TypedDict):
    seconds: float


_KeyInBody = TypedDict("_KeyInBody", {"kind": Literal["agent", "app", "user", "connector", "operator", "admin"], "name": str})


class KeyInBody(_KeyInBody, total=False):
    owns: Optional[List[str]]
    seconds: float
    subjects: Optional[List[str]]


class KeyOut(TypedDict):
    key: "Key"
    secret: str


class LegalHoldAskedBody(TypedDict):
    why: str


class LegalHoldOut(TypedDict):
    entry: "AuditEntry"


_MemoryCommandBody = TypedDict("_MemoryCommandBody", {"command": Literal["view", "create", "str_replace", "insert", "delete", "rename"]})


class MemoryCommandBody(_MemoryCommandBody, total=False):
    content_sha256: str
    file_text: str
    insert_line: int
    insert_text: str
    new_path: str
    new_str: str
    old_path: str
    old_str: str
    path: str
    view_range: Optional[List[int]]


_Message = TypedDict("_Message", {"id": str, "label": str, "recorded_at": str, "recorded_by": str, "role": str, "seq": int, "text": str})


class Message(_Message, total=False):
    channel: str
    client_id: str
    retain_none: bool
    said_at: str
    session: str
    speaker: str
    tool_call_id: str
    tool_calls: Optional[List[str]]


_MessageIn = TypedDict("_MessageIn", {"role": Literal["user", "assistant", "tool", "system"], "text": str})


class MessageIn(_MessageIn, total=False):
    channel: str
    client_id: str
    retain_none: bool
    said_at: str
    speaker: str
    tool_call_id: str
    tool_calls: Optional[List[str]]


class Messages(TypedDict):
    messages: Optional[List["Message"]]


class Omitted(TypedDict):
    messages: int
    pending: int
    recalled: int


class OpenedBody(TypedDict, total=False):
    reads: Optional[List[str]]


_Origin = TypedDict("_Origin", {"principal": str})


class Origin(_Origin, total=False):
    channel: str
    holds: "Interval"
    message: str
    session: str
    subject: str
    tool_call: str


class OutcomeBody(TypedDict):
    records: List[str]
    success: bool


_PageAuditEntry = TypedDict("_PageAuditEntry", {"items": Optional[List["AuditEntry"]]})


class PageAuditEntry(_PageAuditEntry, total=False):
    next: str


_PageBlob = TypedDict("_PageBlob", {"items": Optional[List["Blob"]]})


class PageBlob(_PageBlob, total=False):
    next: str


_PageCheckpoint = TypedDict("_PageCheckpoint", {"items": Optional[List["Checkpoint"]]})


class PageCheckpoint(_PageCheckpoint, total=False):
    next: str


_PageDocument = TypedDict("_PageDocument", {"items": Optional[List["Document"]]})


class PageDocument(_PageDocument, total=False):
    next: str


_PageFrozen = TypedDict("_PageFrozen", {"items": Optional[List["Frozen"]]})


class PageFrozen(_PageFrozen, total=False):
    next: str


_PageHeld = TypedDict("_PageHeld", {"items": Optional[List["Held"]]})


class PageHeld(_PageHeld, total=False):
    next: str


_PageJob = TypedDict("_PageJob", {"items": Optional[List["Job"]]})


class PageJob(_PageJob, total=False):
    next: str


_PageKey = TypedDict("_PageKey", {"items": Optional[List["Key"]]})


class PageKey(_PageKey, total=False):
    next: str


_PageScope = TypedDict("_PageScope", {"items": Optional[List["Scope"]]})


class PageScope(_PageScope, total=False):
    next: str


_PageThread = TypedDict("_PageThread", {"items": Optional[List["Thread"]]})


class PageThread(_PageThread, total=False):
    next: str


_Piece = TypedDict("_Piece", {"of": "Record", "valid": "Interval"})


class Piece(_Piece, total=False):
    origins: Optional[List["Origin"]]


class PrincipalOut(TypedDict):
    kind: str
    name: str
    tenant: str


_Problem = TypedDict("_Problem", {"status": int, "title": str, "type": str})


class Problem(_Problem, total=False):
    code: str
    detail: str
    errors: Optional[List["FieldProblem"]]
    limit: int
    request_id: str
    verdict: "Verdict"


_Prompt = TypedDict("_Prompt", {"effect": str, "expires_at": str, "held": str, "nonce": str, "origin": str, "text": str, "tier": str})


class Prompt(_Prompt, total=False):
    current: str
    key: str
    op: str
    value: Any


class ProposalOut(TypedDict):
    id: str


class ProposalWaits(TypedDict):
    id: str
    state: Literal["waiting", "due", "failing", "dead"]


class Quota(TypedDict):
    bytes: int
    records: int
    subjects: int


class Range(TypedDict):
    End: str
    Start: str


_RecallBody = TypedDict("_RecallBody", {"query": str})


class RecallBody(_RecallBody, total=False):
    explain: bool
    include_dormant: bool
    k: int


_Recalled = TypedDict("_Recalled", {"id": str, "label": str, "lane": str, "recorded_at": str, "scope": "Scope", "score": float, "text": str, "tier": str, "valid": "Interval"})


class Recalled(_Recalled, total=False):
    dormant: bool
    key: str
    message: str
    session: str
    similar: Optional[List[str]]
    speaker: str
    why: "Explanation"


_Receipt = TypedDict("_Receipt", {"at": str, "id": str, "session": str, "tokens": int})


class Receipt(_Receipt, total=False):
    facts: Optional[List[str]]
    lowest: str
    pending: Optional[List[int]]
    recalled: Optional[List[str]]
    scores: Optional[List["Score"]]


_Record = TypedDict("_Record", {"id": str, "known": "Interval", "label": str, "origins": Optional[List["Origin"]], "scope": "Scope", "seen": int, "text": str, "tier": str, "valid": "Interval"})


class Record(_Record, total=False):
    closed: str
    elevates: str
    expired: bool
    expires_at: str
    fragment_of: str
    key: str
    message: str
    multi: bool
    position: int
    safety: bool
    session: str
    speaker: str
    superseded_by: str
    supersedes: str
    tool_call: str
    value: Any


class RecordOut(TypedDict):
    evidence: Optional[List["Evidence"]]
    record: "Record"


class Records(TypedDict):
    records: Optional[List["Record"]]


_Reextraction = TypedDict("_Reextraction", {"added": Optional[List["Candidate"]], "committed": bool, "extractor": str, "messages": int, "removed": Optional[List["Record"]], "same": int, "sessions": int, "skipped": int})


class Reextraction(_Reextraction, total=False):
    verdicts: Optional[List["Verdict"]]


_ReextractionBody = TypedDict("_ReextractionBody", {"extractor": Literal["rules", "verbatim", "anthropic", "openai"]})


class ReextractionBody(_ReextractionBody, total=False):
    commit: bool
    since: str


_ReleasedAsBody = TypedDict("_ReleasedAsBody", {"tier": Literal["fact", "note"]})


class ReleasedAsBody(_ReleasedAsBody, total=False):
    key: str


_Replayed = TypedDict("_Replayed", {"flips": bool, "held": "Held", "now": "Verdict"})


class Replayed(_Replayed, total=False):
    failed: str
    partial: str


_ReplayedOut = TypedDict("_ReplayedOut", {"items": Optional[List["Replayed"]], "ruleset": str})


class ReplayedOut(_ReplayedOut, total=False):
    next: str


_Reply = TypedDict("_Reply", {"content": str, "is_error": bool})


class Reply(_Reply, total=False):
    content_sha256: str


class Report(TypedDict):
    messages: int
    scope: "Scope"
    session: str
    verdicts: Optional[List["Verdict"]]


class Rescan(TypedDict):
    flips: Optional[List["Rescanned"]]
    judged: int
    ruleset: str
    withdrew: int


class RescanAskedBody(TypedDict, total=False):
    apply: bool
    why: str


class Rescanned(TypedDict):
    now: "Verdict"
    record: "Record"


_ResolvedBody = TypedDict("_ResolvedBody", {"attempt": int, "state": Literal["completed", "failed"]})


class ResolvedBody(_ResolvedBody, total=False):
    outcome: Any


class Resumption(TypedDict):
    checkpoint: "Checkpoint"
    in_doubt: Optional[List["Effect"]]
    open: Optional[List["Effect"]]
    settled: Optional[List["Effect"]]


class Scope(TypedDict):
    subject: str
    tenant: str


_ScopedReceipt = TypedDict("_ScopedReceipt", {"at": str, "id": str, "scope": "Scope", "session": str, "tokens": int})


class ScopedReceipt(_ScopedReceipt, total=False):
    facts: Optional[List[str]]
    lowest: str
    pending: Optional[List[int]]
    recalled: Optional[List[str]]
    scores: Optional[List["Score"]]


class Score(TypedDict, total=False):
    dense: int
    exact: int
    near: int
    preference: int
    session: int
    speaker: int
    standing: int
    time: int
    turn: int
    window: int


_Session = TypedDict("_Session", {"consolidated": int, "created_at": str, "id": str, "last_at": str, "length": int, "reads": Optional[List["Scope"]], "scope": "Scope", "ttl": int})


class Session(_Session, total=False):
    attempts: int
    due_at: str
    ended_at: str
    last_code: str
    retain_none: bool


_SettledBody = TypedDict("_SettledBody", {"attempt": int})


class SettledBody(_SettledBody, total=False):
    outcome: Any


class Skipped(TypedDict):
    skipped: int


_Stats = TypedDict("_Stats", {"actions": Dict[str, Any], "barren": int, "codes": Dict[str, Any], "corroboration": float, "credited": int, "dead": int, "entries": int, "failing": int, "hit_rate": float, "lag_max": int, "lag_median": int, "lag_of": int, "outcomes": Dict[str, Any], "queue_age": int, "recalls": int, "served": int, "supersession": float, "useful_rate": float, "waiting": int, "windows": int})


class Stats(_Stats, total=False):
    first: str
    last: str
    quota: "Quota"
    stored: "Stored"


_Status = TypedDict("_Status", {"messages": int, "scope": "Scope", "session": str, "staged": int, "state": str, "verdicts": Optional[List["Verdict"]]})


class Status(_Status, total=False):
    attempts: int
    code: str
    due_at: str
    next: str


_Step = TypedDict("_Step", {"name": str})


class Step(_Step, total=False):
    outcome: Any


class Stored(TypedDict):
    bytes: int
    records: int
    subjects: int


_Taint = TypedDict("_Taint", {"again": Optional[List[str]], "agreed": Optional[List[str]], "records": Optional[List["Record"]], "restored": Optional[List["Piece"]], "served": Optional[List["ScopedReceipt"]], "undone": Optional[List["Record"]]})


class Taint(_Taint, total=False):
    missed: Optional[List[str]]
    revoked: str


class TaintAskedBody(TypedDict, total=False):
    key: str
    message: str
    origin: str
    record: str
    revoke: bool
    session: str
    since: str
    why: str


class TermPart(TypedDict):
    Kin: bool
    Session: float
    Term: str
    Turn: float
    Window: float


class Thread(TypedDict):
    name: str
    newest_at: str


class Tokens(TypedDict):
    budget: int
    facts: int
    messages: int
    pending: int
    recalled: int
    total: int


class Turned(TypedDict):
    codes: str
    item: str


class Values(TypedDict):
    values: Optional[List["Fact"]]


_Verdict = TypedDict("_Verdict", {"at": str, "candidate": str, "outcome": str, "ruleset": str})


class Verdict(_Verdict, total=False):
    codes: Optional[List[str]]
    effect: str
    findings: Optional[List["Finding"]]
    key: str
    label: str
    record: str
    replaced: str
    tier: str


_Verification = TypedDict("_Verification", {"entries": int, "ok": bool, "records": int})


class Verification(_Verification, total=False):
    bad: int
    why: str


_VersionIn = TypedDict("_VersionIn", {"data": str, "id": str})


class VersionIn(_VersionIn, total=False):
    meta: str
    parent: str
    replace: bool


class Versions(TypedDict):
    versions: Optional[List["Blob"]]


class VersionsFoundBody(TypedDict, total=False):
    below: str
    ids: Optional[List[str]]
    limit: int
    prefix: str


_VersionsPutBody = TypedDict("_VersionsPutBody", {"versions": List["VersionIn"]})


class VersionsPutBody(_VersionsPutBody, total=False):
    keep_seconds: float


class VersionsRemovedBody(TypedDict):
    ids: List[str]


_Window = TypedDict("_Window", {"facts": Optional[List["Fact"]], "messages": Optional[List["Message"]], "omitted": "Omitted", "pending": Optional[List["Message"]], "recalled": Optional[List["Recalled"]], "receipt": "Receipt", "system": str, "tokens": "Tokens"})


class Window(_Window, total=False):
    approximate: "Approximate"
    degraded: str
