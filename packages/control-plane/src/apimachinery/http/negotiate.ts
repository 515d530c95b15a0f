import { defined } from '../objects/plain.ts';
import { StatusError } from '../objects/status.ts';
import type { ServerRequest } from './exchange.ts';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const MEDIA_TYPES = ['application/json', 'application/yaml', PROTOBUF] as const;
type MediaType = (typeof MEDIA_TYPES)[number];

export interface Format {
  readonly mediaType: MediaType;
  readonly pretty: boolean;
  /**
   * Whether the client accepts no available format. If the client accepts no available format, the response is indented
   * JSON without a final line break.
   */
  readonly bare?: boolean;
  readonly as: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | undefined;
  readonly version: 'v1' | 'v1beta1';
}

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** Compares two clauses of an Accept header as Go does. */
const precedes = (a: Clause, b: Clause): boolean =>
  a.quality > b.quality ||
  (!a.type.startsWith('*') && b.type.startsWith('*')) ||
  (!a.type.endsWith('*') && b.type.endsWith('*'));

/** A cache of parsed Accept headers. Clients send only a few different headers. */
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
    .filter(({ type }) => type === '*' || type.split('/').length === 2)
    .sort((a, b) => (precedes(a, b) ? -1 : precedes(b, a) ? 1 : 0));
  if (parsedHeaders.size > 500) parsedHeaders.clear();
  parsedHeaders.set(header, clauses);
  return clauses;
}

const REPRESENTATIONS = MEDIA_TYPES.join(', ');
const STREAMS = 'application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch';

/** Returns the 406 error for a watch in a format that cannot be streamed. */
export const noStream = (): StatusError =>
  new StatusError({
    message: `only the following media types are accepted: ${STREAMS}`,
    reason: 'NotAcceptable',
    code: 406,
  });

/**
 * The router checks requests for built-in kinds and discovery. A handler checks requests for custom kinds. The error
 * texts differ.
 */
export function notAcceptable(by: 'router' | 'handler', streams = false, available = REPRESENTATIONS): StatusError {
  const message =
    by === 'router'
      ? `406: Not Acceptable\n\nAvailable representations: ${available}${streams ? `, ${STREAMS}` : ''}`
      : `only the following media types are accepted: ${REPRESENTATIONS}`;
  return new StatusError(
    defined({
      message,
      reason: 'NotAcceptable',
      details: by === 'router' ? {} : undefined,
      code: 406,
    }),
  );
}

/** Returns the 415 error of the router, for a patch type without a handler. */
export const unsupportedByRouter = (): StatusError =>
  new StatusError({
    message: '415: Unsupported Media Type',
    reason: 'UnsupportedMediaType',
    details: {},
    code: 415,
  });

export const unsupportedBody = (accepted: readonly string[]): StatusError =>
  new StatusError({
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
    reason: 'UnsupportedMediaType',
    code: 415,
  });

/** Browsers and command line tools get indented JSON, unless the query contains `pretty`. */
function isPretty(request: ServerRequest): boolean {
  const pretty = request.query.get('pretty');
  if (pretty !== null) return pretty === 'true' || pretty === '1' || pretty === '';
  return /^(curl|Wget|Mozilla\/5\.0)/.test(request.header('user-agent') ?? '');
}

export interface NegotiateOptions {
  /** The router checks the media type before the handler. */
  readonly by: 'router' | 'handler';
  readonly as: readonly NonNullable<Format['as']>[];
  /** Whether the path of the request supports watches. */
  readonly streams: boolean;
  /** Whether whole objects can be sent as protobuf (default: true). Metadata can always be sent as protobuf. */
  readonly protobuf?: boolean;
}

const typesOf = (clause: string): readonly MediaType[] =>
  MEDIA_TYPES.filter((type) => clause === type || clause === 'application/*' || clause === '*/*' || clause === '*');

