import { StatusError } from '../status.ts';
import type { ServerRequest } from './exchange.ts';

/** How an answer is written. */
export interface Format {
  readonly mediaType: 'application/json' | 'application/yaml';
  readonly pretty: boolean;
  /** Shown as a table or as metadata instead of whole. */
  readonly as: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | undefined;
  /** `v1` or `v1beta1` of `meta.k8s.io`. */
  readonly version: 'v1' | 'v1beta1';
}

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** Cached: clients send the same few headers over and over. */
const parsedHeaders = new Map<string, readonly Clause[]>();

function parseAccept(header: string): readonly Clause[] {
  const known = parsedHeaders.get(header);
  if (known !== undefined) return known;
  const clauses = header
    .split(',')
    .map((part) => {
      const [type = '', ...rest] = part.split(';').map((piece) => piece.trim());
      const parameters = new Map<string, string>();
      for (const parameter of rest) {
        const [key = '', value = ''] = parameter.split('=');
        parameters.set(key.trim().toLowerCase(), value.trim());
      }
      return { type: type.toLowerCase(), parameters, quality: Number(parameters.get('q') ?? 1) };
    })
    .filter(({ type, quality }) => type !== '' && quality > 0)
    .sort((a, b) => b.quality - a.quality);
  if (parsedHeaders.size > 500) parsedHeaders.clear();
  parsedHeaders.set(header, clauses);
  return clauses;
}

const REPRESENTATIONS = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
const STREAMS = ', application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch';

/** 406 in the words of the router (built-in kinds and discovery) or of a handler (custom kinds). */
export function notAcceptable(by: 'router' | 'handler', streams = false): StatusError {
  const message =
    by === 'router'
      ? `406: Not Acceptable\n\nAvailable representations: ${REPRESENTATIONS}${streams ? STREAMS : ''}`
      : `only the following media types are accepted: ${REPRESENTATIONS}`;
  return new StatusError({
    message,
    reason: 'NotAcceptable',
    ...(by === 'router' ? { details: {} } : {}),
    code: 406,
  });
}

/** 415 of the router: a patch type that no handler has. */
export const unsupportedByRouter = (): StatusError =>
  new StatusError({
    message: '415: Unsupported Media Type',
    reason: 'UnsupportedMediaType',
    details: {},
    code: 415,
  });

/** 415 of a handler. */
export const unsupportedBody = (accepted: readonly string[]): StatusError =>
  new StatusError({
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
    reason: 'UnsupportedMediaType',
    code: 415,
  });

/** `pretty` of the query; without it, programs that people read with get indented JSON. */
function isPretty(request: ServerRequest): boolean {
  const pretty = request.query.get('pretty');
  if (pretty !== null) return pretty === 'true' || pretty === '1' || pretty === '';
  return /^(curl|Wget|Mozilla\/5\.0)/.test(request.header('user-agent') ?? '');
}

export interface NegotiateOptions {
  /** Who refuses: the router looks at the plain type first, a handler only at what it can convert to. */
  readonly by: 'router' | 'handler';
  /** Which conversions are offered. */
  readonly as: readonly NonNullable<Format['as']>[];
  /** The path also serves streams (lists). */
  readonly streams: boolean;
}

/** What errors and everything without conversions are written as, never refusing. */
export function plainFormat(request: ServerRequest): Format {
  const first = parseAccept(request.header('accept') ?? '*/*')[0];
  const mediaType = first?.type === 'application/yaml' ? 'application/yaml' : 'application/json';
  return { mediaType, pretty: isPretty(request), as: undefined, version: 'v1' };
}

/** Picks the first acceptable form. @throws StatusError 406 */
export function negotiate(request: ServerRequest, options: NegotiateOptions): Format {
  const header = request.header('accept') ?? '';
  const clauses = parseAccept(header === '' ? '*/*' : header);
  const pretty = isPretty(request);
  let acceptable = false;
  for (const { type, parameters } of clauses) {
    const known =
      type === '*/*' ||
      type === 'application/json' ||
      type === 'application/yaml' ||
      (type === 'application/*' && options.by === 'handler');
    if (!known) continue;
    acceptable = true;
    const mediaType = type === 'application/yaml' ? type : 'application/json';
    const as = parameters.get('as');
    if (as === undefined) return { mediaType, pretty, as: undefined, version: 'v1' };
    const version = parameters.get('v') ?? 'v1';
    const target = options.as.find((one) => one === as);
    if (target === undefined || (parameters.get('g') ?? '') !== 'meta.k8s.io') continue;
    if (version !== 'v1' && version !== 'v1beta1') continue;
    return { mediaType, pretty, as: target, version };
  }
  // The router has let the plain type through; the handler then finds no conversion.
  throw notAcceptable(acceptable ? 'handler' : options.by, options.streams);
}

/** The type of a body, without its parameters. */
export const bodyType = (request: ServerRequest): string =>
  (request.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
