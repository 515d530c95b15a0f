import { badRequest, jsonTypeOf } from '../apimachinery/errors/errors.ts';
import { jsonProblem } from '../apimachinery/errors/json-problem.ts';
import type { ServerRequest } from '../apimachinery/http/exchange.ts';
import { bodyType, PROTOBUF, typeAlone, unsupportedBody, unsupportedByRouter } from '../apimachinery/http/negotiate.ts';
import { parseJson } from '../apimachinery/objects/json.ts';
import { decodeProtobuf, envelopeProblem } from '../protobuf/index.ts';
import { parseBody, unrecognized } from '../registry/bodies/body.ts';
import { checkTypeMeta } from '../registry/bodies/type-meta.ts';
import { type PatchType, patchTypesOf } from '../registry/writes/patch.ts';
import type { KindRegistry, ServedKind } from '../resources/kind-registry.ts';
import { type DeleteOptions, parseDeleteOptions } from '../resources/options.ts';
import type { SentBody } from '../resources/sent-body.ts';

const FORMS = ['application/json', 'application/yaml', PROTOBUF];

/**
 * Returns the media type of the body, or '' if the request has none.
 * @throws StatusError 415 for an unsupported media type
 */
export function formOf(request: ServerRequest): string {
  const type = bodyType(request);
  if (type !== '' && !FORMS.includes(type)) throw unsupportedBody(FORMS);
  return type;
}

/**
 * Reads the body of a request.
 * @param kindName the expected kind, which errors contain
 * @throws StatusError 400, 413 or 415 for an invalid body
 */
export async function readPlain(
  request: ServerRequest,
  kinds: KindRegistry,
  { kind }: ServedKind,
  kindName = kind.kind,
): Promise<SentBody> {
  const type = formOf(request);
  const bytes = await request.body();
  if (type !== PROTOBUF) {
    const plain = parseBody(bytes, type === '' ? 'application/json' : type, kindName);
    return { plain, bytes, isYaml: type === 'application/yaml' };
  }
  const problem = envelopeProblem(bytes);
  if (problem !== undefined) throw unrecognized(kindName, problem, bytes);
  try {
    const plain = decodeProtobuf(bytes, (apiVersion, name) => kinds.byKind(apiVersion, name)?.kind);
    return { plain, bytes, isYaml: false };
  } catch (error) {
    throw badRequest(
      `the body cannot be decoded as a protobuf ${kind.kind}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** @throws StatusError 400, 413 or 415 for an invalid body */
export async function deleteOptionsOf(request: ServerRequest): Promise<DeleteOptions> {
  const bytes = await request.body();
  if (bytes.length === 0) return parseDeleteOptions(request.query, undefined);
  const plain = plainOptions(bytes, formOf(request));
  checkTypeMeta(plain);
  const { apiVersion } = plain;
  const kind = plain.kind || 'DeleteOptions';
  if (kind !== 'DeleteOptions') {
    throw badRequest(
      `no kind "${kind}" is registered for version "${apiVersion || 'meta.k8s.io/v1'}" in scheme "pkg/runtime/scheme.go:111"`,
    );
  }
  return parseDeleteOptions(request.query, plain);
}

function plainOptions(bytes: Uint8Array, type: string): Record<string, unknown> {
  if (type === 'application/yaml') return parseBody(bytes, type, 'DeleteOptions');
  if (type !== PROTOBUF) return jsonOptions(Buffer.from(bytes).toString('utf8'));
  const problem = envelopeProblem(bytes);
  if (problem !== undefined) throw badRequest(problem);
  return decodeProtobuf(bytes, () => undefined);
}

function jsonOptions(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw badRequest(`couldn't get version/kind; json parse error: ${jsonProblem(text)}`);
  }
  if (value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  throw badRequest(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
  );
}

/** @throws StatusError 415 with the error text of the router or of the handler, for an unsupported patch type */
export function patchTypeFor(request: ServerRequest, served: ServedKind): PatchType {
  const types = patchTypesOf(served);
  const known = types.find((one) => one === typeAlone(request.header('content-type') ?? ''));
  if (known !== undefined) return known;
  // The router parses the header as a list of media types.
  const routed = request.headerValues('content-type').some((each) => types.some((one) => one === typeAlone(each)));
  throw served.kind.custom || routed ? unsupportedBody(types) : unsupportedByRouter();
}
