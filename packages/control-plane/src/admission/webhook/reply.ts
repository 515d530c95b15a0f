import { jsonTypeOf } from '../../apimachinery/errors/errors.ts';
import { jsonProblem } from '../../apimachinery/errors/json-problem.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { type Status, StatusError } from '../../apimachinery/objects/status.ts';
import { parseJsonBody } from '../../registry/bodies/body.ts';
import { parseYamlText } from '../../registry/bodies/yaml-body.ts';
import type { WebhookReply } from './transport.ts';

/**
 * The error if the server cannot call a webhook, or if the webhook returns an invalid response. The failure policy of
 * the webhook decides whether the server refuses the request.
 */
export class WebhookFailure extends Error {
  override readonly name = 'WebhookFailure';
}

export interface Verdict {
  readonly allowed: boolean;
  readonly status: Partial<Status> | undefined;
  readonly patch: string | undefined;
  readonly patchType: string | undefined;
  readonly warnings: readonly string[];
}

export interface Expected {
  readonly version: 'v1' | 'v1beta1';
  readonly uid: string;
  readonly mutates: boolean;
}

const GROUP = 'admission.k8s.io';
const KIND = 'AdmissionReview';
const SHOWN = 2048;
const HEAD = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;

const uncalled = (why: string): WebhookFailure => new WebhookFailure(`failed to call webhook: ${why}`);
const invalid = (why: string): WebhookFailure => new WebhookFailure(`received invalid webhook response: ${why}`);

const CODES: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
};
const TOLD: ReadonlySet<number> = new Set([403, 406, 415]);

function httpFailure({ status, body, contentType = '' }: WebhookReply): WebhookFailure {
  const said = statusMessage(body);
  if (said !== undefined) return uncalled(said);
  const text = contentType.startsWith('text/') ? Buffer.from(body).subarray(0, SHOWN).toString().trim() : 'unknown';
  const known = CODES[status];
  if (known !== undefined) return uncalled(known);
  if (TOLD.has(status)) return uncalled(text);
  return uncalled(
    status >= 500
      ? `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`
      : `the server responded with the status code ${status} but did not return more information`,
  );
}

