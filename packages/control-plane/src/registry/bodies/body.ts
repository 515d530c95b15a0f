import { badRequest, jsonTypeOf } from '../../apimachinery/errors/errors.ts';
import { jsonProblem } from '../../apimachinery/errors/json-problem.ts';
import { parseJson } from '../../apimachinery/objects/json.ts';
import { isRecord, put } from '../../apimachinery/objects/json-value.ts';
import { deepestBracket } from '../../apimachinery/objects/nesting.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import { parseYamlText } from './yaml-body.ts';

/** Returns the body for an error message: printable JSON as quoted text, any other body as hexadecimal digits. */
function excerpt(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.subarray(0, 30)).toString('utf8');
  if (bytes.length === 0) return '<empty>';
  const shown = /^\s*\{/.test(text) ? text : Buffer.from(bytes).toString('hex').slice(0, 60);
  return bytes.length > 30 ? `${shown} ...` : shown;
}

export const unrecognized = (kind: string, why: string, bytes: Uint8Array): Error =>
  badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${excerpt(bytes)})`);

const MAYBE_LONE = /\\u[dD][89a-fA-F]/;

/** Replaces unpaired surrogates by U+FFFD, as Go's decoder does. UTF-8 cannot encode unpaired surrogates. */
const wellFormed = (text: string, value: unknown): unknown => (MAYBE_LONE.test(text) ? replaceLone(value) : value);

function replaceLone(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(replaceLone);
  if (!isRecord(value)) return value;
  const made: Record<string, unknown> = {};
  for (const key of Object.keys(value)) put(made, key.toWellFormed(), replaceLone(value[key]));
  return made;
}

/** @throws SyntaxError for invalid JSON; `jsonProblem` returns Go's text for the error */
export function parseJsonBody(text: string): unknown {
  if (deepestBracket(text) !== undefined) throw new SyntaxError('the text nests too deeply');
  return wellFormed(text, parseJson(text));
}

/** Parses a request body to plain JSON. As in Go, a YAML body has the version 1.1, in which `y` is true. */
export function parseBody(bytes: Uint8Array, mediaType: string, kind: string): Record<string, unknown> {
  const text = Buffer.from(bytes).toString('utf8');
  let value: unknown;
  if (mediaType === 'application/yaml') {
    try {
      // An empty body counts as an empty object.
      value = parseYamlText(text) ?? {};
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      throw unrecognized(kind, error.message.replace('error converting YAML to JSON: ', ''), bytes);
    }
  } else {
    try {
      // A body with the value `null` counts as an empty object.
      value = parseJsonBody(text) ?? {};
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw unrecognized(kind, `couldn't get version/kind; json parse error: ${jsonProblem(text)}`, bytes);
    }
  }
  if (isRecord(value)) return value;
  throw unrecognized(
    kind,
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    bytes,
  );
}
