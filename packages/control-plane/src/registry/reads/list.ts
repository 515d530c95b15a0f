import {
  badRequest,
  expired,
  internal,
  jsonTypeOf,
  tooLargeResourceVersion,
} from '../../apimachinery/errors/errors.ts';
import { jsonProblem } from '../../apimachinery/errors/json-problem.ts';
import { sleep } from '../../apimachinery/objects/clock.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import type { ListOptions } from '../../resources/options.ts';
import type { Registry, Target } from '../../resources/registry.ts';
import { parseFieldSelector, parseTerms } from '../../selectors/field-selector.ts';
import { labelDemands, parseLabelSelector } from '../../selectors/label-selector.ts';
import { parseShardSelector } from '../../selectors/shard-selector.ts';
import type { Demand } from '../../store/demand.ts';
import type { StoredRecord } from '../../store/record.ts';
import type { PageOptions, RecordPage } from '../../store/store.ts';

const FUTURE_WAIT_MS = 3000;

export interface ListResult {
  readonly records: readonly StoredRecord[];
  readonly resourceVersion: number;
  readonly continue: string;
  readonly remainingItemCount: number | undefined;
  /** The applied shard selector. With an empty selector, the list contains the objects of all shards. */
  readonly shard: string;
}

export interface Selection {
  readonly matches: ((record: StoredRecord) => boolean) | undefined;
  readonly where: readonly Demand[];
}

/**
 * Validates the selectors, before the server reads the other options in the query.
 * @throws StatusError 400 for an invalid selector
 */
export function checkSelectors({ labelSelector, fieldSelector, shardSelector }: ListOptions): void {
  parseShardSelector(shardSelector);
  parseLabelSelector(labelSelector);
  parseTerms(fieldSelector);
}

/** @throws StatusError 400 for an invalid selector */
export function parseSelection(served: ServedKind, options: ListOptions, name = ''): Selection {
  const labels = parseLabelSelector(options.labelSelector);
  const fields = parseFieldSelector(served.kind, options.fieldSelector);
  const shard = parseShardSelector(options.shardSelector);
  const labelled = labels === undefined ? [] : labelDemands(options.labelSelector);
  const where = [
    ...(fields?.where ?? []),
    ...labelled,
    ...(name === '' ? [] : [{ field: 'metadata.name', value: name }]),
  ];
  const isWhole = labels === undefined && fields === undefined && shard === undefined && name === '';
  if (isWhole) return { matches: undefined, where };
  return {
    matches: (record) =>
      (name === '' || record.name === name) &&
      (labels === undefined || labels(record.labels)) &&
      (fields === undefined || fields.matches(record)) &&
      (shard === undefined || shard(record)),
    where,
  };
}

/** Returns the namespace of a list. */
export const namespaceOf = ({ served, namespace }: Target): string | undefined =>
  namespace === '' && served.kind.namespaced ? undefined : namespace;

const TOKEN_VERSION = 'meta.k8s.io/v1';

/** A suffix for keys. In byte order, a key with this suffix follows directly after the key itself. */
const END_OF_KEY = '\u0000';

interface ContinueToken {
  readonly v: 'meta.k8s.io/v1';
  readonly rv: number;
  readonly start: string;
  /** The number of remaining objects. The tokens of kube-apiserver do not contain this number. */
  readonly left?: number | undefined;
  /**
   * The time of the first page. Tokens of kube-apiserver contain no time, because kube-apiserver compacts etcd by time.
   */
  readonly at?: number | undefined;
}

const encodeToken = (rv: number, last: StoredRecord, left: number | undefined, at: number | undefined): string => {
  const token: ContinueToken = {
    v: 'meta.k8s.io/v1',
    rv,
    start: `${last.namespace}/${last.name}${END_OF_KEY}`,
    left,
    at,
  };
  return Buffer.from(JSON.stringify(token)).toString('base64url');
};

interface Place {
  readonly rv: number;
  readonly namespace: string;
  readonly name: string;
  readonly left: number | undefined;
  readonly at: number | undefined;
}