/** Returns the first supported format in the Accept header, or JSON if the server supports none of the formats. */
export function plainFormat(request: ServerRequest): Format {
  for (const { type, parameters } of parseAccept(request.header('accept') ?? '*/*')) {
    const [mediaType] = typesOf(type);
    if (mediaType === undefined || ['as', 'g', 'v'].some((key) => parameters.has(key))) continue;
    const stream = parameters.get('stream');
    if (stream === undefined || (stream === 'watch' && mediaType !== 'application/yaml')) {
      return { mediaType, pretty: isPretty(request), as: undefined, version: 'v1' };
    }
  }
  return { mediaType: 'application/json', pretty: true, bare: true, as: undefined, version: 'v1' };
}

type Conversion = Pick<Format, 'as' | 'version'>;

/**
 * Returns the conversion that a clause of the Accept header requests, or undefined if the server does not support it.
 */
function conversionOf(parameters: Clause['parameters'], type: MediaType, options: NegotiateOptions) {
  const stream = parameters.get('stream') ?? '';
  if (stream !== '' && (stream !== 'watch' || type === 'application/yaml')) return undefined;
  const isProtobuf = type === PROTOBUF;
  if (!['as', 'g', 'v'].some((key) => parameters.has(key))) {
    const plain: Conversion = { as: undefined, version: 'v1' };
    return isProtobuf && options.protobuf === false ? undefined : plain;
  }
  const as = options.as.find((one) => one === parameters.get('as'));
  const version = parameters.get('v');
  if (as === undefined || parameters.get('g') !== 'meta.k8s.io') return undefined;
  if ((version !== 'v1' && version !== 'v1beta1') || (isProtobuf && as === 'Table')) return undefined;
  const converted: Conversion = { as, version };
  return converted;
}

/** The router of built-in kinds does not support `application/*`. */
const passesRouter = (clauses: readonly Clause[]): boolean =>
  clauses.some(({ type }) => type === '*/*' || MEDIA_TYPES.some((one) => one === type));

const acceptOf = (request: ServerRequest): readonly Clause[] => {
  const header = request.header('accept') ?? '';
  return parseAccept(header === '' ? '*/*' : header);
};

/** Returns whether the router of built-in kinds would find a handler for the accepted types. */
export const reachesHandler = (request: ServerRequest): boolean => passesRouter(acceptOf(request));

/** @throws StatusError 406 */
export function negotiate(request: ServerRequest, options: NegotiateOptions): Format {
  const clauses = acceptOf(request);
  if (options.by === 'router' && !passesRouter(clauses)) throw notAcceptable('router', options.streams);
  for (const { type, parameters } of clauses) {
    for (const mediaType of typesOf(type)) {
      const conversion = conversionOf(parameters, mediaType, options);
      if (conversion !== undefined) return { mediaType, pretty: isPretty(request), ...conversion };
    }
  }
  throw notAcceptable('handler');
}

/** The order in the Accept header takes precedence over the order of `types`. */
export function pickMediaType<T extends string>(request: ServerRequest, offered: readonly T[]): T | undefined {
  for (const { type } of acceptOf(request)) {
    const [main = '', sub = '*'] = type.split('/');
    const found = offered.find((one) => {
      const [itsMain, itsSub] = one.split('/');
      return (main === '*' || main === itsMain) && (sub === '*' || sub === itsSub);
    });
    if (found !== undefined) return found;
  }
  return undefined;
}

const PARAMETER = /^\s*[^\s;=]+\s*=\s*(?:"[^"]*"|[^\s;"]*)\s*$/;

/**
 * Returns the media type of the request body. For an invalid media type, the result is a type that no handler supports.
 */
export function bodyType(request: ServerRequest): string {
  const header = request.header('content-type') ?? '';
  const [type = '', ...parameters] = header.split(';');
  const isSound = type.trim() !== '' && parameters.every((each) => each.trim() === '' || PARAMETER.test(each));
  return isSound ? type.trim().toLowerCase() : header;
}

export const typeAlone = (header: string): string => header.split(';')[0]?.trim() ?? '';
