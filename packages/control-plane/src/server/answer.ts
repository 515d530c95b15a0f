import { gzipSync } from 'node:zlib';
import type { ServerRequest, ServerResponse } from '../apimachinery/http/exchange.ts';
import { type Format, PROTOBUF } from '../apimachinery/http/negotiate.ts';
import { parseJson, stringifyJson } from '../apimachinery/objects/json.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import type { Status } from '../apimachinery/objects/status.ts';
import { encodeProtobuf, hasProtobuf } from '../protobuf/index.ts';
import { yamlText } from './yaml-text.ts';

/** The minimum size of a response that the server compresses. */
const GZIP_FROM = 128 * 1024;

/** Returns a response with a JSON text. A kind without a protobuf form always has a JSON response. */
export function answerText(text: string, format: Format, request: ServerRequest, status = 200): ServerResponse {
  let body = text;
  if (format.mediaType === PROTOBUF) {
    const object = parseJson(text) as ApiObject;
    if (hasProtobuf(object.apiVersion, object.kind)) {
      return compressed(encodeProtobuf(object), PROTOBUF, request, status);
    }
    return compressed(`${body}\n`, 'application/json', request, status);
  }
  if (format.mediaType === 'application/yaml') {
    body = yamlText(parseJson(text));
  } else if (format.pretty) body = `${stringifyJson(parseJson(text), 2)}${format.bare === true ? '' : '\n'}`;
  else body += '\n';
  return compressed(body, format.mediaType, request, status);
}

export function answerJson(value: unknown, format: Format, request: ServerRequest, status = 200): ServerResponse {
  return answerText(stringifyJson(value), format, request, status);
}

export function compressed(
  body: string | Uint8Array,
  contentType: string,
  request: ServerRequest,
  status = 200,
): ServerResponse {
  const headers: Record<string, string> = { 'content-type': contentType };
  if (body.length >= GZIP_FROM && /\bgzip\b/.test(request.header('accept-encoding') ?? '')) {
    headers['content-encoding'] = 'gzip';
    headers.vary = 'Accept-Encoding';
    return { status, headers, body: gzipSync(body, { level: 1 }) };
  }
  return { status, headers, body };
}

export const answerPlain = (text: string, status = 200): ServerResponse => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
  body: text,
});

export const pageNotFound = (): ServerResponse => answerPlain('404 page not found\n', 404);

export function answerStatus(status: Status, format: Format, request: ServerRequest): ServerResponse {
  const answer = answerJson(status, format, request, status.code ?? 500);
  const retryAfter = status.details?.retryAfterSeconds;
  if (retryAfter === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfter) } };
}