function decodeToken(text: string): Place {
  const { v, rv, start, left, at } = readToken(text);
  const [namespace, name] = typeof start === 'string' ? start.replace(END_OF_KEY, '').split('/') : [];
  if (v !== TOKEN_VERSION) {
    throw invalidToken(`server does not recognize this encoded version ${typeof v === 'string' ? v : ''}`);
  }
  if (rv === undefined || rv === null || rv === 0) {
    throw invalidToken(`incorrect encoded start resourceVersion (version ${TOKEN_VERSION})`);
  }
  if (namespace === undefined || start === '') {
    throw invalidToken(`encoded start key empty (version ${TOKEN_VERSION})`);
  }
  // The key in a token must not select another resource.
  if (/(^|\/)\.{1,2}(\/|$)|.\/\/|\/$/.test(String(start).replace(END_OF_KEY, ''))) throw invalidToken(String(start));
  const numberOr = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
  return { rv: Number(rv), namespace, name: name ?? '', left: numberOr(left), at: numberOr(at) };
}

const invalidToken = (why: string): StatusError =>
  badRequest(`invalid continue token: continue key is not valid: ${why}`);

/** Decodes a continue token. A client sends the token, so every field may be missing or invalid. */
function readToken(text: string): Partial<Record<keyof ContinueToken, unknown>> {
  const strange = text.search(/[^A-Za-z0-9_-]/);
  if (strange >= 0 || text.length % 4 === 1) {
    throw invalidToken(`illegal base64 data at input byte ${strange >= 0 ? strange : text.length - 1}`);
  }
  const json = Buffer.from(text, 'base64url').toString('latin1');
  try {
    return checkToken(JSON.parse(json));
  } catch (error) {
    if (error instanceof SyntaxError) throw invalidToken(jsonProblem(json));
    throw error;
  }
}

const TOKEN_TYPES = { v: 'string', rv: 'int64', start: 'string' } as const;

/**
 * Checks the types in a continue token.
 * @throws StatusError 400 for an invalid token
 */
function checkToken(token: unknown): Partial<Record<keyof ContinueToken, unknown>> {
  if (token === null) return {};
  if (!isRecord(token)) {
    throw invalidToken(`json: cannot unmarshal ${jsonTypeOf(token)} into Go value of type storage.continueToken`);
  }
  for (const [field, value] of Object.entries(token)) {
    const type = TOKEN_TYPES[field as keyof typeof TOKEN_TYPES];
    if (type === undefined || value === null) continue;
    if (type === 'string' ? typeof value === 'string' : Number.isSafeInteger(value)) continue;
    const found = typeof value === 'number' && type === 'int64' ? `number ${value}` : jsonTypeOf(value);
    throw invalidToken(`json: cannot unmarshal ${found} into Go struct field continueToken.${field} of type ${type}`);
  }
  return token;
}

const INCONSISTENT =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

const MAX_UINT64 = 2n ** 64n - 1n;

/** @throws StatusError 400 for a list, and 500 for a get or a watch, if the text is invalid */
export function parseResourceVersion(text: string, failure: 400 | 500): number | undefined {
  if (text === '') return undefined;
  const digits = /^\d+$/.test(text);
  if (digits && BigInt(text) <= MAX_UINT64) return Number(text);
  const why = `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${digits ? 'value out of range' : 'invalid syntax'}`;
  if (failure === 500) throw internal(`resourceVersion: Invalid value: ${JSON.stringify(text)}: ${why}`);
  throw badRequest(`invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: ${why}`);
}

export async function awaitVersion(registry: Registry, version: number | undefined, asked: string): Promise<void> {
  if (version === undefined || version <= registry.deliveredRevision()) return;
  await sleep(registry.clock, FUTURE_WAIT_MS);
  if (version > registry.deliveredRevision()) throw tooLargeResourceVersion(asked, registry.deliveredRevision());
}

/**
 * Returns a page of a list.
 * @throws StatusError 400, 410, 422 or 504 if the server cannot return the page
 */