function statusMessage(body: string): string | undefined {
  try {
    const answer = parseJsonBody(body);
    if (!isRecord(answer) || answer.kind !== 'Status' || answer.apiVersion !== 'v1') return undefined;
    return answer.status === 'Failure' ? String(answer.message ?? '') : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** @throws WebhookFailure with the error text of the decoder in kube-apiserver */
function decode({ status, body, contentType = '' }: WebhookReply): Record<string, unknown> {
  if (body === '') throw uncalled(`0-length response with status code: ${status} and content type: ${contentType}`);
  const unread = (why: string) => uncalled(`couldn't get version/kind; json parse error: ${why}`);
  let answer: unknown;
  try {
    answer = /^\s*\{/.test(body) ? parseJsonBody(body) : parseYamlText(body);
  } catch (error) {
    if (error instanceof StatusError) throw unread(error.message);
    if (!(error instanceof SyntaxError)) throw error;
    throw unread(jsonProblem(body));
  }
  if (answer === null) return {};
  if (!isRecord(answer)) throw unread(`json: cannot unmarshal ${jsonTypeOf(answer)} into Go value of type ${HEAD}`);
  return answer;
}

/** A response without kind and version is valid. */
function checkKind(answer: Record<string, unknown>, expected: Expected): void {
  const kind = String(answer.kind ?? '') || KIND;
  const apiVersion = String(answer.apiVersion ?? '') || `${GROUP}/${expected.version}`;
  if (apiVersion.split('/').length > 2) throw uncalled(`unexpected GroupVersion string: ${apiVersion}`);
  const known = kind === KIND && (apiVersion === `${GROUP}/v1` || apiVersion === `${GROUP}/v1beta1`);
  if (!known) {
    throw uncalled(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`,
    );
  }
  if (apiVersion === `${GROUP}/${expected.version}`) return;
  const other = expected.version === 'v1' ? 'v1beta1' : 'v1';
  throw uncalled(`converting (${other}.${KIND}) to (${expected.version}.${KIND}): unknown conversion`);
}

type Fits = (value: unknown) => boolean;
const isText: Fits = (value) => typeof value === 'string';

/** A field of a webhook response, the check of its value, and the name of its Go type. */
const FIELDS: readonly (readonly [string, Fits, string])[] = [
  ['uid', isText, 'types.UID'],
  ['allowed', (value) => typeof value === 'boolean', 'bool'],
  ['status', isRecord, 'v1.Status'],
  ['patch', isText, '[]uint8'],
  ['patchType', isText, 'PatchType'],
  ['auditAnnotations', isRecord, 'map[string]string'],
  ['warnings', (value) => Array.isArray(value) && value.every(isText), '[]string'],
];

function checkFields(response: Record<string, unknown>, version: string): void {
  for (const [name, fits, type] of FIELDS) {
    const value = response[name];
    if (value === undefined || value === null || fits(value)) continue;
    const shown = type === 'PatchType' ? `${version}.PatchType` : type;
    throw uncalled(
      `json: cannot unmarshal ${jsonTypeOf(value)} into Go struct field AdmissionResponse.response.${name} of type ${shown}`,
    );
  }
  const patch = response.patch;
  const at = typeof patch === 'string' ? base64Problem(patch) : undefined;
  if (at !== undefined) throw uncalled(`illegal base64 data at input byte ${at}`);
}

function base64Problem(text: string): number | undefined {
  const stray = /[^A-Za-z0-9+/=\r\n]/.exec(text);
  if (stray !== null) return stray.index;
  const plain = text.replace(/[\r\n]/g, '');
  if (plain.length % 4 !== 0) return Math.floor(plain.length / 4) * 4;
  const padding = plain.indexOf('=');
  return padding === -1 || padding >= plain.length - 2 ? undefined : padding;
}

function checkPatch(patch: string, patchType: string | undefined, mutates: boolean): void {
  if (!mutates) {
    if (patch !== '') throw invalid('validating webhook may not return response.patch');
    if (patchType !== undefined) throw invalid('validating webhook may not return response.patchType');
    return;
  }
  if (patch !== '' && patchType === undefined) {
    throw invalid('webhook returned response.patch but not response.patchType');
  }
  if (patch === '' && patchType !== undefined) {
    throw invalid('webhook returned response.patchType but not response.patch');
  }
  if (patchType === '') throw invalid('webhook returned invalid response.patchType of ""');
}

/** @throws WebhookFailure for an invalid response */
export function readReply(reply: WebhookReply, expected: Expected): Verdict {
  if (reply.status < 200 || reply.status > 206) throw httpFailure(reply);
  const answer = decode(reply);
  checkKind(answer, expected);
  const { response } = answer;
  if (response === undefined || response === null) throw invalid('webhook response was absent');
  if (!isRecord(response)) {
    throw uncalled(
      `json: cannot unmarshal ${jsonTypeOf(response)} into Go struct field AdmissionReview.response of type ${expected.version}.AdmissionResponse`,
    );
  }
  checkFields(response, expected.version);
  const { uid, allowed, status, patch, patchType, warnings } = response as {
    readonly [K in 'uid' | 'patch' | 'patchType']?: string | null;
  } & { readonly allowed?: boolean; readonly status?: Partial<Status>; readonly warnings?: readonly string[] };
  const rest = { allowed: allowed === true, status: status ?? undefined, warnings: warnings ?? [] };
  const given = patch ?? '';
  // A response of version v1beta1 needs neither a uid nor a patch type. The server ignores the patch of a validating
  // webhook.
  if (expected.version === 'v1beta1') {
    const taken = expected.mutates && given !== '';
    return { ...rest, patch: taken ? given : undefined, patchType: taken ? 'JSONPatch' : undefined };
  }
  if ((uid ?? '') !== expected.uid) {
    throw invalid(`expected response.uid=${JSON.stringify(expected.uid)}, got ${JSON.stringify(uid ?? '')}`);
  }
  checkPatch(given, patchType ?? undefined, expected.mutates);
  return { ...rest, patch: given === '' ? undefined : given, patchType: patchType ?? undefined };
}
