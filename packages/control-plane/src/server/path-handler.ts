import { createHash } from 'node:crypto';
import { methodNotAllowed, unknownResource } from '../apimachinery/errors/errors.ts';
import type { ServerRequest, ServerResponse } from '../apimachinery/http/exchange.ts';
import { type Format, negotiate, notAcceptable, pickMediaType } from '../apimachinery/http/negotiate.ts';
import {
  AGGREGATED,
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  asksForAggregated,
} from '../discovery/documents.ts';
import { V2_PROTOBUF, V2_PROTOBUF_NAMES } from '../openapi/index.ts';
import type { Registry } from '../resources/registry.ts';
import { answerJson, compressed, pageNotFound } from './answer.ts';
import { ApiDocuments } from './api-documents.ts';
import { answerHealth, healthPaths, isHealth } from './health.ts';
import type { RequestMetrics } from './metrics/request-metrics.ts';
import type { RequestInfo } from './request-info.ts';

const VERSION = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.3',
  gitCommit: '$Format:%H$',
  gitTreeState: '',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'go1.26.8',
  compiler: 'gc',
  platform: 'linux/amd64',
} as const;

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';

/**
 * Refuses a method that the router does not support. Health and version paths support only GET, and all other paths
 * every method.
 */
function checkRouted({ method }: ServerRequest): void {
  if (method !== 'GET') throw methodNotAllowed();
}

/** @throws StatusError if the path does not exist or the request is refused */
export function answerPath(
  request: ServerRequest,
  info: RequestInfo,
  registry: Registry,
  metrics: RequestMetrics | undefined,
): ServerResponse {
  const [first = '', second, third] = info.segments;
  if (isHealth(first)) return answerHealth(request, info.segments);
  switch (first) {
    case 'metrics':
      if (second !== undefined || metrics === undefined) return pageNotFound();
      checkRouted(request);
      return { status: 200, headers: { 'content-type': METRICS_TYPE }, body: metrics.render() };
    case 'version':
      if (second !== undefined) throw unknownResource();
      checkRouted(request);
      return answerJson(VERSION, onlyJson(request), request);
    case 'api':
    case 'apis':
      return discovery(request, info, registry, first, second, third);
    case 'openapi':
      return openApi(request, info.segments.slice(1), registry);
    case '':
      return answerJson({ paths: rootPaths(registry) }, jsonFormat(request), request);
    default:
      return pageNotFound();
  }
}

function rootPaths({ kinds }: Registry): string[] {
  const groups = kinds.groups().flatMap(({ name, versions }) => {
    const root = name === '' ? '/api' : `/apis/${name}`;
    return [root, ...versions.map((version) => `${root}/${version}`)];
  });
  const others = ['/api', '/apis', '/apis/', '/openapi/v2', '/openapi/v3', '/openapi/v3/', '/version', '/metrics'];
  return [...new Set([...groups, ...others, ...healthPaths()])].sort();
}

/** @throws StatusError 406 if the client accepts no JSON */
function onlyJson(request: ServerRequest): Format {
  const accept = request.header('accept') ?? '';
  if (accept !== '' && !/application\/json|\*\/\*/.test(accept))
    throw notAcceptable('router', false, 'application/json');
  return { mediaType: 'application/json', pretty: negotiate(request, ANY).pretty, as: undefined, version: 'v1' };
}

const ANY = { by: 'router', as: [], streams: false } as const;
const jsonFormat = (request: ServerRequest, by: 'router' | 'handler' = 'router') => negotiate(request, { ...ANY, by });

function discovery(
  request: ServerRequest,
  info: RequestInfo,
  registry: Registry,
  first: string,
  second: string | undefined,
  third: string | undefined,
): ServerResponse {
  const { kinds } = registry;
  if (second === undefined) {
    if (first === 'api') checkRouted(request);
    if (asksForAggregated(request.header('accept') ?? '')) {
      const text = documentsOf(registry).aggregated(first === 'api');
      const etag = `"${createHash('sha256').update(text).digest('hex').toUpperCase()}"`;
      if (request.header('if-none-match') === etag) return { status: 304, headers: { etag }, body: '' };
      const answer = inFormOf(compressed(text, AGGREGATED, request), etag);
      return { ...answer, headers: { ...answer.headers, 'cache-control': 'public' } };
    }
    const format = jsonFormat(request, first === 'api' ? 'router' : 'handler');
    const document = first === 'api' ? apiVersions(request.header('host') ?? '') : apiGroupList(kinds);
    return answerJson(document, format, request);
  }
  if (first === 'apis' && third === undefined) {
    const group = apiGroup(kinds, second);
    return group === undefined ? pageNotFound() : answerJson(group, jsonFormat(request, 'handler'), request);
  }
  const group = first === 'api' ? '' : second;
  const version = first === 'api' ? second : (third ?? '');
  const list = apiResourceList(kinds, group, version);
  if (list !== undefined) {
    if (kinds.isBuiltin(group)) checkRouted(request);
    return answerJson(list, jsonFormat(request), request);
  }
  // The router handles all paths of built-in groups.
  if (kinds.isBuiltin(group) && !info.isResource) throw unknownResource();
  return pageNotFound();
}

const documents = new WeakMap<Registry, ApiDocuments>();

function documentsOf(registry: Registry): ApiDocuments {
  let known = documents.get(registry);
  if (known === undefined) {
    known = new ApiDocuments(registry.kinds);
    documents.set(registry, known);
  }
  return known;
}

function inFormOf(answer: ServerResponse, etag: string): ServerResponse {
  const vary = answer.headers.vary === undefined ? 'Accept' : 'Accept, Accept-Encoding';
  return { ...answer, headers: { ...answer.headers, etag, vary } };
}

function openApiV2(request: ServerRequest, all: ApiDocuments): ServerResponse {
  const mediaType = pickMediaType(request, ['application/json', ...V2_PROTOBUF_NAMES]);
  if (mediaType === undefined) return { status: 406, headers: { vary: 'Accept' }, body: '' };
  const etag = all.openApiV2Etag();
  const known = (request.header('if-none-match') ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''));
  if (known.includes(etag) || known.includes('*')) return { status: 304, headers: { etag, vary: 'Accept' }, body: '' };
  const isJson = mediaType === 'application/json';
  const answer = isJson
    ? compressed(all.openApiV2(), mediaType, request)
    : compressed(all.openApiV2Protobuf(), V2_PROTOBUF, request);
  return inFormOf(answer, etag);
}

function openApi(request: ServerRequest, [version, ...path]: readonly string[], registry: Registry): ServerResponse {
  const all = documentsOf(registry);
  if (version === 'v2' && path.length === 0) return openApiV2(request, all);
  if (version !== 'v3') return pageNotFound();
  if (path.length === 0) return compressed(all.openApiV3Index(), 'text/plain; charset=utf-8', request);
  const [prefix, second = '', third = ''] = path;
  const text = prefix === 'apis' ? all.openApiV3(second, third) : all.openApiV3('', second);
  if (text === undefined) return { status: 404, headers: {}, body: '' };
  return compressed(text, 'application/json', request);
}