export async function listRecords(registry: Registry, target: Target, options: ListOptions): Promise<ListResult> {
  const { served } = target;
  const selection = parseSelection(served, options);
  const version = parseResourceVersion(options.resourceVersion, 400);
  const token = options.continue === '' ? undefined : decodeToken(options.continue);
  if (token !== undefined && version !== undefined && version !== 0) {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  await awaitVersion(registry, version, options.resourceVersion);
  await awaitVersion(registry, token?.rv, String(token?.rv));
  const exact =
    version !== undefined &&
    version > 0 &&
    (options.resourceVersionMatch === 'Exact' || (options.resourceVersionMatch === '' && options.limit > 0));
  // A continue token with the version -1 continues with the current objects. The server sends a continue token with the
  // version -1 after an older token has expired.
  const at = token === undefined ? (exact ? version : undefined) : token.rv < 0 ? undefined : token.rv;
  const limit = options.limit > 0 && options.resourceVersion !== '0' ? options.limit : undefined;
  const current = registry.store.revision();
  // A version expires after `historyMs`, even if no object changes.
  const now = registry.now().getTime();
  const readAt = token === undefined || token.rv < 0 ? now : token.at;
  if (readAt !== undefined && now - readAt > registry.store.historyMs) {
    if (token?.rv === current) recordCompaction(registry);
    throw compacted(token, registry.store.revision());
  }
  const { matches, where } = selection;
  const all = matches === undefined;
  const page = find(registry, token, served.resource, {
    namespace: namespaceOf(target),
    revision: at,
    after: token,
    limit,
    where: all ? undefined : where,
    matches,
    left: token?.left,
  });
  const last = page.records.at(-1);
  const isFull = last !== undefined && page.records.length === limit;
  // As in kube-apiserver, the next page may be empty. The server does not check whether the remaining objects match the
  // selectors.
  const next = { namespace: namespaceOf(target), revision: at, after: last, limit: 1, left: 1 };
  // As in kube-apiserver, a list with a selector for one name has only one page.
  const isSingle =
    token === undefined && namespaceOf(target) !== undefined && where.some(({ field }) => field === 'metadata.name');
  const more =
    isFull &&
    !isSingle &&
    (page.remaining > 0 || (!all && find(registry, token, served.resource, next).records.length > 0));
  const left = all ? page.remaining : undefined;
  return {
    records: page.records,
    resourceVersion: at ?? current,
    continue: more ? encodeToken(at ?? current, last, left, readAt) : '',
    remainingItemCount: more ? left : undefined,
    shard: options.shardSelector,
  };
}

/**
 * Writes a key to the store, as each compaction of kube-apiserver does. Clients therefore expect a new version after an
 * expired token.
 */
function recordCompaction({ store }: Registry): void {
  store.put('compact_rev_key', {
    namespace: '',
    name: 'compact_rev_key',
    render: () => '{"apiVersion":"v1","kind":"Compaction","metadata":{}}',
  });
}

/** @throws StatusError 410 if the version was compacted */
function find(registry: Registry, token: Place | undefined, resource: string, options: PageOptions): RecordPage {
  try {
    return registry.store.list(resource, options);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw compacted(token, registry.store.revision());
  }
}

function compacted(token: { namespace: string; name: string } | undefined, current: number): Error {
  if (token === undefined) return expired('The resourceVersion for the provided list is too old.');
  const failure = new StatusError({ message: INCONSISTENT, reason: 'Expired', code: 410 });
  const start = `${token.namespace}/${token.name}${END_OF_KEY}`;
  failure.status.metadata.continue = Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: -1, start })).toString(
    'base64url',
  );
  failure.status.metadata.resourceVersion = String(current);
  return failure;
}

/** Returns the text of a list item. */
function itemText(served: ServedKind, record: StoredRecord): string {
  const text = served.textOf(record);
  if (served.kind.custom) return text;
  const prefix = `{"apiVersion":"${served.apiVersion}","kind":"${served.kind.kind}",`;
  return text.startsWith(prefix) ? `{${text.slice(prefix.length)}` : text;
}

export function listMeta(served: ServedKind, result: ListResult): Record<string, unknown> {
  const meta: Record<string, unknown> = { resourceVersion: String(result.resourceVersion) };
  if (result.continue !== '' || served.kind.custom) meta.continue = result.continue;
  if (result.remainingItemCount !== undefined) meta.remainingItemCount = result.remainingItemCount;
  if (result.shard !== '') meta.shardInfo = { selector: result.shard };
  return meta;
}

/** The function joins the stored texts of list items without parsing them. */
export function listText(served: ServedKind, result: ListResult): string {
  const items = result.records.map((record) => itemText(served, record)).join(',');
  const head = served.kind.custom
    ? `{"apiVersion":"${served.apiVersion}","kind":"${served.kind.listKind}"`
    : `{"kind":"${served.kind.listKind}","apiVersion":"${served.apiVersion}"`;
  return `${head},"metadata":${JSON.stringify(listMeta(served, result))},"items":[${items}]}`;
}
